package conformance_test

import (
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
