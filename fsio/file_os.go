package fsio

import (
	"cmp"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// handle is an open file of the system. A File and its Maps share one: the Maps need it after the File was
// closed, to size themselves, to tell a fault's cause and, on Windows, to flush.
type handle struct {
	*os.File

	mu    sync.Mutex
	users int // the File and its Maps; the system's file is closed with the last
}

// retain adds a user.
func (h *handle) retain() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users == 0 {
		return fs.ErrClosed
	}
	h.users++
	return nil
}

// release takes a user away.
func (h *handle) release() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users--
	if h.users > 0 {
		return nil
	}
	return h.Close()
}

// control runs do with the descriptor, which no Close takes away meanwhile.
func (h *handle) control(do func(fd uintptr) error) error {
	conn, err := h.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	if err := conn.Control(func(fd uintptr) { done = do(fd) }); err != nil {
		return err
	}
	return done
}

// size is the file's size now.
func (h *handle) size() (int64, error) {
	info, err := h.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// osFile is the File of OSFS.
type osFile struct {
	handle   *handle
	name     string
	writable bool
	closed   atomic.Bool
}

func newFile(f *os.File, name string, writable bool) *osFile {
	return &osFile{handle: &handle{File: f, users: 1}, name: name, writable: writable}
}

// readable says why a call that needs position or size n is refused, or nil.
func (f *osFile) readable(n int64) error {
	switch {
	case f.closed.Load():
		return fs.ErrClosed
	case n < 0:
		return fs.ErrInvalid
	}
	return nil
}

// changeable is readable for a call that changes the file.
func (f *osFile) changeable(n int64) error {
	if err := f.readable(n); err != nil {
		return err
	}
	if !f.writable {
		return fs.ErrPermission
	}
	return nil
}

// ReadAt is File's.
func (f *osFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.readable(off); err != nil {
		return 0, f.fail("read", err)
	}
	if room := math.MaxInt64 - off; int64(len(p)) > room {
		n, err := f.ReadAt(p[:room], off)
		return n, cmp.Or(err, io.EOF) // no file has a byte at MaxInt64
	}
	n, err := f.handle.ReadAt(p, off)
	if err == nil || err == io.EOF { //nolint:errorlint // ReaderAt's io.EOF is bare
		return n, err
	}
	return n, f.fail("read", err)
}

// WriteAt is File's.
func (f *osFile) WriteAt(p []byte, off int64) (int, error) {
	err := f.changeable(off)
	if err == nil && off > math.MaxInt64-int64(len(p)) {
		err = syscall.EFBIG
	}
	if err != nil {
		return 0, f.fail("write", err)
	}
	n, err := f.handle.WriteAt(p, off)
	return n, f.fail("write", err)
}

// Close is File's.
func (f *osFile) Close() error {
	if f.closed.Swap(true) {
		return nil
	}
	return f.fail("close", f.handle.release())
}

// Name is File's.
func (f *osFile) Name() string { return f.name }

// Size is File's.
func (f *osFile) Size() (int64, error) {
	if err := f.readable(0); err != nil {
		return 0, f.fail("size", err)
	}
	size, err := f.handle.size()
	return size, f.fail("size", err)
}

// Truncate is File's.
func (f *osFile) Truncate(size int64) error {
	err := f.changeable(size)
	if err == nil {
		err = f.handle.Truncate(size)
	}
	return f.fail("truncate", err)
}

// Allocate is File's.
func (f *osFile) Allocate(size int64) error {
	err := f.changeable(size)
	if err == nil {
		err = f.handle.allocate(size)
	}
	return f.fail("allocate", err)
}

// Sync is File's.
func (f *osFile) Sync() error {
	err := f.readable(0)
	if err == nil {
		err = f.handle.syncData()
	}
	return f.fail("sync", err)
}

// Map is File's.
func (f *osFile) Map(size int64, prot Prot) (Map, error) {
	m, err := f.mapped(size, prot)
	if err != nil {
		return nil, f.fail("map", err)
	}
	return m, nil
}

// fail is err as File returns it.
func (f *osFile) fail(op string, err error) error { return pathError(op, f.name, err) }

var _ File = (*osFile)(nil)
