//go:build linux && !portable

package fsio

import "golang.org/x/sys/unix"

// mostTogether is the most that the system maps, and finds blocks for, at once.
const mostTogether = 2 << 20

// lacksRoom reports whether a fault at position at, of size, comes from a hole that got no block.
//
// A hole in the page itself is enough: nothing else fails there. But ext4 with large folios asks for the
// blocks of many pages at once, and where the disk is full in the middle of them, pages fail that have
// theirs (measured, Linux 6.18). So on a full disk a hole nearby counts, too.
func (h *handle) lacksRoom(at, size int64) bool {
	return h.hasHole(at, size, pageSize) || h.diskFull() && h.hasHole(at, size, mostTogether)
}

// hasHole reports whether the file has a hole in the unit, a power of two, in which position at lies.
func (h *handle) hasHole(at, size, unit int64) bool {
	start := at / unit * unit
	hole, err := unix.Seek(int(h.fd), start, unix.SEEK_HOLE)
	return err == nil && hole < min(size, start+unit) // at size there is a hole always
}

// diskFull reports whether the filesystem has less room than is asked for at once.
func (h *handle) diskFull() bool {
	var s unix.Statfs_t
	err := unix.Fstatfs(int(h.fd), &s)
	return err == nil && s.Bavail < mostTogether/uint64(s.Bsize)
}
