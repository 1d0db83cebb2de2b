package index_test

import (
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// faulty makes calls of some kinds fail, and counts what is open.
type faulty struct {
	kinds fsio.Kind
	err   error
	open  int
}

func (f *faulty) wrap(w world) world {
	return world{fsio.Intercept(w.fsys, func(op *fsio.Op, do func() error) error {
		if f.kinds&op.Kind != 0 {
			return f.err
		}
		err := do()
		switch {
		case err != nil:
		case op.Kind&(fsio.OpOpen|fsio.OpCreate|fsio.OpMap) != 0:
			f.open++
		case op.Kind&(fsio.OpClose|fsio.OpMapClose) != 0:
			f.open--
		}
		return err
	}), w.open}
}

// fails makes calls of these kinds fail.
func (f *faulty) fails(kinds fsio.Kind, err error) { f.kinds, f.err = kinds, err }

// heal lets all calls succeed again.
func (f *faulty) heal() { f.kinds = 0 }

// onMaps runs test where an index is mapped.
func onMaps(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	onBoth(t, func(t *testing.T, fsys fsio.FS) { test(t, world{fsys, index.OpenMmap}) })
}

// Where a map cannot be read, a look-up finds nothing, and the next call that has an error to give gives
// the cause, once.
func TestViewFault(t *testing.T) {
	for _, row := range []struct {
		name   string
		call   func(x index.Index) error
		sticky bool
	}{
		{"Append", func(x index.Index) error { return x.Append(steps(4)[3]) }, false},
		{"Truncate", func(x index.Index) error { return x.Truncate(2) }, false},
		{"Seal", func(x index.Index) error { return x.Seal() }, false},
		{"Sync", func(x index.Index) error { return x.Sync() }, true},
		{"Close", func(x index.Index) error { return x.Close() }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			onMaps(t, func(t *testing.T, w world) {
				var f faulty
				x := f.wrap(w).opened(t, times(30))
				fill(t, x, steps(3)...)
				f.fails(fsio.OpMapView, syscall.EIO)
				assert.Equal(t, none, look(x, 20))
				assert.Equal(t, index.Entry{}, x.At(1))
				assert.Equal(t, 3, x.Len())
				f.heal()
				assert.Equal(t, steps(2)[1], look(x, 20))
				assert.ErrorIs(t, row.call(x), syscall.EIO)
				if row.name != "Close" {
					assert.Equal(t, steps(3), all(x), "nothing was done")
				}
				if row.sticky {
					assert.ErrorIs(t, row.call(x), syscall.EIO)
				} else {
					assert.NoError(t, row.call(x))
				}
			})
		})
	}
}

// I-17: somebody cuts the file under the mapping. The process goes on, and the file is not made longer.
func TestI17CutUnderneath(t *testing.T) {
	onMaps(t, func(t *testing.T, w world) {
		o := index.Options{Layout: index.OffsetLayout, MaxBytes: 64 << 10}
		x, err := w.open(w.fsys, name, o)
		require.NoError(t, err)
		for i := range int64(4096) {
			fill(t, x, index.Entry{Key: i, Value: i})
		}
		other, err := w.fsys.OpenFile(name, os.O_RDWR, 0)
		require.NoError(t, err)
		require.NoError(t, other.Truncate(0))
		assert.Equal(t, none, look(x, 4000))
		err = x.Append(index.Entry{Key: 5000, Value: 5000})
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.ErrorAs(t, err, new(*fsio.FaultError))
		assert.ErrorAs(t, x.Append(index.Entry{Key: 5000, Value: 5000}), new(*fsio.FaultError), "a store faults, too")
		assert.Equal(t, 4096, x.Len())
		require.NoError(t, x.Close())
		require.NoError(t, other.Close())
		assert.Empty(t, read(t, w.fsys, name))
	})
}

