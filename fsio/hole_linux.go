//go:build linux && !portable

package fsio

import "golang.org/x/sys/unix"

// isHole reports whether the file has no block at position at.
func (h *handle) isHole(at int64) bool {
	hole := false
	err := h.control(func(fd uintptr) error {
		data, err := unix.Seek(int(fd), at, unix.SEEK_DATA)
		hole = err == unix.ENXIO || err == nil && data > at //nolint:errorlint // a bare error number
		return nil
	})
	return err == nil && hole
}
