package aferofs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/spf13/afero"

	"github.com/stratalog/strata/fsio/internal/tree"
)

// inodeDir is where a memVolume's own files lie in its MemMapFs.
const inodeDir = ".inodes"

// memVolume keeps bytes in a MemMapFs: one afero file an inode, opened once. Names, renames and removes are
// the tree's alone.
type memVolume struct {
	base *afero.MemMapFs

	mu    sync.Mutex
	files map[uint64]*blockFile
}

func newMemVolume(base *afero.MemMapFs) *memVolume {
	return &memVolume{base: base, files: map[uint64]*blockFile{}}
}

// Load is tree.Volume's.
func (v *memVolume) Load(at tree.Place) ([]tree.Found, error) {
	found, err := load(v.base, at.Origin)
	if at.Origin == "." {
		found = slices.DeleteFunc(found, func(f tree.Found) bool { return f.Element == inodeDir })
	}
	return found, err
}

// Create is tree.Volume's.
func (v *memVolume) Create(at tree.Place, _ fs.FileMode) error {
	name := path.Join(inodeDir, fmt.Sprintf("%016x", at.Inode))
	file, err := v.base.Create(name) // of a name that is there it makes a new file
	if err != nil {
		return err
	}
	v.keep(at.Inode, newBlockFile(v.base, name, file))
	return nil
}

// keep notes the file of an inode.
func (v *memVolume) keep(inode uint64, f *blockFile) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.files[inode] = f
}

// Open is tree.Volume's. A file that is not known was there before.
func (v *memVolume) Open(at tree.Place, _ bool) (tree.Content, bool, error) {
	v.mu.Lock()
	known := v.files[at.Inode]
	v.mu.Unlock()
	if known != nil {
		return known, true, nil
	}
	file, err := v.base.OpenFile(at.Origin, os.O_RDWR, 0)
	if err != nil {
		return nil, false, err
	}
	f, err := adoptBlockFile(v.base, at.Origin, file)
	if err != nil {
		return nil, false, err
	}
	v.keep(at.Inode, f)
	return f, true, nil
}

// Forget is tree.Volume's. What was there before goes from the base, too.
func (v *memVolume) Forget(inode uint64, origin string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	name := origin
	if f := v.files[inode]; f != nil {
		delete(v.files, inode)
		_ = f.file.Close() // of memory
		name = f.name
	}
	if name != "" {
		_ = v.base.Remove(name) // of memory: it is there
	}
}

// Mkdir is tree.Volume's.
func (v *memVolume) Mkdir(tree.Place, fs.FileMode) error { return nil }

// Rename is tree.Volume's.
func (v *memVolume) Rename(tree.Place, tree.Place) error { return nil }

// Remove is tree.Volume's.
func (v *memVolume) Remove(tree.Place) error { return nil }

// Chtimes is tree.Volume's.
func (v *memVolume) Chtimes(tree.Place, time.Time) error { return nil }

// SyncDir is tree.Volume's.
func (v *memVolume) SyncDir(tree.Place) error { return nil }

var _ tree.Volume = (*memVolume)(nil)
