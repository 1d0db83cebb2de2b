package faultfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/faultfs"
)

// content is what is in the files of a lab at first, written what is written into them, at position 4.
const (
	content = "0123456789abcdef"
	written = "ABCDEFGH"
)

// lab is a filesystem under faults, with two folders of equal content: victim and witness.
type lab struct {
	disk   fsio.FS // under all that watches
	faults *faultfs.Faults
	fsys   fsio.FS

	mu    sync.Mutex
	made  []fsio.Kind // the calls that came through the faults
	alive int         // Files, Maps and locks
}

// folder is what calls are made on.
type folder struct {
	*lab
	dir  string
	file fsio.File
	m    fsio.Map
	lock io.Closer
}

// holder hides that an FS is an intercepted one, so that a further Intercept wraps it, and sees what the
// outer one closes by itself.
type holder struct{ fsio.FS }

func newLab(tb testing.TB, disk fsio.FS) (l *lab, victim, witness *folder) {
	tb.Helper()
	l = &lab{disk: disk, faults: faultfs.New(1)}
	watched := holder{fsio.Intercept(disk, l.countAlive)}
	l.fsys = fsio.Intercept(watched, fsio.Chain(l.faults.Intercept, l.noteMade))
	victim, witness = l.newFolder(tb, "victim"), l.newFolder(tb, "witness")
	return l, victim, witness
}

func (l *lab) newFolder(tb testing.TB, dir string) *folder {
	tb.Helper()
	d := &folder{lab: l, dir: dir}
	require.NoError(tb, l.fsys.MkdirAll(dir, 0o755))
	d.file = create(tb, l.fsys, d.name("file"), content)
	create(tb, l.fsys, d.name("doomed"), "")
	mapped := create(tb, l.fsys, d.name("mapped"), content)
	var err error
	d.m, err = mapped.Map(int64(len(content)), fsio.ReadWrite)
	require.NoError(tb, err)
	d.lock, err = l.fsys.Lock(d.name(".held"))
	require.NoError(tb, err)
	tb.Cleanup(func() { _, _ = d.m.Close(), d.lock.Close() })
	require.NoError(tb, l.fsys.Chtimes(d.name("file"), time.Unix(1000, 0)))
	return d
}

func (d *folder) name(base string) string { return path.Join(d.dir, base) }

func (l *lab) noteMade(op *fsio.Op, do func() error) error {
	l.mu.Lock()
	l.made = append(l.made, op.Kind)
	l.mu.Unlock()
	return do()
}

func (l *lab) countAlive(op *fsio.Op, do func() error) error {
	err := do()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
	case (fsio.OpOpen | fsio.OpCreate | fsio.Holds).Has(op.Kind):
		l.alive++
	case fsio.Closes.Has(op.Kind):
		l.alive--
	}
	return err
}

// takeMade is the calls that came through the faults since it was called before.
func (l *lab) takeMade() []fsio.Kind {
	l.mu.Lock()
	defer l.mu.Unlock()
	made := l.made
	l.made = nil
	return made
}

// outcome is what a call gave.
type outcome struct {
	n    int64
	data string
	err  error
}

func (o outcome) String() string { return fmt.Sprintf("%d %q %v", o.n, o.data, o.err) }

// opened is the outcome of a call that gives something to close, which is closed by the end of the test.
func opened[C io.Closer](tb testing.TB, c C, err error) outcome {
	tb.Helper()
	if err == nil {
		tb.Cleanup(func() { _ = c.Close() })
	}
	return outcome{err: err}
}

