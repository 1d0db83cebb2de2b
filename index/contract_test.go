package index_test

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// The golden vectors of one entry.
func TestBytes(t *testing.T) {
	for _, row := range []struct {
		name  string
		l     index.Layout
		e     index.Entry
		bytes string
	}{
		{"offset", index.OffsetLayout, index.Entry{Key: 55, Value: 1234}, "00000005 000004d2"},
		{"time", index.TimeLayout, index.Entry{Key: 1700000000000, Value: 55}, "0000018bcfe56800 00000005"},
		{"wide", index.Layout{KeyBytes: 8, ValueBytes: 8, KeyRelative: true}, index.Entry{Key: 55, Value: -2}, "0000000000000005 fffffffffffffffe"},
		{"narrow", index.Layout{KeyBytes: 4, ValueBytes: 8, ValueRelative: true}, index.Entry{Key: 7, Value: 51}, "00000007 0000000000000001"},
	} {
		t.Run(row.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w world) {
				o := index.Options{Layout: row.l, Base: 50}
				fill(t, w.opened(t, o), row.e)
				size := row.l.EntryBytes()
				data := read(t, w.fsys, name)
				assert.Len(t, data, 10<<20-10<<20%size)
				assert.Equal(t, unhex(t, row.bytes), data[:size])
				assert.Equal(t, make([]byte, len(data)-size), data[size:])

				x, err := w.open(w.fsys, name+"2", o)
				require.NoError(t, err)
				require.NoError(t, x.Close())
				write(t, w.fsys, name+"2", unhex(t, row.bytes))
				o.Sealed = true
				x, err = w.open(w.fsys, name+"2", o)
				require.NoError(t, err)
				assert.Equal(t, []index.Entry{row.e}, all(x))
				require.NoError(t, x.Close())
			})
		})
	}
}

func TestBadOptions(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		for _, o := range []index.Options{
			{},
			{Layout: index.Layout{KeyBytes: 4, ValueBytes: 3}},
			{Layout: index.Layout{KeyBytes: 16, ValueBytes: 4}},
			{Layout: index.OffsetLayout, Base: -1},
		} {
			_, err := w.open(w.fsys, name, o)
			assert.ErrorIs(t, err, index.ErrRange, "%+v", o)
		}
		assert.Empty(t, names(t, w.fsys))
	})
}

func TestSeal(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, times(30))
		fill(t, x, steps(3)...)
		assert.Len(t, read(t, w.fsys, name), 360)
		require.NoError(t, x.Seal())
		assert.Len(t, read(t, w.fsys, name), 36)
		require.NoError(t, x.Seal())
		assert.ErrorIs(t, x.Append(index.Entry{Key: 1000, Value: 1000}), fs.ErrClosed)
		assert.Equal(t, steps(3), all(x))
		assert.Equal(t, steps(3)[1], look(x, 25))
		require.NoError(t, x.Sync())

		require.NoError(t, x.Truncate(1), "also what is sealed can be cut")
		assert.Equal(t, steps(1), all(x))
		require.NoError(t, x.Seal())
		require.NoError(t, x.Close())
		assert.Len(t, read(t, w.fsys, name), 12)
	})
}

// I-04 (KAFKA-593, KAFKA-6492): what is opened to be appended to has its room again.
func TestI04RoomAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		for _, kept := range []int{0, 2, 5} {
			file := fmt.Sprint(kept)
			x, err := w.open(w.fsys, file, times(5))
			require.NoError(t, err)
			fill(t, x, steps(5)...)
			require.NoError(t, x.Seal())
			require.NoError(t, x.Truncate(kept))
			require.NoError(t, x.Close())
			x, err = w.open(w.fsys, file, times(20))
			require.NoError(t, err)
			assert.Equal(t, steps(5)[:kept], append([]index.Entry{}, all(x)...))
			fill(t, x, steps(20)[kept:]...)
			assert.Equal(t, steps(20), all(x))
			assert.Len(t, read(t, w.fsys, file), 240)
			require.NoError(t, x.Close())
		}
	})
}

func TestTruncateRange(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, times(30))
		assert.ErrorIs(t, x.Truncate(1), index.ErrRange)
		fill(t, x, steps(3)...)
		assert.ErrorIs(t, x.Truncate(-1), index.ErrRange)
		assert.ErrorIs(t, x.Truncate(4), index.ErrRange)
		require.NoError(t, x.Truncate(3))
		assert.Equal(t, steps(3), all(x))
		assert.Len(t, read(t, w.fsys, name), 360)
	})
}

