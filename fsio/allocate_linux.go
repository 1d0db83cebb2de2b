//go:build linux && !portable

package fsio

import (
	"errors"

	"golang.org/x/sys/unix"
)

// allocate is File.Allocate.
func (h *handle) allocate(size int64) error {
	if size == 0 {
		return nil
	}
	before, err := h.size()
	if err != nil {
		return err
	}
	err = retry(func() error { return unix.Fallocate(int(h.fd), 0, 0, size) })
	switch {
	case errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS):
		return h.fillHoles(size)
	case err != nil:
		// ext4 keeps, and counts as size, what it found before the disk was full (measured).
		return join(err, h.cutBack(before))
	}
	return nil
}
