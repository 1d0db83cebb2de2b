package conformance_test

import (
	"os"
	"sync/atomic"
	"testing"

	"github.com/spf13/afero"

	"github.com/stratalog/strata/conformance"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
)

func mem(testing.TB) fsio.FS { return aferofs.Mem() }

func disk(tb testing.TB) fsio.FS { return newLab(tb).FS }

// smallOS is a disk of its own, or skips the test.
func smallOS(tb testing.TB) fsio.FS {
	fsys, err := newTmpfs(tb)
	if err != nil {
		tb.Skipf("no small disk here: %v", err)
	}
	return fsys
}

func overOS(tb testing.TB) fsio.FS {
	return aferofs.New(afero.NewBasePathFs(afero.NewOsFs(), tb.TempDir()))
}

// overShort is over a base that moves a few bytes a call, and says so without an error (S-03).
func overShort(tb testing.TB) fsio.FS {
	return aferofs.New(&shortBase{Fs: afero.NewBasePathFs(afero.NewOsFs(), tb.TempDir())})
}

// shortBase is a filesystem whose reads and writes end early, every second one.
type shortBase struct {
	afero.Fs
	calls atomic.Int64
}

func (b *shortBase) Create(name string) (afero.File, error) { return b.short(b.Fs.Create(name)) }

func (b *shortBase) Open(name string) (afero.File, error) { return b.short(b.Fs.Open(name)) }

func (b *shortBase) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	return b.short(b.Fs.OpenFile(name, flag, perm))
}

func (b *shortBase) short(f afero.File, err error) (afero.File, error) {
	if err != nil {
		return nil, err
	}
	return &shortFile{File: f, base: b}, nil
}

// shortFile is a file of a shortBase.
type shortFile struct {
	afero.File
	base *shortBase
}

// part is what a call moves of p: all, or 1, 7 or 511 bytes.
func (f *shortFile) part(p []byte) []byte {
	n := f.base.calls.Add(1)
	if n%2 == 0 {
		return p
	}
	return p[:min(len(p), []int{1, 7, 511}[n/2%3])]
}

func (f *shortFile) ReadAt(p []byte, off int64) (int, error) { return f.File.ReadAt(f.part(p), off) }

func (f *shortFile) WriteAt(p []byte, off int64) (int, error) { return f.File.WriteAt(f.part(p), off) }

// seen is newFS behind an Interceptor that changes nothing.
func seen(newFS conformance.NewFS) conformance.NewFS {
	return func(tb testing.TB) fsio.FS {
		inner := newFS(tb)
		outer := fsio.Intercept(inner, func(_ *fsio.Op, do func() error) error { return do() })
		planter, canPlant := inner.(conformance.Planter)
		neighbour, hasNeighbour := inner.(conformance.Neighbour)
		filler, canFill := inner.(conformance.Filler)
		switch {
		case canPlant && hasNeighbour:
			return struct {
				fsio.FS
				conformance.Planter
				conformance.Neighbour
			}{outer, planter, neighbour}
		case canFill:
			return struct {
				fsio.FS
				conformance.Filler
			}{outer, filler}
		}
		return outer
	}
}

func smallMem(testing.TB) fsio.FS { return newSmallDisk() }

// aferoSkips are the rows that New cannot pass over any base.
var aferoSkips = conformance.Skip{
	"a lock excludes other processes":      "afero has no locks: those of aferofs.New are of one FS",
	"the end of a process frees its locks": "afero has no locks: those of aferofs.New are of one FS",
}

func TestFS(t *testing.T) {
	for _, subject := range []struct {
		name  string
		newFS conformance.NewFS
		skip  conformance.Skip
	}{
		{"mem", mem, nil},
		{"os", disk, nil},
		{"small os", smallOS, smallSkips},
		{"afero", overOS, aferoSkips},
		{"afero short", overShort, aferoSkips},
		{"small", smallMem, nil},
		{"crash", crash, nil},
		{"small crash", smallCrash, nil},
	} {
		t.Run(subject.name, func(t *testing.T) { conformance.TestFS(t, subject.newFS, subject.skip) })
		t.Run(subject.name+" intercepted", func(t *testing.T) {
			if testing.Short() && subject.name != "mem" {
				t.Skip("not in short mode")
			}
			conformance.TestFS(t, seen(subject.newFS), subject.skip)
		})
	}
}
