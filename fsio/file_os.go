package fsio

import (
	"io"
	"io/fs"
	"os"
	"sync"
)

// osFile is the File of OSFS.
type osFile struct {
	handle   *handle
	name     string
	writable bool

	mu     sync.RWMutex // held by calls; by Close alone
	closed bool
}

func newFile(f *os.File, name string, writable bool) *osFile {
	return &osFile{handle: newHandle(f), name: name, writable: writable}
}

// begin starts a call that needs position or size n: until end no Close takes the handle away. Where it
// refuses there is no end.
func (f *osFile) begin(n int64) error {
	f.mu.RLock()
	switch {
	case f.closed:
		f.mu.RUnlock()
		return fs.ErrClosed
	case n < 0:
		f.mu.RUnlock()
		return fs.ErrInvalid
	}
	return nil
}

// beginChange is begin for a call that changes the file.
func (f *osFile) beginChange(n int64) error {
	if err := f.begin(n); err != nil {
		return err
	}
	if !f.writable {
		f.mu.RUnlock()
		return fs.ErrPermission
	}
	return nil
}

func (f *osFile) end() { f.mu.RUnlock() }

// Close is File's.
func (f *osFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	return f.fail("close", f.handle.release())
}

// Name is File's.
func (f *osFile) Name() string { return f.name }

// Size is File's.
func (f *osFile) Size() (int64, error) {
	if err := f.begin(0); err != nil {
		return 0, f.fail("size", err)
	}
	defer f.end()
	size, err := f.handle.size()
	return size, f.fail("size", err)
}

// Truncate is File's.
func (f *osFile) Truncate(size int64) error {
	if err := f.beginChange(size); err != nil {
		return f.fail("truncate", err)
	}
	defer f.end()
	return f.fail("truncate", f.handle.Truncate(size))
}

// Allocate is File's.
func (f *osFile) Allocate(size int64) error {
	if err := f.beginChange(size); err != nil {
		return f.fail("allocate", err)
	}
	defer f.end()
	return f.fail("allocate", f.handle.allocate(size))
}

// Sync is File's.
func (f *osFile) Sync() error {
	if err := f.begin(0); err != nil {
		return f.fail("sync", err)
	}
	defer f.end()
	return f.fail("sync", f.handle.syncData())
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

// failRead is fail for ReadAt, whose io.EOF is bare.
func (f *osFile) failRead(err error) error {
	if err == io.EOF { //nolint:errorlint // the bare one, too
		return err
	}
	return f.fail("read", err)
}

var _ File = (*osFile)(nil)
