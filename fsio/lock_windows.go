package fsio

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// takeFile locks the whole of a file.
func takeFile(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, math.MaxUint32, math.MaxUint32, new(windows.Overlapped))
}

// freeFile does nothing: the lock ends with the handle, of which nobody has a copy.
func freeFile(*os.File) error { return nil }

// takeDir does nothing: Windows has no lock for a directory. Within the process the table excludes.
func takeDir(*os.File) error { return nil }

// freeDir undoes takeDir.
func freeDir(*os.File) error { return nil }
