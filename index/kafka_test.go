package index_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/index"
)

// The tests here are Kafka's own scenarios, by the ids of the inventory. Where Kafka answers an empty
// look-up with the base, an Index answers ok false.

// rising are n entries with keys and values above base and 0 by random steps.
func rising(rnd *rand.Rand, n int, base int64) []index.Entry {
	e := index.Entry{Key: base}
	entries := make([]index.Entry, n)
	for i := range entries {
		e.Key += 1 + rnd.Int64N(10)
		e.Value += 1 + rnd.Int64N(1000)
		entries[i] = e
	}
	return entries
}

// floor is the last of entries with at most key, found by trying them all.
func floor(entries []index.Entry, key int64) index.Entry {
	found := none
	for _, e := range entries {
		if e.Key <= key {
			found = e
		}
	}
	return found
}

// E1 randomLookupTest.
func TestE1RandomLookup(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, offsets(30))
		entries := rising(rand.New(rand.NewPCG(1, 1)), 30, 45)
		fill(t, x, entries...)
		for key := int64(40); key <= entries[29].Key+5; key++ {
			assert.Equal(t, floor(entries, key), look(x, key), "Lookup(%d)", key)
		}
	})
}

// E2 lookupExtremeCases.
func TestE2LookupExtremes(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, offsets(30))
		assert.Equal(t, none, look(x, 45))
		for i := range int64(30) {
			fill(t, x, index.Entry{Key: 45 + i + 1, Value: i})
		}
		last := index.Entry{Key: 75, Value: 29}
		assert.Equal(t, none, look(x, 45))
		assert.Equal(t, none, look(x, math.MinInt64))
		assert.Equal(t, last, look(x, 75))
		assert.Equal(t, last, look(x, 76))
		assert.Equal(t, last, look(x, math.MaxInt64))
	})
}

// E3 testEntry, testEntryOverflow.
func TestE3Entry(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, offsets(30))
		assert.Panics(t, func() { x.At(0) })
		for i := range int64(3) {
			fill(t, x, index.Entry{Key: 45 + i, Value: 10 * i})
		}
		for i := range int64(3) {
			assert.Equal(t, index.Entry{Key: 45 + i, Value: 10 * i}, x.At(int(i)))
		}
		assert.Panics(t, func() { x.At(-1) })
		assert.Panics(t, func() { x.At(3) })
	})
}

// E4 appendTooMany.
func TestE4AppendTooMany(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, offsets(30))
		for i := range int64(30) {
			fill(t, x, index.Entry{Key: 46 + i, Value: i})
		}
		want := all(x)
		for range 2 {
			assert.ErrorIs(t, x.Append(index.Entry{Key: 100, Value: 1000}), index.ErrFull)
			assert.Equal(t, want, all(x))
		}
	})
}

// E5 appendOutOfOrder.
func TestE5AppendOutOfOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, offsets(30))
		fill(t, x, index.Entry{Key: 51})
		assert.ErrorIs(t, x.Append(index.Entry{Key: 50, Value: 1}), index.ErrOrder)
		assert.ErrorIs(t, x.Append(index.Entry{Key: 51, Value: 1}), index.ErrOrder)
		assert.Equal(t, []index.Entry{{Key: 51}}, all(x))
	})
}

// E6 testFetchUpperBoundOffset: what Kafka calls the upper bound by position is the entry at CountBelowValue.
func TestE6FetchUpperBoundOffset(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, offsets(30))
		assert.Equal(t, 0, index.CountBelowValue(x, 5))
		entries := []index.Entry{{Key: 45, Value: 0}, {Key: 46, Value: 10}, {Key: 47, Value: 23}, {Key: 48, Value: 37}}
		fill(t, x, entries...)
		for _, row := range []struct{ start, size, want int64 }{
			{0, 5, 46}, {0, 10, 46}, {0, 22, 47}, {0, 23, 47}, {10, 24, 48}, {37, 1, -1}, {37, 200, -1},
		} {
			got := int64(-1)
			if i := index.CountBelowValue(x, row.start+row.size); i < x.Len() {
				got = x.At(i).Key
			}
			assert.Equal(t, row.want, got, "from %d, %d bytes", row.start, row.size)
		}
	})
}

