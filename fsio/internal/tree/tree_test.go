package tree_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/internal/tree"
)

// ledger is a Volume that notes what it is told, and may refuse.
type ledger struct {
	notes  []string
	refuse error
	files  map[uint64]*page
}

func newLedger() *ledger { return &ledger{files: map[uint64]*page{}} }

func (l *ledger) note(format string, args ...any) error {
	if l.refuse == nil {
		l.notes = append(l.notes, fmt.Sprintf(format, args...))
	}
	return l.refuse
}

func (l *ledger) Load(tree.Place) ([]tree.Found, error) { return nil, nil }

func (l *ledger) Create(at tree.Place, _ fs.FileMode) error {
	l.files[at.Inode] = &page{}
	return l.note("create %d/%s %d", at.Dir, at.Element, at.Inode)
}

func (l *ledger) Mkdir(at tree.Place, _ fs.FileMode) error {
	return l.note("mkdir %d/%s %d", at.Dir, at.Element, at.Inode)
}

func (l *ledger) Rename(from, to tree.Place) error {
	return l.note("rename %d/%s %d to %d/%s over %d", from.Dir, from.Element, from.Inode, to.Dir, to.Element, to.Inode)
}

func (l *ledger) Remove(at tree.Place) error {
	return l.note("remove %d/%s %d", at.Dir, at.Element, at.Inode)
}

func (l *ledger) Chtimes(at tree.Place, mtime time.Time) error {
	return l.note("chtimes %s %d", at.Path, mtime.UnixMilli())
}

func (l *ledger) SyncDir(at tree.Place) error { return l.note("syncdir %s", at.Path) }

func (l *ledger) Open(at tree.Place, _ bool) (tree.Content, bool, error) {
	return l.files[at.Inode], true, l.note("open %d", at.Inode)
}

func (l *ledger) Forget(inode uint64, _ string) {
	l.notes = append(l.notes, fmt.Sprint("forget ", inode))
}

// page is a Content of at most so many bytes; 0 is no limit.
type page struct {
	b    []byte
	room int
	err  error
}

func (p *page) ReadAt(b []byte, off int64) error {
	clear(b)
	if off < int64(len(p.b)) {
		copy(b, p.b[off:])
	}
	return p.err
}

func (p *page) WriteAt(b []byte, off int64) (int, error) {
	n := len(b)
	if p.room > 0 {
		n = min(n, max(p.room-int(off), 0))
	}
	if end := int(off) + n; end > len(p.b) {
		p.b = append(p.b, make([]byte, end-len(p.b))...)
	}
	copy(p.b[off:], b[:n])
	if n < len(b) {
		return n, syscall.ENOSPC
	}
	return n, p.err
}

func (p *page) Store(b []byte, off int64) (int, error) { return p.WriteAt(b, off) }
func (p *page) Truncate(size int64) error              { p.b = p.b[:min(len(p.b), int(size))]; return p.err }
func (p *page) Allocate(int64) error                   { return p.err }
func (p *page) Sync() error                            { return p.err }
func (p *page) Flush(int64, int64) error               { return p.err }
func (p *page) Close() error                           { return p.err }

func newTree(v tree.Volume) *tree.Tree { return tree.New(v, tree.Options{Now: time.Now}) }

func makeFile(t *testing.T, fsys fsio.FS, name string) fsio.File {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	return f
}

// TestTreeTellsItsVolume plays changes, and reads what the Volume was told.
func TestTreeTellsItsVolume(t *testing.T) {
	v := newLedger()
	fsys := newTree(v)
	require.NoError(t, fsys.MkdirAll("d/e", 0o755))
	f := makeFile(t, fsys, "d/f")
	g := makeFile(t, fsys, "g")
	again := makeFile(t, fsys, "g")
	require.NoError(t, fsys.Rename("g", "d/f"))
	require.NoError(t, fsys.Rename("d/f", "d/f"))
	require.NoError(t, f.Close())
	require.NoError(t, fsys.SyncDir("d"))
	require.NoError(t, fsys.Chtimes("d/f", time.UnixMilli(7)))
	m, err := g.Map(0, fsio.ReadOnly)
	require.NoError(t, err)
	require.NoError(t, fsys.Remove("d/f"))
	require.NoError(t, g.Close())
	require.NoError(t, again.Close())
	require.NoError(t, m.Close())
	require.NoError(t, fsys.Remove("d/e"))
	want := []string{
		"mkdir 1/d 2", "mkdir 2/e 3", "create 2/f 4", "open 4", "create 1/g 5", "open 5",
		"rename 1/g 5 to 2/f over 4", "forget 4", "syncdir d", "chtimes d/f 7", "remove 2/f 5", "forget 5",
		"remove 2/e 3", "forget 3",
	}
	require.Equal(t, strings.Join(want, "\n"), strings.Join(v.notes, "\n"))
}

// TestTreeAbidesByItsVolume checks that what a Volume refuses is not done.
func TestTreeAbidesByItsVolume(t *testing.T) {
	v := newLedger()
	fsys := newTree(v)
	require.NoError(t, makeFile(t, fsys, "f").Close())
	v.refuse = syscall.EIO
	_, err := fsys.OpenFile("new", os.O_RDWR|os.O_CREATE, 0o644)
	require.ErrorIs(t, err, syscall.EIO)
	require.ErrorIs(t, fsys.Rename("f", "g"), syscall.EIO)
	require.ErrorIs(t, fsys.Remove("f"), syscall.EIO)
	require.ErrorIs(t, fsys.MkdirAll("d", 0o755), syscall.EIO)
	require.ErrorIs(t, fsys.Chtimes("f", time.UnixMilli(1)), syscall.EIO)
	require.ErrorIs(t, fsys.SyncDir("."), syscall.EIO)
	v.refuse = nil
	entries, err := fsys.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "f", entries[0].Name())
}

// TestTreeOnAFullDisk checks what a Content's ENOSPC becomes.
func TestTreeOnAFullDisk(t *testing.T) {
	v := newLedger()
	f := makeFile(t, newTree(v), "f")
	require.NoError(t, f.Truncate(100))
	v.files[2].room = 10
	n, err := f.WriteAt([]byte("0123456789"), 4)
	require.Equal(t, 6, n)
	require.ErrorIs(t, err, syscall.ENOSPC)
	m, err := f.Map(100, fsio.ReadWrite)
	require.NoError(t, err)
	n, err = m.WriteAt([]byte("abcdef"), 8)
	require.Equal(t, 2, n)
	fault, ok := errors.AsType[*fsio.FaultError](err)
	require.True(t, ok, "%v is no fault", err)
	require.Equal(t, fsio.FaultError{Path: "f", Off: 8, Size: 6, Err: syscall.ENOSPC}, *fault)
	v.files[2].err = syscall.EDOM
	err = m.View(0, 100, fsio.ViewFunc(func([]byte) error { return nil }))
	require.ErrorIs(t, err, syscall.EIO, "a fault for any other reason")
}
