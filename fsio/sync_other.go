//go:build !linux || portable

package fsio

// syncData makes bytes and size durable.
func (h *handle) syncData() error { return h.Sync() }