// calls makes one call of each kind, in an order in which all of them can be made one after the other.
var calls = []struct {
	kind fsio.Kind
	make func(tb testing.TB, d *folder) outcome
}{
	{fsio.OpOpen, func(tb testing.TB, d *folder) outcome {
		f, err := d.fsys.OpenFile(d.name("file"), os.O_RDWR, 0)
		return opened(tb, f, err)
	}},
	{fsio.OpCreate, func(tb testing.TB, d *folder) outcome {
		f, err := d.fsys.OpenFile(d.name("created"), os.O_RDWR|os.O_CREATE, 0o644)
		return opened(tb, f, err)
	}},
	{fsio.OpMkdirAll, func(_ testing.TB, d *folder) outcome {
		return outcome{err: d.fsys.MkdirAll(d.name("made"), 0o755)}
	}},
	{fsio.OpReadDir, func(_ testing.TB, d *folder) outcome {
		list, err := d.fsys.ReadDir(d.dir)
		return outcome{n: int64(len(list)), err: err}
	}},
	{fsio.OpStat, func(_ testing.TB, d *folder) outcome {
		info, err := d.fsys.Stat(d.name("file"))
		if err != nil {
			return outcome{err: err}
		}
		return outcome{n: info.Size(), data: info.Name()}
	}},
	{fsio.OpChtimes, func(_ testing.TB, d *folder) outcome {
		return outcome{err: d.fsys.Chtimes(d.name("file"), time.Unix(2000, 0))}
	}},
	{fsio.OpSyncDir, func(_ testing.TB, d *folder) outcome { return outcome{err: d.fsys.SyncDir(d.dir)} }},
	{fsio.OpReadAt, func(_ testing.TB, d *folder) outcome {
		b := make([]byte, 8)
		n, err := d.file.ReadAt(b, 4)
		return outcome{int64(n), string(b[:n]), err}
	}},
	{fsio.OpCopyTo, func(_ testing.TB, d *folder) outcome {
		var b bytes.Buffer
		n, err := d.file.CopyTo(&b, 4, 8)
		return outcome{n, b.String(), err}
	}},
	{fsio.OpWriteAt, func(_ testing.TB, d *folder) outcome {
		n, err := d.file.WriteAt([]byte(written), 4)
		return outcome{n: int64(n), err: err}
	}},
	{fsio.OpSize, func(_ testing.TB, d *folder) outcome {
		n, err := d.file.Size()
		return outcome{n: n, err: err}
	}},
	{fsio.OpAllocate, func(_ testing.TB, d *folder) outcome { return outcome{err: d.file.Allocate(20)} }},
	{fsio.OpTruncate, func(_ testing.TB, d *folder) outcome { return outcome{err: d.file.Truncate(6)} }},
	{fsio.OpSync, func(_ testing.TB, d *folder) outcome { return outcome{err: d.file.Sync()} }},
	{fsio.OpMap, func(tb testing.TB, d *folder) outcome {
		m, err := d.file.Map(6, fsio.ReadOnly)
		return opened(tb, m, err)
	}},
	{fsio.OpMapView, func(_ testing.TB, d *folder) outcome {
		var o outcome
		o.err = d.m.View(4, 8, fsio.ViewFunc(func(b []byte) error {
			o.n, o.data = int64(len(b)), string(b)
			return nil
		}))
		return o
	}},
	{fsio.OpMapWriteAt, func(_ testing.TB, d *folder) outcome {
		n, err := d.m.WriteAt([]byte(written), 4)
		return outcome{n: int64(n), err: err}
	}},
	{fsio.OpMapFlush, func(_ testing.TB, d *folder) outcome { return outcome{err: d.m.Flush(4, 8)} }},
	{fsio.OpMapResize, func(_ testing.TB, d *folder) outcome { return outcome{err: d.m.Resize(12)} }},
	{fsio.OpMapClose, func(_ testing.TB, d *folder) outcome { return outcome{err: d.m.Close()} }},
	{fsio.OpLock, func(tb testing.TB, d *folder) outcome {
		l, err := d.fsys.Lock(d.name(".taken"))
		return opened(tb, l, err)
	}},
	{fsio.OpUnlock, func(_ testing.TB, d *folder) outcome { return outcome{err: d.lock.Close()} }},
	{fsio.OpClose, func(_ testing.TB, d *folder) outcome { return outcome{err: d.file.Close()} }},
	{fsio.OpRename, func(_ testing.TB, d *folder) outcome {
		return outcome{err: d.fsys.Rename(d.name("file"), d.name("renamed"))}
	}},
	{fsio.OpRemove, func(_ testing.TB, d *folder) outcome { return outcome{err: d.fsys.Remove(d.name("doomed"))} }},
}

// callOf makes the call of a kind.
func (d *folder) callOf(tb testing.TB, kind fsio.Kind) outcome {
	tb.Helper()
	for _, c := range calls {
		if c.kind == kind {
			return c.make(tb, d)
		}
	}
	tb.Fatalf("no call of %v", kind)
	return outcome{}
}

// state is all that a call may change.
type state struct {
	files map[string]string // names of directories end in a slash
	held  map[string]bool   // the locks
	mtime string            // of victim/file
	alive int
}

// clone is a copy to be changed.
func (s state) clone() state {
	s.files = maps.Clone(s.files)
	return s
}

// look reads the state past the faults.
func (l *lab) look(tb testing.TB) state {
	tb.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := state{files: map[string]string{}, held: map[string]bool{}, alive: l.alive}
	for _, dir := range []string{"victim", "witness"} {
		list, err := l.disk.ReadDir(dir)
		require.NoError(tb, err)
		for _, entry := range list {
			name := path.Join(dir, entry.Name())
			switch {
			case entry.IsDir():
				s.files[name+"/"] = ""
			case entry.Name()[0] == '.':
				s.files[name] = ""
				lock, err := l.disk.Lock(name)
				if s.held[name] = errors.Is(err, fsio.ErrLocked); err == nil {
					require.NoError(tb, lock.Close())
				}
			default:
				s.files[name] = l.read(tb, name)
			}
		}
	}
	switch info, err := l.disk.Stat("victim/file"); {
	case errors.Is(err, fs.ErrNotExist):
	case info.ModTime().Equal(time.Unix(1000, 0)):
		s.mtime = "old"
	case info.ModTime().Equal(time.Unix(2000, 0)):
		s.mtime = "set"
	default:
		s.mtime = "now"
	}
	return s
}

func (l *lab) read(tb testing.TB, name string) string {
	tb.Helper()
	f, err := l.disk.OpenFile(name, os.O_RDONLY, 0)
	require.NoError(tb, err)
	size, err := f.Size()
	require.NoError(tb, err)
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	require.NoError(tb, err)
	require.NoError(tb, f.Close())
	return string(b)
}
