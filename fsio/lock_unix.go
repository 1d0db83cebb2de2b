//go:build unix

package fsio

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// takeRange locks the whole of a file by the fcntl command cmd.
func takeRange(f *os.File, cmd int) error {
	all := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	return taken(retry(func() error { return unix.FcntlFlock(f.Fd(), cmd, &all) }))
}

// takeDir locks a directory.
func takeDir(d *os.File) error {
	return taken(retry(func() error { return unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB) }))
}

// taken is err, by its name where it says that somebody holds the lock.
func taken(err error) error {
	if err == unix.EAGAIN || err == unix.EACCES { //nolint:errorlint // a bare error number
		return ErrLocked
	}
	return err
}
