package fsio

import (
	"io"
	"io/fs"
	"os"
	"time"
)

// interceptFS is the FS of Intercept.
type interceptFS struct {
	inner FS
	i     Interceptor
}

// OpenFile is FS's.
func (w *interceptFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	op := Op{Kind: OpOpen, Path: name}
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		op.Kind = OpCreate
	}
	f, err := obtain(w.i, &op, func() (File, error) { return w.inner.OpenFile(op.Path, flag, perm) })
	if err != nil {
		return nil, err
	}
	return &interceptFile{inner: f, i: w.i}, nil
}

// Rename is FS's.
func (w *interceptFS) Rename(oldname, newname string) error {
	op := Op{Kind: OpRename, Path: oldname, To: newname}
	return guard(w.i, &op, func() error { return w.inner.Rename(op.Path, op.To) })
}

// Remove is FS's.
func (w *interceptFS) Remove(name string) error {
	op := Op{Kind: OpRemove, Path: name}
	return guard(w.i, &op, func() error { return w.inner.Remove(op.Path) })
}

// MkdirAll is FS's.
func (w *interceptFS) MkdirAll(dir string, perm fs.FileMode) error {
	op := Op{Kind: OpMkdirAll, Path: dir}
	return guard(w.i, &op, func() error { return w.inner.MkdirAll(op.Path, perm) })
}

// ReadDir is FS's. The Info of its entries is a Stat through w.
func (w *interceptFS) ReadDir(dir string) ([]fs.DirEntry, error) {
	op := Op{Kind: OpReadDir, Path: dir}
	var list []fs.DirEntry
	err := guard(w.i, &op, func() (err error) {
		list, err = w.inner.ReadDir(op.Path)
		list = entriesOf(w, op.Path, list)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Stat is FS's.
func (w *interceptFS) Stat(name string) (fs.FileInfo, error) {
	op := Op{Kind: OpStat, Path: name}
	var info fs.FileInfo
	err := guard(w.i, &op, func() (err error) {
		info, err = w.inner.Stat(op.Path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return info, nil
}

// Chtimes is FS's.
func (w *interceptFS) Chtimes(name string, mtime time.Time) error {
	op := Op{Kind: OpChtimes, Path: name}
	return guard(w.i, &op, func() error { return w.inner.Chtimes(op.Path, mtime) })
}

// SyncDir is FS's.
func (w *interceptFS) SyncDir(dir string) error {
	op := Op{Kind: OpSyncDir, Path: dir}
	return guard(w.i, &op, func() error { return w.inner.SyncDir(op.Path) })
}

// Lock is FS's.
func (w *interceptFS) Lock(name string) (io.Closer, error) {
	op := Op{Kind: OpLock, Path: name}
	l, err := obtain(w.i, &op, func() (io.Closer, error) { return w.inner.Lock(op.Path) })
	if err != nil {
		return nil, err
	}
	return &interceptLock{inner: l, i: w.i, name: name}, nil
}

// interceptLock is a lock of an interceptFS.
type interceptLock struct {
	inner io.Closer
	i     Interceptor
	name  string
}

// Close frees the lock.
func (l *interceptLock) Close() error {
	return guard(l.i, &Op{Kind: OpUnlock, Path: l.name}, l.inner.Close)
}

// obtain is guard for a call that opens or takes something. Where i turns its success into an error it is
// closed again, since nobody else could.
func obtain[C io.Closer](i Interceptor, op *Op, open func() (C, error)) (got C, err error) {
	opened := false
	err = guard(i, op, func() (err error) {
		got, err = open()
		opened = err == nil
		return err
	})
	if err != nil && opened {
		err = join(err, got.Close())
	}
	return got, err
}

var _ FS = (*interceptFS)(nil)