// What fails changes nothing, and can be done again once its cause is gone.
func TestFailedCalls(t *testing.T) {
	for _, row := range []struct {
		name  string
		kinds fsio.Kind // one of them is made
		call  func(x index.Index) error
		after []index.Entry
	}{
		{"Append", fsio.Writes, func(x index.Index) error { return x.Append(steps(4)[3]) }, steps(4)},
		{"Seal", fsio.OpMapResize | fsio.OpTruncate, func(x index.Index) error { return x.Seal() }, steps(3)},
	} {
		t.Run(row.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w world) {
				var f faulty
				x := f.wrap(w).opened(t, times(30))
				fill(t, x, steps(3)...)
				f.fails(row.kinds, syscall.ENOSPC)
				assert.ErrorIs(t, row.call(x), syscall.ENOSPC)
				assert.Equal(t, steps(3), all(x))
				f.heal()
				require.NoError(t, row.call(x))
				assert.Equal(t, row.after, all(x))
			})
		})
	}
}

// Truncate needs another mapping, where the appender must not disturb readers.
func TestFailedTruncate(t *testing.T) {
	for _, kind := range []fsio.Kind{fsio.OpMap, fsio.OpMapClose, fsio.OpMapView} {
		t.Run(kind.String(), func(t *testing.T) {
			onMaps(t, func(t *testing.T, w world) {
				var f faulty
				x := f.wrap(w).opened(t, times(30))
				fill(t, x, steps(5)...)
				f.fails(kind, syscall.ENOMEM)
				assert.ErrorIs(t, x.Truncate(2), syscall.ENOMEM)
				f.heal()
				assert.Equal(t, steps(5), all(x))
				fill(t, x, steps(6)[5])
				require.NoError(t, x.Truncate(2))
				fill(t, x, steps(3)[2])
				assert.Equal(t, steps(3), all(x))
			})
		})
	}
}

// After a failed Sync nothing is believed any more.
func TestFailedSync(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		var f faulty
		x := f.wrap(w).opened(t, times(30))
		fill(t, x, steps(3)...)
		f.fails(fsio.OpSync, syscall.EIO)
		assert.ErrorIs(t, x.Sync(), syscall.EIO)
		f.heal()
		assert.ErrorIs(t, x.Sync(), syscall.EIO)
		assert.ErrorIs(t, x.Append(steps(4)[3]), syscall.EIO)
		assert.Equal(t, steps(3), all(x))
		require.NoError(t, x.Truncate(2))
		require.NoError(t, x.Seal())
	})
}

// I-16 and a full disk: where it cannot be opened it says so, and leaves nothing open and the file as it was.
func TestI16FailedOpen(t *testing.T) {
	for _, row := range []struct {
		name  string
		kinds fsio.Kind
		err   error
	}{
		{"size", fsio.OpSize, syscall.EIO},
		{"read", fsio.OpReadAt, syscall.EIO},
		{"allocate", fsio.OpAllocate, syscall.ENOSPC},
		{"map", fsio.OpMap, syscall.ENOMEM},
	} {
		t.Run(row.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w world) {
				var f faulty
				failing := f.wrap(w)
				x := failing.opened(t, times(30))
				fill(t, x, steps(3)...)
				require.NoError(t, x.Close())
				f.fails(row.kinds, row.err)
				for _, check := range []bool{false, true} {
					o := times(30)
					o.Check = check
					y, err := failing.open(failing.fsys, name, o)
					if row.kinds == fsio.OpMap && err == nil { // it maps nothing
						require.NoError(t, y.Close())
						continue
					}
					require.ErrorIs(t, err, row.err)
				}
				assert.Equal(t, 0, f.open)
				f.heal()
				o := times(30)
				o.ReadOnly = true
				assert.Equal(t, steps(3), all(failing.opened(t, o)))
			})
		})
	}
}

// All that can go wrong while closing is reported, and it is closed all the same.
func TestFailedClose(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		for _, kind := range []fsio.Kind{fsio.OpSize, fsio.OpTruncate, fsio.OpClose} {
			var f faulty
			failing := f.wrap(w)
			x, err := failing.open(failing.fsys, kind.String(), times(30))
			require.NoError(t, err)
			f.fails(kind, syscall.EIO)
			assert.ErrorIs(t, x.Close(), syscall.EIO, "%v", kind)
			assert.NoError(t, x.Close())
			if kind != fsio.OpClose {
				assert.Equal(t, 0, f.open)
			}
		}
	})
}
