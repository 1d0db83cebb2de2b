//go:build !linux || portable

package fsio

// lacksRoom reports whether a fault at position at, of size, comes from a hole that got no block. The
// systems have no common way to ask, so that a full disk looks like one that cannot write.
func (h *handle) lacksRoom(_, _ int64) bool { return false }
