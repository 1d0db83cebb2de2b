//go:build unix

package fsio

import "syscall"

// retry does a system call again for as long as a signal breaks it off.
func retry(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR { //nolint:errorlint // a bare error number
			return err
		}
	}
}
