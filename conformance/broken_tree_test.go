package conformance_test

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stratalog/strata/conformance"
	"github.com/stratalog/strata/fsio"
)

// become turns errors that are from into to.
func become(kinds fsio.Kind, from, to error) breakage {
	return onCall(func(op *fsio.Op, do func() error) error {
		err := do()
		if kinds.Has(op.Kind) && errors.Is(err, from) {
			if to == nil {
				return nil
			}
			return &fs.PathError{Op: "broken", Path: op.Path, Err: to}
		}
		return err
	})
}

// lie claims that calls of a kind were made.
func lie(kinds fsio.Kind) breakage {
	return onCall(func(op *fsio.Op, do func() error) error {
		if kinds.Has(op.Kind) {
			return nil
		}
		return do()
	})
}

// fail has calls of a kind fail.
func fail(kinds fsio.Kind, err error) breakage {
	return onCall(func(op *fsio.Op, do func() error) error {
		if kinds.Has(op.Kind) {
			return &fs.PathError{Op: "broken", Path: op.Path, Err: err}
		}
		return do()
	})
}

// oneAtATime fails calls of some kinds that come beside each other.
func oneAtATime(kinds fsio.Kind) breakage {
	return func(tb testing.TB) fsio.FS {
		only := newAlone()
		return onCall(func(op *fsio.Op, do func() error) (err error) {
			if !kinds.Has(op.Kind) {
				return do()
			}
			if !only.do(func() { err = do() }) {
				err = &fs.PathError{Op: "broken", Path: op.Path, Err: syscall.EBUSY}
			}
			return err
		})(tb)
	}
}

// exists reports whether name is there.
func exists(fsys fsio.FS, name string) bool {
	_, err := fsys.Stat(name)
	return err == nil
}

// removeAll removes name with all that is below it.
func removeAll(fsys fsio.FS, name string) error {
	if entries, err := fsys.ReadDir(name); err == nil {
		for _, e := range entries {
			if err := removeAll(fsys, path.Join(name, e.Name())); err != nil {
				return err
			}
		}
	}
	return fsys.Remove(name)
}