// E7 testReopen.
func TestE7Reopen(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		first, second := index.Entry{Key: 51, Value: 0}, index.Entry{Key: 52, Value: 1}
		x := w.opened(t, offsets(30))
		fill(t, x, first, second)
		require.NoError(t, x.Close())
		assert.Len(t, read(t, w.fsys, name), 16)

		o := offsets(30)
		o.Sealed = true
		x = w.opened(t, o)
		assert.Equal(t, second, look(x, 52))
		assert.Error(t, x.Append(index.Entry{Key: 53, Value: 2}))
		require.NoError(t, x.Close())

		x = w.opened(t, offsets(3))
		third := index.Entry{Key: 53, Value: 2}
		fill(t, x, third)
		assert.ErrorIs(t, x.Append(index.Entry{Key: 54, Value: 3}), index.ErrFull)
		assert.Equal(t, []index.Entry{first, second, third}, all(x))
	})
}

// E8 truncate.
func TestE8Truncate(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		o := offsets(10)
		o.Base = 0
		x := w.opened(t, o)
		truncate := func(offset int64) {
			require.NoError(t, x.Truncate(index.CountBelow(x, offset)))
		}
		for i := int64(1); i < 10; i++ {
			fill(t, x, index.Entry{Key: i, Value: i})
		}
		for _, row := range []struct{ offset, last int64 }{{12, 9}, {10, 9}, {9, 8}, {5, 4}} {
			truncate(row.offset)
			assert.Equal(t, int(row.last), x.Len(), "truncated to %d", row.offset)
			assert.Equal(t, index.Entry{Key: row.last, Value: row.last}, look(x, 10), "truncated to %d", row.offset)
		}
		fill(t, x, index.Entry{Key: 9, Value: 9})
		require.NoError(t, x.Truncate(0))
		assert.Equal(t, 0, x.Len())
		assert.Equal(t, none, look(x, 10))
		fill(t, x, index.Entry{Key: 0, Value: 0})
		assert.Equal(t, []index.Entry{{}}, all(x))
	})
}

// E9 forceUnmapTest.
func TestE9Closed(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, offsets(10))
		fill(t, x, index.Entry{Key: 50, Value: 1})
		require.NoError(t, x.Close())
		assert.Equal(t, none, look(x, 50))
		assert.Equal(t, 0, x.Len())
		assert.Panics(t, func() { x.At(0) })
	})
}

// E10, E11 and E16: what passes the check of the last entry, and what is damage.
func TestE10E11E16Sanity(t *testing.T) {
	timeOf := index.Options{Layout: index.TimeLayout, Base: 45}
	offsetOf := index.Options{Layout: index.OffsetLayout, Base: 45}
	for _, row := range []struct {
		name  string
		o     index.Options
		bytes string
		want  int // −1: ErrCorrupt
	}{
		{"E10 last offset equal to the base", offsetOf, "00000000 00000007", 1},
		{"E11 empty", offsetOf, "", 0},
		{"E11 not a multiple of 8", offsetOf, "00000000 0000", -1},
		{"E11 a part at the end", offsetOf, "00000001 00000007 00", -1},
		{"E11 last offset below the base", offsetOf, "00000001 00000007 ffffffff 00000009", -1},
		{"E16 in order", timeOf, "0000000000000001 00000000 0000000000000002 00000000", 2},
		{"E16 last timestamp below the first", timeOf, "0000000000000002 00000000 0000000000000001 00000001", -1},
		{"E16 last offset below the base", timeOf, "0000000000000002 00000000 0000000000000003 80000000", -1},
		{"E16 not a multiple of 12", timeOf, "0000000000000002 000000", -1},
	} {
		t.Run(row.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w world) {
				data := unhex(t, row.bytes)
				write(t, w.fsys, name, data)
				x, err := w.open(w.fsys, name, row.o)
				if row.want < 0 {
					assert.ErrorIs(t, err, index.ErrCorrupt)
					assert.Equal(t, data, read(t, w.fsys, name), "with ErrCorrupt nothing is changed")
					return
				}
				require.NoError(t, err)
				assert.Equal(t, row.want, x.Len())
				require.NoError(t, x.Close())
				assert.Equal(t, data, read(t, w.fsys, name))
			})
		})
	}
}

// steps are entries i ≥ 1: timestamp 10·i, offset 45 + 10·i.
func steps(n int64) []index.Entry {
	entries := []index.Entry{}
	for i := int64(1); i <= n; i++ {
		entries = append(entries, index.Entry{Key: 10 * i, Value: 45 + 10*i})
	}
	return entries
}

