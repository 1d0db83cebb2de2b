package crashfs

import (
	"errors"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/internal/tree"
)

// watch runs the interceptors around each call, and does to the disk what they ask for by a *SyncError. Of
// each File there is one more, which knows the file.
type watch struct {
	fsio.FS
	disk        *disk
	interceptor fsio.Interceptor
}

// around is w with the interceptor of one call, or of one File.
func (w *watch) around(h *handle) fsio.FS {
	h.watch = w
	return fsio.Intercept(h, h.intercept)
}

// OpenFile is fsio.FS's.
func (w *watch) OpenFile(name string, flag int, perm fs.FileMode) (fsio.File, error) {
	return w.around(&handle{}).OpenFile(name, flag, perm)
}

// Rename is fsio.FS's.
func (w *watch) Rename(oldname, newname string) error {
	return w.around(&handle{}).Rename(oldname, newname)
}

// Remove is fsio.FS's.
func (w *watch) Remove(name string) error { return w.around(&handle{}).Remove(name) }

// MkdirAll is fsio.FS's.
func (w *watch) MkdirAll(dir string, perm fs.FileMode) error {
	return w.around(&handle{}).MkdirAll(dir, perm)
}

// ReadDir is fsio.FS's.
func (w *watch) ReadDir(dir string) ([]fs.DirEntry, error) { return w.around(&handle{}).ReadDir(dir) }

// Stat is fsio.FS's.
func (w *watch) Stat(name string) (fs.FileInfo, error) { return w.around(&handle{}).Stat(name) }

// Chtimes is fsio.FS's.
func (w *watch) Chtimes(name string, mtime time.Time) error {
	return w.around(&handle{}).Chtimes(name, mtime)
}

// SyncDir is fsio.FS's.
func (w *watch) SyncDir(dir string) error { return w.around(&handle{}).SyncDir(dir) }

// Lock is fsio.FS's.
func (w *watch) Lock(name string) (io.Closer, error) { return w.around(&handle{}).Lock(name) }

// handle is the FS below the interceptors of one File, which it knows once it is open, or of one call.
type handle struct {
	*watch
	file  fsio.File
	inode uint64

	mu   sync.Mutex
	seen uint64 // of the file's failed syncs, those that this File has reported
}

// OpenFile is fsio.FS's.
func (h *handle) OpenFile(name string, flag int, perm fs.FileMode) (fsio.File, error) {
	f, err := h.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	h.file, h.inode = f, tree.InodeOf(f)
	h.seen = h.disk.opened(h.inode)
	return &watchedFile{File: f, h: h}, nil
}

// Rename and the others are the tree's, not those of the watch above.
func (h *handle) Rename(oldname, newname string) error        { return h.FS.Rename(oldname, newname) }
func (h *handle) Remove(name string) error                    { return h.FS.Remove(name) }
func (h *handle) MkdirAll(dir string, perm fs.FileMode) error { return h.FS.MkdirAll(dir, perm) }
func (h *handle) ReadDir(dir string) ([]fs.DirEntry, error)   { return h.FS.ReadDir(dir) }
func (h *handle) Stat(name string) (fs.FileInfo, error)       { return h.FS.Stat(name) }
func (h *handle) Chtimes(name string, mtime time.Time) error  { return h.FS.Chtimes(name, mtime) }
func (h *handle) Lock(name string) (io.Closer, error)         { return h.FS.Lock(name) }

// SyncDir is fsio.FS's, after what an earlier one left to say.
func (h *handle) SyncDir(dir string) error {
	if inode, err := h.disk.tree.Inode(dir); err == nil {
		if err := h.disk.overdue(inode); err != nil {
			return &fs.PathError{Op: "syncdir", Path: dir, Err: err}
		}
	}
	return h.FS.SyncDir(dir)
}

// intercept runs the user's interceptor.
func (h *handle) intercept(op *fsio.Op, do func() error) error {
	var made bool
	var inner error
	err := h.interceptor(op, func() error {
		made = true
		inner = do()
		return inner
	})
	if err == nil && !made && fsio.Mutates.Has(op.Kind) {
		h.disk.lie()
	}
	if e, ok := errors.AsType[*SyncError](err); ok && fsio.Syncs.Has(op.Kind) && !h.disk.o.bare {
		if told, _ := errors.AsType[*SyncError](inner); told != e { // an earlier failure is told only
			return h.fail(op, e, err)
		}
	}
	return err
}

// watchedFile is a File that reports what an earlier sync of its file left to say.
type watchedFile struct {
	fsio.File
	h *handle
}

// Sync is fsio.File's.
func (f *watchedFile) Sync() error {
	if _, err := f.Size(); err == nil { // it is open
		if err := f.h.due(); err != nil {
			return &fs.PathError{Op: "sync", Path: f.Name(), Err: err}
		}
	}
	return f.File.Sync()
}

// Close is fsio.File's.
func (f *watchedFile) Close() error {
	if _, err := f.Size(); err == nil {
		f.h.disk.closed(f.h.inode)
	}
	return f.File.Close()
}

// Map is fsio.File's.
func (f *watchedFile) Map(size int64, prot fsio.Prot) (fsio.Map, error) {
	m, err := f.File.Map(size, prot)
	if err != nil {
		return nil, err
	}
	return &watchedMap{Map: m, f: f}, nil
}

// watchedMap is a Map of a watchedFile.
type watchedMap struct {
	fsio.Map
	f *watchedFile
}

// Flush is fsio.Map's.
func (m *watchedMap) Flush(off, n int64) error {
	if off >= 0 && n >= 0 && off+n <= m.Len() {
		if err := m.f.h.disk.overdue(m.f.h.inode); err != nil {
			return &fs.PathError{Op: "flush", Path: m.f.Name(), Err: err}
		}
	}
	return m.Map.Flush(off, n)
}