// byName makes each call of a File by its name anew, as if nothing were open.
func byName(f opened) {
	again := func(use func(g fsio.File) error) error {
		g, err := f.fsys.OpenFile(f.path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(use(g), g.Close())
	}
	f.readAt = func(p []byte, off int64) (n int, err error) {
		err = again(func(g fsio.File) (err error) { n, err = g.ReadAt(p, off); return err })
		return n, err
	}
	f.size = func() (n int64, err error) {
		err = again(func(g fsio.File) (err error) { n, err = g.Size(); return err })
		return n, err
	}
	f.sync = func() error { return again(fsio.File.Sync) }
}

// liveInfo is a FileInfo that asks anew.
type liveInfo struct {
	fs.FileInfo
	fsys fsio.FS
	name string
}

func (i liveInfo) Size() int64 {
	if info, err := i.fsys.Stat(i.name); err == nil {
		return info.Size()
	}
	return -1
}

// named is a FileInfo of another name.
type named struct {
	fs.FileInfo
	name string
}

func (n named) Name() string { return n.name }

// oldEntry is a DirEntry whose Info is of when it was listed.
type oldEntry struct {
	fs.DirEntry
	info fs.FileInfo
	err  error
}

func (e oldEntry) Info() (fs.FileInfo, error) { return e.info, e.err }

// brokenTrees break the rules of an FS, but those of Lock.
var brokenTrees = map[string]breakage{
	"names are relative to the root": onFS(func(t *twistFS) {
		t.stat = func(name string) (fs.FileInfo, error) {
			if name == "." {
				return nil, fsio.ErrBadName
			}
			return t.FS.Stat(name)
		}
	}),
	"bad names are refused": onCall(func(op *fsio.Op, do func() error) error {
		op.Path = strings.ReplaceAll(op.Path, "\\", "/")
		return do()
	}),
	"long elements are accepted": onCall(func(op *fsio.Op, do func() error) error {
		if len(op.Path) > 143 { // as on eCryptfs
			return fsio.ErrBadName
		}
		return do()
	}),
	"symbolic links are refused": onLab(func(t *twistFS, dir string) {
		t.openFile = func(name string, flag int, perm fs.FileMode) (fsio.File, error) {
			if target, err := os.Readlink(path.Join(dir, name)); err == nil {
				name = target
			}
			return t.FS.OpenFile(name, flag, perm)
		}
	}),
	"FIFOs and sockets are refused": onLab(func(t *twistFS, dir string) {
		t.stat = func(name string) (fs.FileInfo, error) { return os.Lstat(path.Join(dir, name)) }
	}),
	"no name leads through a file": become(fsio.OpStat, syscall.ENOTDIR, fs.ErrNotExist),
	"errors have the caller's name": onCall(func(op *fsio.Op, do func() error) error {
		err := do()
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			return &fs.PathError{Op: e.Op, Path: "/srv/" + e.Path, Err: e.Err}
		}
		return err
	}),
	"calls may be concurrent": oneAtATime(fsio.OpRename),
	"renames take effect once": onFS(func(t *twistFS) {
		both := newMeeting()
		t.rename = func(oldname, newname string) error {
			if !exists(t.FS, oldname) {
				return t.FS.Rename(oldname, newname)
			}
			both.wait()
			if err := t.FS.Rename(oldname, newname); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		}
	}),
	"removes take effect once": become(fsio.OpRemove, fs.ErrNotExist, nil),

	"open refuses other flags": onFS(func(t *twistFS) {
		t.openFile = func(name string, flag int, perm fs.FileMode) (fsio.File, error) {
			return t.FS.OpenFile(name, flag&^os.O_APPEND, perm)
		}
	}),
	"open finds nothing": onFS(func(t *twistFS) {
		t.openFile = func(name string, flag int, perm fs.FileMode) (fsio.File, error) {
			if flag&os.O_RDWR != 0 {
				flag = flag&^os.O_EXCL | os.O_CREATE
			}
			return t.FS.OpenFile(name, flag, perm)
		}
	}),
	"open creates": onFS(func(t *twistFS) {
		t.openFile = func(name string, flag int, perm fs.FileMode) (fsio.File, error) {
			if flag&os.O_CREATE != 0 {
				if err := t.FS.MkdirAll(path.Dir(name), 0o755); err != nil {
					return nil, err
				}
			}
			return t.FS.OpenFile(name, flag, perm)
		}
	}),
	"open creates exclusively": onFS(func(t *twistFS) {
		t.openFile = func(name string, flag int, perm fs.FileMode) (fsio.File, error) {
			return t.FS.OpenFile(name, flag&^os.O_EXCL, perm)
		}
	}),
	"one exclusive open wins": onFS(func(t *twistFS) {
		both := newMeeting()
		t.openFile = func(name string, flag int, perm fs.FileMode) (fsio.File, error) {
			if flag&os.O_EXCL != 0 && exists(t.FS, name) {
				return nil, fs.ErrExist
			}
			both.wait()
			return t.FS.OpenFile(name, flag&^os.O_EXCL, perm)
		}
	}),
	"O_EXCL alone does nothing": onFS(func(t *twistFS) {
		t.openFile = func(name string, flag int, perm fs.FileMode) (fsio.File, error) {
			if flag&os.O_EXCL != 0 && exists(t.FS, name) {
				return nil, fs.ErrExist
			}
			return t.FS.OpenFile(name, flag, perm)
		}
	}),
	"O_TRUNC cuts for all": onFS(func(t *twistFS) {
		t.openFile = func(name string, flag int, perm fs.FileMode) (fsio.File, error) {
			if flag&(os.O_TRUNC|os.O_RDWR) == os.O_TRUNC|os.O_RDWR && t.FS.Remove(name) == nil {
				flag |= os.O_CREATE
			}
			return t.FS.OpenFile(name, flag, perm)
		}
	}),
	"open refuses directories": become(fsio.OpCreate, syscall.EISDIR, fs.ErrExist),
	"files of one name share bytes": onFile(func(f opened) {
		size, _ := f.File.Size()
		old := make([]byte, size)
		_, _ = f.File.ReadAt(old, 0)
		f.readAt = strings.NewReader(string(old)).ReadAt
	}),
	"a file keeps its bytes": onFile(byName),

	"rename replaces a file": onFS(func(t *twistFS) {
		t.rename = func(oldname, newname string) error {
			if exists(t.FS, newname) {
				return fs.ErrExist
			}
			return t.FS.Rename(oldname, newname)
		}
	}),
	"rename leaves no gap": onFS(func(t *twistFS) {
		between := newGap()
		t.rename = func(oldname, newname string) error {
			between.show(func() { _ = t.FS.Remove(newname) })
			return t.FS.Rename(oldname, newname)
		}
		t.openFile = func(name string, flag int, perm fs.FileMode) (f fsio.File, err error) {
			between.look(func() { f, err = t.FS.OpenFile(name, flag, perm) })
			return f, err
		}
	}),
	"rename replaces an empty directory": onFS(func(t *twistFS) {
		t.rename = func(oldname, newname string) error {
			if info, err := t.FS.Stat(newname); err == nil && info.IsDir() {
				return fs.ErrExist
			}
			return t.FS.Rename(oldname, newname)
		}
	}),
	"rename spares a full directory": onFS(func(t *twistFS) {
		t.rename = func(oldname, newname string) error {
			err := t.FS.Rename(oldname, newname)
			if errors.Is(err, syscall.ENOTEMPTY) && newname == "new" {
				return errors.Join(removeAll(t.FS, newname), t.FS.Rename(oldname, newname))
			}
			return err
		}
	}),
	"rename keeps kinds apart": become(fsio.OpRename, syscall.EISDIR, fs.ErrExist),
	"rename makes no circle":   become(fsio.OpRename, fs.ErrInvalid, nil),
	"rename finds nothing":     renameMakesParent,
	"rename onto itself does nothing": onFS(func(t *twistFS) {
		t.rename = func(oldname, newname string) error {
			if info, err := t.FS.Stat(newname); err == nil && !info.IsDir() {
				_ = t.FS.Remove(newname)
			}
			return t.FS.Rename(oldname, newname)
		}
	}),
	"rename does not disturb what is open": onFile(byName),

	"remove refuses": onFS(func(t *twistFS) {
		t.remove = func(name string) error {
			if name == "d" {
				return removeAll(t.FS, name)
			}
			return t.FS.Remove(name)
		}
	}),
	"remove takes names away": lie(fsio.OpRemove),
	"a removed name is free":  removeWaits,
	"a removed file can be used": onFS(func(t *twistFS) {
		twistFiles(t, func(f opened) {
			f.writeAt = func(p []byte, off int64) (int, error) {
				if !exists(f.fsys, f.path) {
					return 0, fs.ErrNotExist
				}
				return f.File.WriteAt(p, off)
			}
		})
	}),
	"MkdirAll makes parents": onFS(func(t *twistFS) {
		t.mkdirAll = func(dir string, perm fs.FileMode) error {
			if !exists(t.FS, path.Dir(dir)) {
				return fs.ErrNotExist
			}
			return t.FS.MkdirAll(dir, perm)
		}
	}),
	"MkdirAll accepts what is there": onFS(func(t *twistFS) {
		t.mkdirAll = func(dir string, perm fs.FileMode) error {
			if exists(t.FS, dir) {
				return fs.ErrExist
			}
			return t.FS.MkdirAll(dir, perm)
		}
	}),
	"MkdirAll stops at a file":   become(fsio.OpMkdirAll, syscall.ENOTDIR, nil),
	"SyncDir covers changes":     fail(fsio.OpSyncDir, syscall.EINVAL),
	"SyncDir leaves files alone": syncDirCuts,
	"SyncDir of either side":     syncDirUndoes,
	"SyncDir refuses":            lie(fsio.OpSyncDir),

	"listings are sorted": onFS(func(t *twistFS) {
		t.readDir = func(dir string) ([]fs.DirEntry, error) {
			entries, err := t.FS.ReadDir(dir)
			slices.Reverse(entries)
			return entries, err
		}
	}),
	"listings are snapshots": onFS(func(t *twistFS) {
		t.readDir = func(dir string) ([]fs.DirEntry, error) {
			entries, err := t.FS.ReadDir(dir)
			for i, e := range entries {
				info, err := e.Info()
				entries[i] = oldEntry{e, info, err}
			}
			return entries, err
		}
	}),
	"listings show what is refused": onLab(func(t *twistFS, _ string) {
		t.readDir = func(dir string) ([]fs.DirEntry, error) {
			entries, err := t.FS.ReadDir(dir)
			return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Type()&^fs.ModeDir != 0 }), err
		}
	}),
	"ReadDir refuses": onFS(func(t *twistFS) {
		t.readDir = func(dir string) ([]fs.DirEntry, error) {
			entries, err := t.FS.ReadDir(dir)
			if errors.Is(err, syscall.ENOTDIR) {
				return nil, nil
			}
			return entries, err
		}
	}),
	"Stat is a snapshot": onFS(func(t *twistFS) {
		t.stat = func(name string) (fs.FileInfo, error) {
			info, err := t.FS.Stat(name)
			return liveInfo{info, t.FS, name}, err
		}
	}),
	"Stat has the last element": onFS(func(t *twistFS) {
		t.stat = func(name string) (fs.FileInfo, error) {
			info, err := t.FS.Stat(name)
			return named{info, name}, err
		}
	}),
	"Stat has size and time":        onFile(func(f opened) { f.truncate = keepTime(f, f.File.Truncate) }),
	"opening leaves the time alone": onFile(func(f opened) { f.close = closeTouches(f) }),
	"Stat finds nothing": onFS(func(t *twistFS) {
		t.stat = func(name string) (fs.FileInfo, error) {
			info, err := t.FS.Stat(name)
			if errors.Is(err, fs.ErrNotExist) {
				return named{nil, name}, nil
			}
			return info, err
		}
	}),
	"Chtimes is exact": onFS(func(t *twistFS) {
		t.chtimes = func(name string, mtime time.Time) error { return t.FS.Chtimes(name, mtime.Truncate(time.Second)) }
	}),
	"Chtimes finds nothing": onFS(func(t *twistFS) {
		t.chtimes = func(name string, mtime time.Time) error {
			if f, err := t.FS.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644); err == nil {
				_ = f.Close()
			}
			return t.FS.Chtimes(name, mtime)
		}
	}),
}

