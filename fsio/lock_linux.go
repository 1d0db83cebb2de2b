//go:build linux && !portable

package fsio

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock is Lock without the wrapping of its errors. The kernel's locks here belong to an open file, so that
// they exclude this process as well.
func (f *OSFS) lock(name string) (*heldLock, error) { return f.takeOpened(name) }

// takeFile locks a file as a JVM sees it: with a lock of fcntl's.
func takeFile(f *os.File) error {
	return takeRange(f, unix.F_OFD_SETLK)
}
