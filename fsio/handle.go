package fsio

import (
	"cmp"
	"io"
	"math"
	"os"
	"sync"
	"syscall"
)

// handle is an open file of the system, with what its users need to do there; who may call is theirs to
// say. A File and its Maps share one: the Maps need it after the File was closed, to size themselves, to
// tell a fault's cause and, on Windows, to flush.
type handle struct {
	*os.File

	fd uintptr // File's, as long as there are users

	mu    sync.Mutex
	users int // the File, its Maps, running copies
}

func newHandle(f *os.File) *handle { return &handle{File: f, fd: f.Fd(), users: 1} }

// retain adds a user, beside one that is there.
func (h *handle) retain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users++
}

// release takes a user away, and closes the file with the last.
func (h *handle) release() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users--
	if h.users > 0 {
		return nil
	}
	return h.Close()
}

// size is the file's size now.
func (h *handle) size() (int64, error) {
	info, err := h.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// readAt is File.ReadAt.
func (h *handle) readAt(p []byte, off int64) (int, error) {
	if room := math.MaxInt64 - off; int64(len(p)) > room {
		n, err := h.readAt(p[:room], off)
		return n, cmp.Or(err, io.EOF) // no file has a byte at MaxInt64
	}
	return h.ReadAt(p, off)
}

// writeAt is File.WriteAt.
func (h *handle) writeAt(p []byte, off int64) (int, error) {
	if int64(len(p)) > math.MaxInt64-off {
		return 0, syscall.EFBIG
	}
	return h.writeAll(p, off)
}

// setSize cuts the file, or grows it in a way that leaves no hole where a store could find the disk full.
func (h *handle) setSize(size int64) error {
	have, err := h.size()
	switch {
	case err != nil:
		return err
	case have < size:
		return h.allocate(size)
	case have > size:
		return h.Truncate(size)
	}
	return nil
}

// whyFault is the cause of a fault at position at.
func (h *handle) whyFault(at int64) error {
	size, err := h.size()
	switch {
	case err != nil:
		return syscall.EIO
	case at >= roundUp(size):
		return io.ErrUnexpectedEOF
	case h.lacksRoom(at, size):
		return syscall.ENOSPC
	}
	return syscall.EIO
}
