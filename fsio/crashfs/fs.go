package crashfs

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/internal/names"
	"github.com/stratalog/strata/fsio/internal/tree"
)

// FS is an in-memory filesystem with a journal. It keeps all rules of fsio.FS.
//
// All methods may be called concurrently. Those that fsio.FS does not have are not seen by interceptors.
type FS struct {
	tree  *tree.Tree
	disk  *disk
	calls fsio.FS // what the methods of fsio.FS go to: tree, or what is around it
}

// newFS makes an FS of what is in an image.
func newFS(o *options, base *image) *FS {
	d := newDisk(o, base)
	t := tree.New(d, tree.Options{
		Now: d.now, PageBytes: o.pageBytes, MaxSizeBytes: maxBytes, Inodes: base.top, Windows: o.windows,
	})
	d.tree = t
	return &FS{tree: t, disk: d, calls: t}
}

// maxBytes is the largest file: that of ext4 with blocks of 4 KiB.
const maxBytes = 16<<40 - 4096

// Ack writes into the journal that v was acknowledged to the user now: after a crash at any later step
// History has it. Call it when the call that gives the promise has returned.
func (f *FS) Ack(v any) { f.disk.mark(event{what: acked, value: v}) }

// Note writes v into the journal: an intent, for example, "append 7 begins".
func (f *FS) Note(v any) { f.disk.mark(event{what: noted, value: v}) }

// Step is the number of events in the journal. A crash at step k happens after the first k of them.
func (f *FS) Step() uint64 { return uint64(len(f.disk.journal())) }

// Evict drops the cached bytes of the files whose names match glob (as in faultfs.Rule.Path): what
// FsyncClean threw away is read as the disk has it from now on, in open Files and Maps, too. A malformed glob
// panics.
func (f *FS) Evict(glob string) {
	if err := names.CheckGlob(glob); err != nil {
		panic("crashfs: glob " + glob + ": " + err.Error())
	}
	if f.disk.o.bare {
		return
	}
	f.walk(func(name string, file fsio.File) {
		if names.Match(glob, name) {
			f.disk.reread(file)
		}
	}, func(string) {})
}

// Corrupt inverts the bits of xor in the byte at off of name, durably, as rot at rest does: in every image
// from now on, and for every reader. A position past the end is fs.ErrInvalid.
func (f *FS) Corrupt(name string, off int64, xor byte) (err error) {
	file, err := f.tree.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	err = &fs.PathError{Op: "corrupt", Path: name, Err: fs.ErrInvalid}
	inode := tree.InodeOf(file)
	c := f.disk.content(inode)
	tree.Reread(file, func() (size, from int64) {
		if off < 0 || off >= c.size {
			return c.size, c.size
		}
		if err = f.disk.log(event{what: rotted, inode: inode, off: off, data: []byte{xor}}); err != nil {
			return c.size, c.size
		}
		b := make([]byte, 1)
		c.table.read(b, off)
		c.table.write([]byte{b[0] ^ xor}, off)
		return c.size, off
	})
	return err
}

// Digest identifies the names and contents of the whole tree. Equal trees have equal digests; modification
// times do not count.
func (f *FS) Digest() (digest [16]byte) {
	h := sha256.New()
	f.walk(func(name string, file fsio.File) {
		size, err := file.Size()
		line(h, 'f', name, size)
		if err == nil {
			f.disk.content(tree.InodeOf(file)).digest(h, file)
		}
	}, func(name string) { line(h, 'd', name, 0) })
	copy(digest[:], h.Sum(nil))
	return digest
}

// line puts a name into a digest, so that no two lists of names are alike.
func line(h hash.Hash, kind byte, name string, n int64) {
	b := append([]byte{kind}, binary.BigEndian.AppendUint64(nil, uint64(n))...)
	_, _ = h.Write(append(append(b, name...), 0)) // a hash takes all
}

