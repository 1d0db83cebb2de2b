//go:build unix

package fsio

import (
	"path"

	"golang.org/x/sys/unix"
)

// openFlags keep an open from waiting, for a FIFO's other end or for a device.
const openFlags = unix.O_NONBLOCK | largeFile

// replaceDir renames the directory oldname onto the directory newname, which os.Root refuses.
func (f *OSFS) replaceDir(oldname, newname string) error {
	from, err := f.openDir(path.Dir(oldname))
	if err != nil {
		return err
	}
	to, err := f.openDir(path.Dir(newname))
	if err != nil {
		return join(err, from.Close())
	}
	err = unix.Renameat(int(from.Fd()), path.Base(oldname), int(to.Fd()), path.Base(newname))
	return join(err, join(from.Close(), to.Close()))
}
