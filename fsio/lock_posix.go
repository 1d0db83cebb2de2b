//go:build unix && (!linux || portable)

package fsio

import (
	"os"

	"golang.org/x/sys/unix"
)

// takeFile locks a file as a JVM sees it: with a lock of fcntl's. It belongs to the process and ends when
// any descriptor of the file is closed in it, so nothing but Lock may open a lock file.
func takeFile(f *os.File) error { return takeRange(f, unix.F_SETLK) }
