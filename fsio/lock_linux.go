//go:build linux && !portable

package fsio

import "golang.org/x/sys/unix"

// setLock is the fcntl command for locks: these belong to an open file.
const setLock = unix.F_OFD_SETLK

// lock is Lock without the wrapping of its errors. The kernel's locks here belong to an open file, so that
// they exclude this process as well.
func (f *OSFS) lock(name string) (*heldLock, error) { return f.takeOpened(name) }