func TestClosed(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, times(30))
		fill(t, x, steps(3)...)
		require.NoError(t, x.Close())
		require.NoError(t, x.Close())
		assert.ErrorIs(t, x.Append(steps(4)[3]), fs.ErrClosed)
		assert.ErrorIs(t, x.Truncate(0), fs.ErrClosed)
		assert.ErrorIs(t, x.Seal(), fs.ErrClosed)
		assert.ErrorIs(t, x.Sync(), fs.ErrClosed)
		assert.Len(t, read(t, w.fsys, name), 36)
	})
}

func TestOpenErrors(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		o := times(3)
		o.ReadOnly = true
		_, err := w.open(w.fsys, name, o)
		assert.ErrorIs(t, err, fs.ErrNotExist)
		assert.Empty(t, names(t, w.fsys))
		require.NoError(t, w.fsys.MkdirAll(name, 0o755))
		_, err = w.open(w.fsys, name, times(3))
		assert.ErrorIs(t, err, syscall.EISDIR)
	})
}

// killed is the index of a broker that was killed: entries, and reserved space behind them.
func killed(t testing.TB, w world, o index.Options, entries ...index.Entry) []byte {
	t.Helper()
	x, err := w.open(w.fsys, "killed", o)
	require.NoError(t, err)
	fill(t, x, entries...)
	data := read(t, w.fsys, "killed")
	require.NoError(t, x.Close())
	require.NoError(t, w.fsys.Remove("killed"))
	write(t, w.fsys, name, data)
	return data
}

// The tail of zeros that a crash leaves is damage, and for who only reads, none.
func TestZeroTail(t *testing.T) {
	for _, options := range []func(int64) index.Options{offsets, times} {
		for _, n := range []int64{0, 1, 2, 28, 29, 30} {
			t.Run(fmt.Sprintf("%d bytes, %d entries", options(1).MaxBytes, n), func(t *testing.T) {
				everywhere(t, func(t *testing.T, w world) {
					o := options(30)
					entries := []index.Entry{}
					for i := range n {
						entries = append(entries, index.Entry{Key: 50 + i, Value: 45 + i})
					}
					data := killed(t, w, o, entries...)
					for _, o.Check = range []bool{false, true} {
						if _, err := w.open(w.fsys, name, o); n < 30 {
							assert.ErrorIs(t, err, index.ErrCorrupt)
						}
						readOnly := o
						readOnly.ReadOnly = true
						x := w.opened(t, readOnly)
						assert.Equal(t, entries, all(x))
						if n > 0 {
							assert.Equal(t, entries[n-1], look(x, 1000))
						}
						require.NoError(t, x.Close())
						assert.Equal(t, data, read(t, w.fsys, name))
					}
				})
			})
		}
	}
}

// Every entry is looked at with Check only: what Kafka lets pass has its holes found.
func TestCheck(t *testing.T) {
	for _, row := range []struct {
		name  string
		bytes string // before the last entry
		pos   int64  // of the damage; −1: none
	}{
		{"falling key", "00000001 00000001 00000003 00000002 00000002 00000003", 16},
		{"equal keys", "00000001 00000001 00000001 00000002 00000002 00000003", 8},
		{"falling position", "00000001 00000001 00000002 00000000 00000003 00000003", 8},
		{"equal positions", "00000001 00000001 00000002 00000001 00000003 00000003", -1},
		{"offset below the base", "00000001 00000001 ffffffff 00000002 00000003 00000003", 8},
		{"negative position", "00000001 00000001 00000002 80000000 00000003 00000003", 8},
		{"hole", "00000001 00000001 00000000 00000000 00000003 00000003", 8},
	} {
		t.Run(row.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w world) {
				data := unhex(t, row.bytes+"00000009 00000009")
				write(t, w.fsys, name, data)
				o := offsets(3)
				for _, o.ReadOnly = range []bool{false, true} {
					o.Check = false
					x := w.opened(t, o)
					assert.Equal(t, 4, x.Len())
					require.NoError(t, x.Close())
					o.Check = true
					x, err := w.open(w.fsys, name, o)
					if row.pos < 0 {
						require.NoError(t, err)
						assert.Equal(t, 4, x.Len())
						require.NoError(t, x.Close())
						continue
					}
					require.ErrorIs(t, err, index.ErrCorrupt)
					var place *fsio.PosError
					require.ErrorAs(t, err, &place)
					assert.Equal(t, name, place.Path)
					assert.Equal(t, row.pos, place.Pos)
				}
				assert.Equal(t, data, read(t, w.fsys, name))
			})
		})
	}
}