// renameMakesParent makes the parent of a new name.
var renameMakesParent = onFS(func(t *twistFS) {
	t.rename = func(oldname, newname string) error {
		if err := t.FS.MkdirAll(path.Dir(newname), 0o755); err != nil {
			return err
		}
		return t.FS.Rename(oldname, newname)
	}
})

// removeWaits removes an open file when it is closed.
var removeWaits = onFS(func(t *twistFS) {
	var mu sync.Mutex
	open := map[string]int{}
	twistFiles(t, func(f opened) {
		mu.Lock()
		defer mu.Unlock()
		open[f.path]++
		f.close = sync.OnceValue(func() error {
			mu.Lock()
			defer mu.Unlock()
			open[f.path]--
			return f.File.Close()
		})
	})
	t.remove = func(name string) error {
		mu.Lock()
		defer mu.Unlock()
		if open[name] > 0 {
			return nil
		}
		return t.FS.Remove(name)
	}
})

// syncDirCuts has SyncDir throw away what was not synced.
var syncDirCuts = onFS(func(t *twistFS) {
	var last fsio.File
	twistFiles(t, func(f opened) { last = f.File })
	t.syncDir = func(dir string) error { return errors.Join(last.Truncate(0), t.FS.SyncDir(dir)) }
})

// syncDirUndoes has a rename undone by a SyncDir of the directory that lost the name.
var syncDirUndoes = onFS(func(t *twistFS) {
	var from, to string
	t.rename = func(oldname, newname string) error {
		from, to = oldname, newname
		return t.FS.Rename(oldname, newname)
	}
	t.syncDir = func(dir string) error {
		if dir == path.Dir(from) {
			return t.FS.Rename(to, from)
		}
		return t.FS.SyncDir(dir)
	}
})

// keepTime undoes what change does to the modification time.
func keepTime(f opened, change func(int64) error) func(int64) error {
	return func(n int64) error {
		info, err := f.fsys.Stat(f.path)
		if err != nil {
			return err
		}
		return errors.Join(change(n), f.fsys.Chtimes(f.path, info.ModTime()))
	}
}

// closeTouches sets the modification time when a file is closed, as MemMapFs does.
func closeTouches(f opened) func() error {
	return func() error {
		if exists(f.fsys, f.path) {
			_ = f.fsys.Chtimes(f.path, time.Now())
		}
		return f.File.Close()
	}
}

// onLab breaks a directory of the disk in which links and FIFOs can be made.
func onLab(twist func(t *twistFS, dir string)) breakage {
	return func(tb testing.TB) fsio.FS {
		lab := newLab(tb)
		planter, ok := lab.FS.(conformance.Planter)
		if !ok {
			tb.Skip("there are no links to make here")
		}
		t := &twistFS{FS: lab.FS}
		twist(t, lab.dir)
		return struct {
			fsio.FS
			conformance.Planter
		}{t, planter}
	}
}
