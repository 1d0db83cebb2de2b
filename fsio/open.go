package fsio

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/stratalog/strata/fsio/internal/names"
)

// openTries bounds how often an open looks again because something else took the name's place between the
// look and the open. Renames onto the name do that now and then; only one who does nothing else, to catch
// an open between the two, does it this often.
const openTries = 1000

// errMoved says that the name does not lead to what was seen there a moment before.
var errMoved = errors.New("moved")

// look is what is at name, a regular file or a directory: all refusals that FS makes for a name are here.
//
// os.Root follows links that stay below the root. So each directory on the way is looked at first. Who may
// write there can put a link in its place between the look and the use, and leads the call to another place
// below the root, never out of it.
func (f *OSFS) look(name string) (fs.FileInfo, error) {
	if !names.Valid(name) {
		return nil, ErrBadName
	}
	for parent := range names.Parents(name) {
		info, err := f.lookAt(parent)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, syscall.ENOTDIR
		}
	}
	return f.lookAt(name)
}

// lookAt is look for the last element of name alone.
func (f *OSFS) lookAt(name string) (fs.FileInfo, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	return info, nil
}

// open is OpenFile without the wrapping of its errors.
func (f *OSFS) open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if !names.Valid(name) {
		return nil, ErrBadName
	}
	if !names.ValidFlag(flag) {
		return nil, fs.ErrInvalid
	}
	for range openTries {
		file, err := f.tryOpen(name, flag, perm)
		if !errors.Is(err, errMoved) {
			return file, err
		}
	}
	return nil, ErrNotRegular
}

// tryOpen opens what is at name now, or returns errMoved.
func (f *OSFS) tryOpen(name string, flag int, perm fs.FileMode) (*os.File, error) {
	create, exclusive := flag&os.O_CREATE != 0, flag&os.O_EXCL != 0
	seen, err := f.look(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		// Exclusive always: the kernel then follows no link that came into being since the look.
		file, err := f.root.OpenFile(name, flag|os.O_EXCL|openFlags, perm.Perm())
		if errors.Is(err, fs.ErrExist) && !exclusive {
			return nil, errMoved
		}
		return file, err
	case err != nil:
		return nil, err
	case seen.IsDir():
		return nil, syscall.EISDIR
	case create && exclusive:
		return nil, fs.ErrExist
	}
	file, err := f.openSeen(name, flag&os.O_RDWR, seen)
	if errors.Is(err, fs.ErrNotExist) && create {
		return nil, errMoved
	}
	if err == nil && flag&os.O_TRUNC != 0 {
		// Not in the open, where it would also cut a file that has taken the place of what was seen.
		if err = file.Truncate(0); err != nil {
			err = join(err, file.Close())
		}
	}
	return file, err
}

// openDir opens the directory dir.
func (f *OSFS) openDir(dir string) (*os.File, error) {
	for range openTries {
		seen, err := f.look(dir)
		if err != nil {
			return nil, err
		}
		if !seen.IsDir() {
			return nil, syscall.ENOTDIR
		}
		file, err := f.openSeen(dir, os.O_RDONLY, seen)
		if !errors.Is(err, errMoved) {
			return file, err
		}
	}
	return nil, ErrNotRegular
}

// openSeen opens name, where seen was, and checks that it opened that: then no link was followed, and no
// FIFO opened. Where it was one, openFlags kept the open from waiting.
func (f *OSFS) openSeen(name string, flag int, seen fs.FileInfo) (*os.File, error) {
	file, err := f.root.OpenFile(name, flag|openFlags, 0)
	if err != nil {
		return nil, err
	}
	got, err := file.Stat()
	if err == nil && !os.SameFile(seen, got) {
		err = errMoved
	}
	if err != nil {
		return nil, join(err, file.Close())
	}
	return file, nil
}
