//go:build linux && !portable

package fsio

import "golang.org/x/sys/unix"

// isHole reports whether the file has no block at position at.
func (h *handle) isHole(at int64) bool {
	data, err := unix.Seek(int(h.fd), at, unix.SEEK_DATA)
	return err == unix.ENXIO || err == nil && data > at //nolint:errorlint // a bare error number
}
