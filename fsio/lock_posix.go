//go:build unix && (!linux || portable)

package fsio

import "golang.org/x/sys/unix"

// setLock is the fcntl command for locks: these belong to the process, and one ends when any descriptor of
// the file is closed in it, so nothing but Lock may open a lock file.
const setLock = unix.F_SETLK