// ReadOnly works where writing is not allowed, and refuses to write.
func TestReadOnly(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, times(30))
		fill(t, x, steps(3)...)
		require.NoError(t, x.Close())
		data := read(t, w.fsys, name)

		w.fsys = fsio.Intercept(w.fsys, func(op *fsio.Op, do func() error) error {
			if fsio.Mutates.Has(op.Kind) && !fsio.Syncs.Has(op.Kind) {
				t.Errorf("%v of %s", op.Kind, op.Path)
			}
			return do()
		})
		o := times(30)
		o.ReadOnly = true
		x = w.opened(t, o)
		assert.Equal(t, steps(3), all(x))
		assert.ErrorIs(t, x.Append(steps(4)[3]), fs.ErrPermission)
		assert.ErrorIs(t, x.Truncate(1), fs.ErrPermission)
		require.NoError(t, x.Seal())
		require.NoError(t, x.Sync())
		require.NoError(t, x.Close())
		assert.Equal(t, data, read(t, w.fsys, name))
	})
}

// A sealed index is not touched by opening and closing it.
func TestSealedUntouched(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, times(30))
		fill(t, x, steps(3)...)
		require.NoError(t, x.Close())
		o := times(30)
		o.Sealed = true
		watched := world{fsio.Intercept(w.fsys, func(op *fsio.Op, do func() error) error {
			if fsio.Mutates.Has(op.Kind) && op.Kind != fsio.OpCreate {
				t.Errorf("%v of %s", op.Kind, op.Path)
			}
			return do()
		}), w.open}
		x = watched.opened(t, o)
		assert.Equal(t, steps(3), all(x))
		assert.ErrorIs(t, x.Append(steps(4)[3]), fs.ErrClosed)
		require.NoError(t, x.Seal())
		require.NoError(t, x.Close())

		x, err := w.open(w.fsys, "missing", o)
		require.NoError(t, err, "a missing file is made, empty")
		require.NoError(t, x.Close())
		assert.Empty(t, read(t, w.fsys, "missing"))
	})
}

// An index keeps its bytes in the file that it opened: a segment renames it.
func TestRenamed(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, times(30))
		fill(t, x, steps(3)...)
		require.NoError(t, w.fsys.Rename(name, "other"))
		fill(t, x, steps(4)[3])
		require.NoError(t, x.Truncate(2))
		fill(t, x, steps(3)[2])
		require.NoError(t, x.Close())
		assert.Len(t, read(t, w.fsys, "other"), 36)
		assert.Equal(t, []string{"other"}, names(t, w.fsys))
	})
}

func TestEntries(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys fsio.FS) {
		collect := func(l index.Layout) (entries []index.Entry, err error) {
			for e, err := range index.Entries(fsys, name, l, 45) {
				if err != nil {
					return entries, err
				}
				entries = append(entries, e)
			}
			return entries, nil
		}
		_, err := collect(index.OffsetLayout)
		assert.ErrorIs(t, err, fs.ErrNotExist)
		_, err = collect(index.Layout{})
		assert.ErrorIs(t, err, index.ErrRange)

		write(t, fsys, name, unhex(t, "00000002 00000003 00000001 00000001 00000000 00000000 ffffffff 80000000 0000"))
		entries, err := collect(index.OffsetLayout)
		assert.ErrorIs(t, err, index.ErrCorrupt)
		assert.Equal(t, []index.Entry{{Key: 47, Value: 3}, {Key: 46, Value: 1}, {Key: 45}, {Key: 44, Value: -1 << 31}}, entries)

		write(t, fsys, name, make([]byte, 24<<10))
		entries, err = collect(index.TimeLayout)
		require.NoError(t, err)
		assert.Len(t, entries, 2048)
		assert.Equal(t, index.Entry{Key: 0, Value: 45}, entries[2047])
		for range index.Entries(fsys, name, index.TimeLayout, 45) {
			break
		}
	})
}
