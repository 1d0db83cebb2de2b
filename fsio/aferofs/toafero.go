package aferofs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/afero"

	"github.com/stratalog/strata/fsio"
)

// ToAfero hands fsys to code that takes an afero.Fs.
//
// Its files have a cursor each, under a lock, and O_APPEND writes at the end that is there when it writes.
// Sync of a directory's handle is SyncDir. Chmod and Chown are errors.ErrUnsupported.
func ToAfero(fsys fsio.FS) afero.Fs { return &aferoFS{fsys: fsys} }

// aferoFS is an fsio.FS as an afero.Fs.
type aferoFS struct {
	fsys fsio.FS

	// ends is held by whoever writes or cuts, alone by who has to know the end for it.
	ends sync.RWMutex
}

var _ afero.Fs = (*aferoFS)(nil)

// Name is afero.Fs's.
func (a *aferoFS) Name() string { return "fsio" }

// clean is name as fsio spells it: "/" and "" are the root, and a name that starts at the root is one.
func clean(name string) string { return path.Clean("./" + strings.TrimLeft(name, "/")) }

// Create is afero.Fs's.
func (a *aferoFS) Create(name string) (afero.File, error) {
	return a.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// Open is afero.Fs's.
func (a *aferoFS) Open(name string) (afero.File, error) { return a.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile is afero.Fs's.
func (a *aferoFS) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	own := clean(name)
	const access = os.O_RDONLY | os.O_WRONLY | os.O_RDWR
	h := &handle{fs: a, name: name, own: own, mode: flag & access, appends: flag&os.O_APPEND != 0}
	pass := flag &^ (access | os.O_APPEND | os.O_SYNC)
	if h.mode != os.O_RDONLY {
		pass |= os.O_RDWR
	}
	file, err := a.fsys.OpenFile(own, pass, perm)
	if err != nil {
		if errors.Is(err, syscall.EISDIR) && h.mode == os.O_RDONLY && flag&os.O_CREATE == 0 {
			return h, nil
		}
		return nil, named(err, name)
	}
	h.file = file
	return h, nil
}

// named gives an error the name that the caller used.
func named(err error, name string) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: e.Op, Path: name, Err: e.Err}
	}
	return err
}

// Mkdir is afero.Fs's.
func (a *aferoFS) Mkdir(name string, perm os.FileMode) error {
	own := clean(name)
	_, err := a.fsys.Stat(own)
	switch {
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return named(err, name)
	}
	parent, err := a.fsys.Stat(path.Dir(own))
	if err == nil && !parent.IsDir() {
		err = &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return named(err, name)
	}
	return named(a.fsys.MkdirAll(own, perm), name)
}

// MkdirAll is afero.Fs's.
func (a *aferoFS) MkdirAll(name string, perm os.FileMode) error {
	return named(a.fsys.MkdirAll(clean(name), perm), name)
}

// Remove is afero.Fs's.
func (a *aferoFS) Remove(name string) error { return named(a.fsys.Remove(clean(name)), name) }

// RemoveAll is afero.Fs's.
func (a *aferoFS) RemoveAll(name string) error {
	err := a.removeAll(clean(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return named(err, name)
}

func (a *aferoFS) removeAll(own string) error {
	err := a.fsys.Remove(own)
	if !errors.Is(err, syscall.ENOTEMPTY) {
		return err
	}
	entries, err := a.fsys.ReadDir(own)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := a.removeAll(path.Join(own, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return a.fsys.Remove(own)
}

// Rename is afero.Fs's.
func (a *aferoFS) Rename(oldname, newname string) error {
	return named(a.fsys.Rename(clean(oldname), clean(newname)), oldname)
}

// Stat is afero.Fs's.
func (a *aferoFS) Stat(name string) (os.FileInfo, error) {
	info, err := a.fsys.Stat(clean(name))
	return info, named(err, name)
}

// Chtimes is afero.Fs's. There is no time of access.
func (a *aferoFS) Chtimes(name string, _, mtime time.Time) error {
	return named(a.fsys.Chtimes(clean(name), mtime), name)
}

// Chmod is afero.Fs's.
func (a *aferoFS) Chmod(name string, _ os.FileMode) error {
	return &fs.PathError{Op: "chmod", Path: name, Err: errors.ErrUnsupported}
}

// Chown is afero.Fs's.
func (a *aferoFS) Chown(name string, _, _ int) error {
	return &fs.PathError{Op: "chown", Path: name, Err: errors.ErrUnsupported}
}
