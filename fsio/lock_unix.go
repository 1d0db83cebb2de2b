//go:build unix

package fsio

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// takeFile locks a file as a JVM sees it: with a lock of fcntl's.
func takeFile(f *os.File) error { return taken(setRange(f, unix.F_WRLCK)) }

// freeFile undoes takeFile.
func freeFile(f *os.File) error { return setRange(f, unix.F_UNLCK) }

// setRange sets the lock of the whole of a file.
func setRange(f *os.File, typ int16) error {
	all := unix.Flock_t{Type: typ, Whence: io.SeekStart}
	return retry(func() error { return unix.FcntlFlock(f.Fd(), setLock, &all) })
}

// takeDir locks a directory.
func takeDir(d *os.File) error {
	return taken(retry(func() error { return unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB) }))
}

// freeDir undoes takeDir.
func freeDir(d *os.File) error {
	return retry(func() error { return unix.Flock(int(d.Fd()), unix.LOCK_UN) })
}

// taken is err, by its name where it says that somebody holds the lock.
func taken(err error) error {
	if err == unix.EAGAIN || err == unix.EACCES { //nolint:errorlint // a bare error number
		return ErrLocked
	}
	return err
}
