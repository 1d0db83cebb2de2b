//go:build unix

package fsio

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes the names in d durable. A filesystem that cannot sync a directory at all says EINVAL or
// ENOTSUP: there is no more that anybody can do on it.
func syncDir(d *os.File) error {
	err := d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