// E12 testLookUp, E13 testEntry and testEntryOverflow, E18 testLastEntry, E20 the same of 0.10.1.
func TestE12E13E20TimeLookup(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, times(30))
		assert.Equal(t, none, look(x, 100))
		assert.Panics(t, func() { x.At(0) })
		fill(t, x, steps(29)...)
		for _, row := range []struct {
			timestamp int64
			want      index.Entry
		}{
			{9, none},
			{10, index.Entry{Key: 10, Value: 55}},
			{25, index.Entry{Key: 20, Value: 65}},
			{30, index.Entry{Key: 30, Value: 75}},
			{math.MaxInt64, index.Entry{Key: 290, Value: 335}},
		} {
			assert.Equal(t, row.want, look(x, row.timestamp), "Lookup(%d)", row.timestamp)
		}
		assert.Equal(t, index.Entry{Key: 10, Value: 55}, x.At(0))
		assert.Equal(t, index.Entry{Key: 40, Value: 85}, x.At(3))
	})
}

// E14 testTruncate, E20.
func TestE14TimeTruncate(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, times(30))
		fill(t, x, steps(29)...)
		require.NoError(t, x.Truncate(0))
		assert.Equal(t, 0, x.Len())
		fill(t, x, steps(29)...)
		require.NoError(t, x.Truncate(index.CountBelowValue(x, 45+10)))
		assert.Equal(t, 0, x.Len())
		fill(t, x, steps(29)...)
		require.NoError(t, x.Truncate(index.CountBelowValue(x, 45+35)))
		assert.Equal(t, steps(3), all(x))
	})
}

// E15 and E17: an Index takes entries until there is no room. That a time index counts as full one earlier
// is the segment's business.
func TestE15E17TimeAppend(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, times(30))
		fill(t, x, steps(29)...)
		assert.ErrorIs(t, x.Append(index.Entry{Key: 10000, Value: 45}), index.ErrOrder)
		assert.ErrorIs(t, x.Append(index.Entry{Key: 1, Value: 1000}), index.ErrOrder)
		assert.ErrorIs(t, x.Append(index.Entry{Key: 290, Value: 1000}), index.ErrOrder)
		fill(t, x, index.Entry{Key: 10000, Value: 1000})
		assert.Equal(t, 30, x.Len())
		assert.ErrorIs(t, x.Append(index.Entry{Key: 10001, Value: 1000}), index.ErrFull)
	})
}

// E18 testEntrySize, testTimeIndexOffsetOverflow.
func TestE18Range(t *testing.T) {
	assert.Equal(t, 8, index.OffsetLayout.EntryBytes())
	assert.Equal(t, 12, index.TimeLayout.EntryBytes())
	for _, row := range []struct {
		name string
		o    index.Options
		e    index.Entry
		want error
	}{
		{"offset below the base", offsets(3), index.Entry{Key: 44}, index.ErrRange},
		{"offset at the base", offsets(3), index.Entry{Key: 45}, nil},
		{"offset at the end", offsets(3), index.Entry{Key: 45 + math.MaxInt32}, nil},
		{"offset beyond", offsets(3), index.Entry{Key: 45 + math.MaxInt32 + 1}, index.ErrRange},
		{"offset far beyond", offsets(3), index.Entry{Key: math.MaxInt64}, index.ErrRange},
		{"offset far below", offsets(3), index.Entry{Key: math.MinInt64}, index.ErrRange},
		{"position at the end", offsets(3), index.Entry{Key: 45, Value: math.MaxInt32}, nil},
		{"position beyond", offsets(3), index.Entry{Key: 45, Value: math.MaxInt32 + 1}, index.ErrRange},
		{"negative position", offsets(3), index.Entry{Key: 45, Value: -1}, index.ErrRange},
		{"any timestamp", times(3), index.Entry{Key: math.MinInt64, Value: 45}, nil},
		{"any late timestamp", times(3), index.Entry{Key: math.MaxInt64, Value: 45}, nil},
		{"time: offset below the base", times(3), index.Entry{Key: 1, Value: 44}, index.ErrRange},
		{"time: offset at the end", times(3), index.Entry{Key: 1, Value: 45 + math.MaxInt32}, nil},
		{"time: offset beyond", times(3), index.Entry{Key: 1, Value: 45 + math.MaxInt32 + 1}, index.ErrRange},
	} {
		t.Run(row.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w world) {
				x := w.opened(t, row.o)
				if row.want != nil {
					assert.ErrorIs(t, x.Append(row.e), row.want)
					assert.Equal(t, 0, x.Len())
					return
				}
				fill(t, x, row.e)
				assert.Equal(t, row.e, x.At(0))
				assert.Equal(t, row.e, look(x, row.e.Key))
			})
		})
	}
}

// E19: an index is resized by opening it anew.
func TestE19Resize(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		for _, room := range []int64{30, 15, 60} {
			x, err := w.open(w.fsys, name, times(room))
			require.NoError(t, err)
			assert.Equal(t, steps(int64(x.Len())), all(x), "what was there stays")
			fill(t, x, steps(room)[x.Len():]...)
			assert.ErrorIs(t, x.Append(index.Entry{Key: 10000, Value: 10000}), index.ErrFull)
			require.NoError(t, x.Truncate(5))
			require.NoError(t, x.Close())
			assert.Len(t, read(t, w.fsys, name), 60)
		}
	})
}

