package tree

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/internal/names"
)

// Umask is what of a mode nobody gets who did not ask for it: the customary one.
const Umask = 0o022

// OpenFile is fsio.FS's.
func (t *Tree) OpenFile(name string, flag int, perm fs.FileMode) (fsio.File, error) {
	n, made, err := t.open(name, flag, perm)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	f := &file{tree: t, node: n, name: name, writable: flag&os.O_RDWR != 0}
	if flag&os.O_TRUNC != 0 && !made {
		if err := f.Truncate(0); err != nil {
			return nil, pathError("open", name, joinClose(cause(err), f))
		}
	}
	return f, nil
}

// open finds or makes the file name, and counts a user of it.
func (t *Tree) open(name string, flag int, perm fs.FileMode) (n *node, made bool, err error) {
	if !names.Valid(name) {
		return nil, false, fsio.ErrBadName
	}
	if !names.ValidFlag(flag) {
		return nil, false, fs.ErrInvalid
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at, err := t.find(name)
	if err != nil {
		return nil, false, err
	}
	create := flag&os.O_CREATE != 0
	switch {
	case at.node == nil && !create:
		return nil, false, fs.ErrNotExist
	case at.node == nil:
		made = true
		at, err = t.create(at, perm)
	case at.node.mode.IsDir():
		err = syscall.EISDIR
	case create && flag&os.O_EXCL != 0:
		err = fs.ErrExist
	}
	if err == nil {
		err = t.use(at, flag&os.O_RDWR != 0)
	}
	return at.node, made, err
}

// create makes an empty file where nothing is.
func (t *Tree) create(at spot, perm fs.FileMode) (spot, error) {
	n := &node{inode: t.nextInode(), mode: perm.Perm() &^ Umask, mtime: t.o.Now()}
	made := at
	made.node = n
	if err := t.volume.Create(made.place(), perm.Perm()); err != nil {
		return at, err
	}
	t.link(made, n)
	return made, nil
}

// Rename is fsio.FS's.
func (t *Tree) Rename(oldname, newname string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return pathError("rename", oldname, t.rename(oldname, newname))
}

func (t *Tree) rename(oldname, newname string) error {
	if !names.Valid(newname) {
		return fsio.ErrBadName // before anything is asked about oldname
	}
	from, err := t.existing(oldname)
	if err != nil {
		return err
	}
	to, err := t.find(newname)
	if err != nil {
		return err
	}
	if oldname == newname {
		return nil
	}
	if from.node.mode.IsDir() && names.Below(newname, oldname) {
		return fs.ErrInvalid
	}
	if to.node != nil {
		if err := t.replaceable(from, to); err != nil {
			return err
		}
	}
	for _, s := range []spot{from, to} {
		if err := t.busy(s); err != nil {
			return err
		}
	}
	if err := t.volume.Rename(from.place(), to.place()); err != nil {
		return err
	}
	if to.node != nil {
		t.unlink(to)
	}
	t.link(to, from.node)
	t.unlink(from)
	return nil
}

// replaceable is nil where what is at to may give way to what is at from.
func (t *Tree) replaceable(from, to spot) error {
	isDir := from.node.mode.IsDir()
	switch {
	case !isDir && to.node.mode.IsDir():
		return syscall.EISDIR
	case isDir && !to.node.mode.IsDir():
		return syscall.ENOTDIR
	case !isDir:
		return nil
	}
	if err := t.load(to); err != nil {
		return err
	}
	if len(to.node.entries) > 0 {
		return syscall.ENOTEMPTY
	}
	return nil
}

// Remove is fsio.FS's.
func (t *Tree) Remove(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return pathError("remove", name, t.remove(name))
}

func (t *Tree) remove(name string) error {
	at, err := t.existing(name)
	if err != nil {
		return err
	}
	if at.node == t.root {
		return fs.ErrInvalid
	}
	if at.node.mode.IsDir() {
		if err := t.load(at); err != nil {
			return err
		}
		if len(at.node.entries) > 0 {
			return syscall.ENOTEMPTY
		}
	}
	if err := t.busy(at); err != nil {
		return err
	}
	if err := t.volume.Remove(at.place()); err != nil {
		return err
	}
	t.unlink(at)
	return nil
}

// MkdirAll is fsio.FS's.
func (t *Tree) MkdirAll(dir string, perm fs.FileMode) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return pathError("mkdir", dir, t.mkdirAll(dir, perm))
}

func (t *Tree) mkdirAll(dir string, perm fs.FileMode) error {
	if !names.Valid(dir) {
		return fsio.ErrBadName
	}
	for parent := range names.Parents(dir) {
		if err := t.mkdir(parent, perm); err != nil {
			return err
		}
	}
	return t.mkdir(dir, perm)
}

// mkdir makes the directory dir where nothing is.
func (t *Tree) mkdir(dir string, perm fs.FileMode) error {
	at, err := t.find(dir)
	if err != nil {
		return err
	}
	if at.node != nil {
		if !at.node.mode.IsDir() {
			return syscall.ENOTDIR
		}
		return nil
	}
	at.node = &node{
		inode: t.nextInode(), mode: fs.ModeDir | perm.Perm()&^Umask, mtime: t.o.Now(), entries: map[string]*node{},
	}
	if err := t.volume.Mkdir(at.place(), perm.Perm()); err != nil {
		return err
	}
	t.link(at, at.node)
	return nil
}
