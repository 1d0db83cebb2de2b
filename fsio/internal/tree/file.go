package tree

import (
	"errors"
	"io"
	"io/fs"

	"github.com/stratalog/strata/fsio"
)

// file is an open File. Its node's lock guards closed, so that no call finds the bytes gone: they are
// closed after the last user was.
type file struct {
	tree     *Tree
	node     *node
	name     string
	writable bool
	closed   bool
}

var _ fsio.File = (*file)(nil)

// Name is fsio.File's.
func (f *file) Name() string { return f.name }

// Close is fsio.File's.
func (f *file) Close() error {
	f.node.mu.Lock()
	closed := f.closed
	f.closed = true
	f.node.mu.Unlock()
	if closed {
		return nil
	}
	return pathError("close", f.name, f.tree.release(f.node))
}

// joinClose closes c and joins what that says to err.
func joinClose(err error, c io.Closer) error {
	if closing := c.Close(); closing != nil {
		return errors.Join(err, closing)
	}
	return err
}

// readable is nil where a call with the position or size n may go on. The caller holds the node's lock,
// here and below.
func (f *file) readable(n int64) error {
	switch {
	case f.closed:
		return fs.ErrClosed
	case n < 0:
		return fs.ErrInvalid
	}
	return nil
}

// changeable is readable for a call that changes the file.
func (f *file) changeable(n int64) error {
	if err := f.readable(n); err != nil {
		return err
	}
	if !f.writable {
		return fs.ErrPermission
	}
	return nil
}

// ReadAt is fsio.File's.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.read(p, off)
	if err != nil {
		return n, pathError("read", f.name, err)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) read(p []byte, off int64) (int, error) {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if err := f.readable(off); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	return f.node.read(p, off)
}

// WriteAt is fsio.File's.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.write(p, off)
	return n, pathError("write", f.name, err)
}

func (f *file) write(p []byte, off int64) (int, error) {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if err := f.changeable(off); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	return f.node.write(p, off, &f.tree.o)
}

// Size is fsio.File's.
func (f *file) Size() (int64, error) {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if err := f.readable(0); err != nil {
		return 0, pathError("size", f.name, err)
	}
	return f.node.size, nil
}

// Truncate is fsio.File's.
func (f *file) Truncate(size int64) error {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	err := f.changeable(size)
	if err == nil {
		err = f.node.pinned(0, &f.tree.o)
	}
	if err == nil {
		err = f.node.truncate(size, &f.tree.o)
	}
	return pathError("truncate", f.name, err)
}

// Allocate is fsio.File's.
func (f *file) Allocate(size int64) error {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	err := f.changeable(size)
	if err == nil {
		err = f.node.allocate(size, &f.tree.o)
	}
	return pathError("allocate", f.name, err)
}

// Sync is fsio.File's.
func (f *file) Sync() error {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	err := f.readable(0)
	if err == nil {
		err = f.node.content.Sync()
	}
	return pathError("sync", f.name, err)
}