// digest puts the blocks of c that are not all zeros into h.
func (c *content) digest(h hash.Hash, file fsio.File) {
	tree.Reread(file, func() (size, from int64) {
		c.table.each(0, c.size, func(n int64, b *block) {
			if *b != zeros {
				line(h, 'b', "", n)
				_, _ = h.Write(b[:])
			}
		})
		return c.size, c.size
	})
}

// walk shows all files, open, and all directories, below the root, in the order of their names.
func (f *FS) walk(file func(name string, file fsio.File), dir func(name string)) {
	var below func(name string)
	below = func(name string) {
		entries, _ := f.tree.ReadDir(name) // it was there a moment ago, or is gone
		for _, e := range entries {
			child := path.Join(name, e.Name())
			if e.IsDir() {
				dir(child)
				below(child)
			} else if open, err := f.tree.OpenFile(child, os.O_RDONLY, 0); err == nil {
				file(child, open)
				_ = open.Close() // of memory
			}
		}
	}
	below(".")
}

// snapshot is the image of what is now, for an FS without a journal.
func (f *FS) snapshot() *image {
	made := &image{top: 1, now: f.disk.now()}
	made.root = f.snapshotDir(".", made)
	return made
}

func (f *FS) snapshotDir(name string, made *image) *imageDir {
	info, err := f.tree.Stat(name)
	inode, _ := f.tree.Inode(name)
	d := &imageDir{inode: inode, mode: fs.ModeDir | 0o755}
	if err == nil {
		d.mode, d.mtime = info.Mode(), info.ModTime()
	}
	entries, _ := f.tree.ReadDir(name)
	for _, e := range entries {
		child := path.Join(name, e.Name())
		own := imageEntry{name: e.Name(), hash: hashName(e.Name())}
		if e.IsDir() {
			own.dir = f.snapshotDir(child, made)
		} else if own.file = f.snapshotFile(child); own.file == nil {
			continue
		} else {
			made.top = max(made.top, own.file.inode)
			made.used += own.file.owned.total() * f.disk.o.sectorBytes
		}
		d.entries = append(d.entries, own)
	}
	made.top = max(made.top, inode)
	return d
}

// snapshotFile is the file name, or nil where it went meanwhile.
func (f *FS) snapshotFile(name string) *imageFile {
	info, err := f.tree.Stat(name)
	if err != nil {
		return nil
	}
	file, err := f.tree.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	sums := newSums(f.disk.o.sectorBytes)
	made := &imageFile{inode: tree.InodeOf(file), mode: info.Mode(), mtime: info.ModTime()}
	c := f.disk.content(made.inode)
	tree.Reread(file, func() (size, from int64) {
		made.size, made.table, made.owned = c.size, c.table.share(), c.owned
		made.sum = sums.table(&made.table, made.size)
		return c.size, c.size
	})
	_ = file.Close() // of memory
	return made
}

// OpenFile is fsio.FS's.
func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (fsio.File, error) {
	return f.calls.OpenFile(name, flag, perm)
}

// Rename is fsio.FS's.
func (f *FS) Rename(oldname, newname string) error { return f.calls.Rename(oldname, newname) }

// Remove is fsio.FS's.
func (f *FS) Remove(name string) error { return f.calls.Remove(name) }

// MkdirAll is fsio.FS's.
func (f *FS) MkdirAll(dir string, perm fs.FileMode) error { return f.calls.MkdirAll(dir, perm) }

// ReadDir is fsio.FS's.
func (f *FS) ReadDir(dir string) ([]fs.DirEntry, error) { return f.calls.ReadDir(dir) }

// Stat is fsio.FS's.
func (f *FS) Stat(name string) (fs.FileInfo, error) { return f.calls.Stat(name) }

// Chtimes is fsio.FS's.
func (f *FS) Chtimes(name string, mtime time.Time) error { return f.calls.Chtimes(name, mtime) }

// SyncDir is fsio.FS's.
func (f *FS) SyncDir(dir string) error { return f.calls.SyncDir(dir) }

// Lock is fsio.FS's. Only this FS is locked: an image of it has no locks.
func (f *FS) Lock(name string) (io.Closer, error) { return f.calls.Lock(name) }

var _ fsio.FS = (*FS)(nil)
