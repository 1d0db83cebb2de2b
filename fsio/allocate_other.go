//go:build !linux || portable

package fsio

// allocate is File.Allocate.
func (h *handle) allocate(size int64) error { return h.fillHoles(size) }
