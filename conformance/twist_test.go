package conformance_test

import (
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
)

// twistFS is an FS with some methods replaced; nil ones are the FS's own.
type twistFS struct {
	fsio.FS

	openFile func(name string, flag int, perm fs.FileMode) (fsio.File, error)
	rename   func(oldname, newname string) error
	remove   func(name string) error
	mkdirAll func(dir string, perm fs.FileMode) error
	readDir  func(dir string) ([]fs.DirEntry, error)
	stat     func(name string) (fs.FileInfo, error)
	chtimes  func(name string, mtime time.Time) error
	syncDir  func(dir string) error
	lock     func(name string) (io.Closer, error)
}

func (t *twistFS) OpenFile(name string, flag int, perm fs.FileMode) (fsio.File, error) {
	if t.openFile != nil {
		return t.openFile(name, flag, perm)
	}
	return t.FS.OpenFile(name, flag, perm)
}

func (t *twistFS) Rename(oldname, newname string) error {
	if t.rename != nil {
		return t.rename(oldname, newname)
	}
	return t.FS.Rename(oldname, newname)
}

func (t *twistFS) Remove(name string) error {
	if t.remove != nil {
		return t.remove(name)
	}
	return t.FS.Remove(name)
}

func (t *twistFS) MkdirAll(dir string, perm fs.FileMode) error {
	if t.mkdirAll != nil {
		return t.mkdirAll(dir, perm)
	}
	return t.FS.MkdirAll(dir, perm)
}

func (t *twistFS) ReadDir(dir string) ([]fs.DirEntry, error) {
	if t.readDir != nil {
		return t.readDir(dir)
	}
	return t.FS.ReadDir(dir)
}

func (t *twistFS) Stat(name string) (fs.FileInfo, error) {
	if t.stat != nil {
		return t.stat(name)
	}
	return t.FS.Stat(name)
}

func (t *twistFS) Chtimes(name string, mtime time.Time) error {
	if t.chtimes != nil {
		return t.chtimes(name, mtime)
	}
	return t.FS.Chtimes(name, mtime)
}

func (t *twistFS) SyncDir(dir string) error {
	if t.syncDir != nil {
		return t.syncDir(dir)
	}
	return t.FS.SyncDir(dir)
}

func (t *twistFS) Lock(name string) (io.Closer, error) {
	if t.lock != nil {
		return t.lock(name)
	}
	return t.FS.Lock(name)
}

// twistFile is twistFS for a File.
type twistFile struct {
	fsio.File

	readAt   func(p []byte, off int64) (int, error)
	writeAt  func(p []byte, off int64) (int, error)
	close    func() error
	name     func() string
	size     func() (int64, error)
	truncate func(size int64) error
	allocate func(size int64) error
	sync     func() error
	mapped   func(size int64, prot fsio.Prot) (fsio.Map, error)
	copyTo   func(w io.Writer, off, n int64) (int64, error)
}

func (t *twistFile) ReadAt(p []byte, off int64) (int, error) {
	if t.readAt != nil {
		return t.readAt(p, off)
	}
	return t.File.ReadAt(p, off)
}

func (t *twistFile) WriteAt(p []byte, off int64) (int, error) {
	if t.writeAt != nil {
		return t.writeAt(p, off)
	}
	return t.File.WriteAt(p, off)
}

func (t *twistFile) Close() error {
	if t.close != nil {
		return t.close()
	}
	return t.File.Close()
}

func (t *twistFile) Name() string {
	if t.name != nil {
		return t.name()
	}
	return t.File.Name()
}

func (t *twistFile) Size() (int64, error) {
	if t.size != nil {
		return t.size()
	}
	return t.File.Size()
}

func (t *twistFile) Truncate(size int64) error {
	if t.truncate != nil {
		return t.truncate(size)
	}
	return t.File.Truncate(size)
}

func (t *twistFile) Allocate(size int64) error {
	if t.allocate != nil {
		return t.allocate(size)
	}
	return t.File.Allocate(size)
}

func (t *twistFile) Sync() error {
	if t.sync != nil {
		return t.sync()
	}
	return t.File.Sync()
}

func (t *twistFile) Map(size int64, prot fsio.Prot) (fsio.Map, error) {
	if t.mapped != nil {
		return t.mapped(size, prot)
	}
	return t.File.Map(size, prot)
}

func (t *twistFile) CopyTo(w io.Writer, off, n int64) (int64, error) {
	if t.copyTo != nil {
		return t.copyTo(w, off, n)
	}
	return t.File.CopyTo(w, off, n)
}

// twistMap is twistFS for a Map.
type twistMap struct {
	fsio.Map

	length  func() int64
	view    func(off, n int64, v fsio.Viewer) error
	writeAt func(p []byte, off int64) (int, error)
	flush   func(off, n int64) error
	resize  func(size int64) error
	close   func() error
}

func (t *twistMap) Len() int64 {
	if t.length != nil {
		return t.length()
	}
	return t.Map.Len()
}

func (t *twistMap) View(off, n int64, v fsio.Viewer) error {
	if t.view != nil {
		return t.view(off, n, v)
	}
	return t.Map.View(off, n, v)
}

func (t *twistMap) WriteAt(p []byte, off int64) (int, error) {
	if t.writeAt != nil {
		return t.writeAt(p, off)
	}
	return t.Map.WriteAt(p, off)
}

func (t *twistMap) Flush(off, n int64) error {
	if t.flush != nil {
		return t.flush(off, n)
	}
	return t.Map.Flush(off, n)
}

func (t *twistMap) Resize(size int64) error {
	if t.resize != nil {
		return t.resize(size)
	}
	return t.Map.Resize(size)
}

func (t *twistMap) Close() error {
	if t.close != nil {
		return t.close()
	}
	return t.Map.Close()
}

// breakage makes an FS that breaks a rule.
type breakage func(tb testing.TB) fsio.FS

// onFS breaks a filesystem in memory: twist replaces methods of t, which is one.
func onFS(twist func(t *twistFS)) breakage {
	return func(testing.TB) fsio.FS {
		t := &twistFS{FS: aferofs.Mem()}
		twist(t)
		return t
	}
}

// opened is a File that is to be broken, and how it came about.
type opened struct {
	*twistFile
	fsys fsio.FS
	path string
	flag int
}

// onFile breaks each File.
func onFile(twist func(f opened)) breakage {
	return onFS(func(t *twistFS) { twistFiles(t, twist) })
}

func twistFiles(t *twistFS, twist func(f opened)) {
	inner := t.FS
	t.openFile = func(name string, flag int, perm fs.FileMode) (fsio.File, error) {
		f, err := inner.OpenFile(name, flag, perm)
		if err != nil {
			return nil, err
		}
		o := opened{&twistFile{File: f}, inner, name, flag}
		twist(o)
		return o.twistFile, nil
	}
}

// mapped is a Map that is to be broken, and what it is of.
type mapped struct {
	*twistMap
	file fsio.File
	prot fsio.Prot
}

// onMap breaks each Map.
func onMap(twist func(m mapped)) breakage {
	return onFile(func(f opened) {
		f.mapped = func(size int64, prot fsio.Prot) (fsio.Map, error) {
			m, err := f.File.Map(size, prot)
			if err != nil {
				return nil, err
			}
			o := mapped{&twistMap{Map: m}, f.File, prot}
			twist(o)
			return o.twistMap, nil
		}
	})
}

// onCall breaks what an Interceptor can break.
func onCall(i fsio.Interceptor) breakage {
	return func(testing.TB) fsio.FS { return fsio.Intercept(aferofs.Mem(), i) }
}
