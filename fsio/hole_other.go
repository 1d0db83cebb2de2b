//go:build !linux || portable

package fsio

// isHole reports whether the file has no block at position at. The systems have no common way to ask, so
// that a full disk looks like one that cannot write.
func (h *handle) isHole(int64) bool { return false }
