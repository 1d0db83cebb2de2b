//go:build linux && !portable

package fsio

import "golang.org/x/sys/unix"

// syncData makes bytes and size durable. fdatasync leaves out the modification time, which would cost a
// journal commit each time.
func (h *handle) syncData() error {
	return retry(func() error { return unix.Fdatasync(int(h.fd)) })
}
