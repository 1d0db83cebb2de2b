package aferofs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/afero"

	"github.com/stratalog/strata/fsio/internal/tree"
)

// baseVolume makes each change of the tree in an afero filesystem, under the same names.
type baseVolume struct{ base afero.Fs }

var _ tree.Volume = (*baseVolume)(nil)

// Load is tree.Volume's.
func (v *baseVolume) Load(at tree.Place) ([]tree.Found, error) { return load(v.base, local(at.Path)) }

// load lists a directory of base.
func load(base afero.Fs, name string) ([]tree.Found, error) {
	dir, err := base.Open(name)
	if err != nil {
		return nil, err
	}
	infos, err := dir.Readdir(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	found := make([]tree.Found, 0, len(infos))
	for _, info := range infos {
		f := tree.Found{Element: info.Name(), Mode: info.Mode(), ModTime: info.ModTime()}
		if info.IsDir() {
			f.Mode |= fs.ModeDir // which a directory that MemMapFs made by itself lacks
		} else {
			f.Mode &^= fs.ModeTemporary // which a file of MemMapFs has, and which makes no type
			f.Size = info.Size()
		}
		found = append(found, f)
	}
	return found, nil
}

// local is name as the base spells it.
func local(name string) string { return filepath.FromSlash(name) }

// Create is tree.Volume's.
func (v *baseVolume) Create(at tree.Place, perm fs.FileMode) error {
	file, err := v.base.OpenFile(local(at.Path), os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	return file.Close()
}

// Mkdir is tree.Volume's.
func (v *baseVolume) Mkdir(at tree.Place, perm fs.FileMode) error {
	return v.base.Mkdir(local(at.Path), perm)
}

// Rename is tree.Volume's. Package os, and so a base that stands on it, renames no directory onto another:
// the empty one goes first, and an observer of base may see none.
func (v *baseVolume) Rename(from, to tree.Place) error {
	oldname, newname := local(from.Path), local(to.Path)
	info, err := v.base.Stat(newname)
	if to.Inode == 0 || err == nil && !info.IsDir() {
		return v.base.Rename(oldname, newname)
	}
	if err == nil {
		err = v.base.Remove(newname)
	}
	if err != nil {
		return err
	}
	if err := v.base.Rename(oldname, newname); err != nil {
		return errors.Join(err, v.base.Mkdir(newname, info.Mode().Perm()))
	}
	return nil
}

// Remove is tree.Volume's.
func (v *baseVolume) Remove(at tree.Place) error { return v.base.Remove(local(at.Path)) }

// Chtimes is tree.Volume's.
func (v *baseVolume) Chtimes(at tree.Place, mtime time.Time) error {
	return v.base.Chtimes(local(at.Path), mtime, mtime)
}

// SyncDir is tree.Volume's.
func (v *baseVolume) SyncDir(at tree.Place) error {
	dir, err := v.base.Open(local(at.Path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Open is tree.Volume's. A base that may only be read is read.
func (v *baseVolume) Open(at tree.Place, write bool) (tree.Content, bool, error) {
	file, err := v.base.OpenFile(local(at.Path), os.O_RDWR, 0)
	writable := err == nil
	if errors.Is(err, fs.ErrPermission) && !write {
		file, err = v.base.OpenFile(local(at.Path), os.O_RDONLY, 0)
	}
	if err != nil {
		return nil, false, err
	}
	return &baseFile{file: file}, writable, nil
}

// Forget is tree.Volume's.
func (v *baseVolume) Forget(uint64, string) {}