// E31, I-13: around the warm section, of each size, every key, and the ones beside it, are found as by
// trying all entries.
func TestE31WarmSection(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		for _, o := range []index.Options{offsets(2100), times(1500)} {
			warm := 8192 / o.Layout.EntryBytes()
			check := func(x index.Index, entries []index.Entry) {
				for i, e := range entries {
					below := none
					if i > 0 {
						below = entries[i-1]
					}
					if got := look(x, e.Key-1); got != below {
						t.Fatalf("%d entries: Lookup(%d) = %v, want %v", len(entries), e.Key-1, got, below)
					}
					for _, key := range []int64{e.Key, e.Key + 1} {
						if got := look(x, key); got != e {
							t.Fatalf("%d entries: Lookup(%d) = %v, want %v", len(entries), key, got, e)
						}
					}
				}
			}
			x, err := w.open(w.fsys, fmt.Sprint(warm), o)
			require.NoError(t, err)
			var entries []index.Entry
			for i := range int64(2*warm + 3) {
				e := index.Entry{Key: 47 + 3*i, Value: 50 + i/2}
				fill(t, x, e)
				entries = append(entries, e)
				n := len(entries)
				if n <= 70 || n >= warm-2 && n <= warm+4 || n >= 2*warm-1 {
					check(x, entries)
				}
			}
			for v := int64(48); v < 60; v++ {
				want := sort.Search(len(entries), func(i int) bool { return entries[i].Value >= v })
				assert.Equal(t, want, index.CountBelowValue(x, v), "CountBelowValue(%d)", v)
			}
			require.NoError(t, x.Close())
		}
	})
}

// I-03, KAFKA-588: truncating where entries are, are not, and before the first.
func TestI03TruncateSparse(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		for _, row := range []struct {
			to   int64
			kept int
		}{{5, 0}, {10, 0}, {15, 1}, {20, 1}, {30, 2}, {31, 3}, {100, 3}} {
			x, err := w.open(w.fsys, fmt.Sprint(row.to), offsets(10))
			require.NoError(t, err)
			require.NoError(t, x.Truncate(index.CountBelow(x, 45+row.to)))
			entries := []index.Entry{{Key: 55, Value: 1}, {Key: 65, Value: 2}, {Key: 75, Value: 3}}
			fill(t, x, entries...)
			require.NoError(t, x.Truncate(index.CountBelow(x, 45+row.to)))
			fill(t, x, index.Entry{Key: 500, Value: 9})
			want := append(entries[:row.kept:row.kept], index.Entry{Key: 500, Value: 9})
			assert.Equal(t, want, all(x), "truncated to %d", row.to)
			require.NoError(t, x.Close())
			assert.Len(t, read(t, w.fsys, fmt.Sprint(row.to)), 8*(row.kept+1))
		}
	})
}

// I-12: sizes are rounded down to whole entries; too small is the caller's error.
func TestI12MaxBytes(t *testing.T) {
	for _, row := range []struct {
		maxBytes      int64
		offset, times int // entries; −1: ErrRange
	}{
		{1, -1, -1},
		{7, -1, -1},
		{8, 1, -1},
		{9, 1, -1},
		{12, 1, 1},
		{100, 12, 8},
		{4095, 511, 341},
		{4096, 512, 341},
		{245, 30, 20},
		{-1, -1, -1},
		{1 << 31, -1, -1},
	} {
		t.Run(fmt.Sprint(row.maxBytes), func(t *testing.T) {
			everywhere(t, func(t *testing.T, w world) {
				for layout, want := range map[index.Layout]int{index.OffsetLayout: row.offset, index.TimeLayout: row.times} {
					file := fmt.Sprint(layout.EntryBytes())
					x, err := w.open(w.fsys, file, index.Options{Layout: layout, MaxBytes: row.maxBytes})
					if want < 0 {
						assert.ErrorIs(t, err, index.ErrRange)
						continue
					}
					require.NoError(t, err)
					assert.Len(t, read(t, w.fsys, file), want*layout.EntryBytes())
					n := 0
					for ; err == nil; n++ {
						err = x.Append(index.Entry{Key: int64(n), Value: int64(n)})
					}
					assert.ErrorIs(t, err, index.ErrFull)
					assert.Equal(t, want, n-1)
					require.NoError(t, x.Close())
				}
			})
		})
	}
}
