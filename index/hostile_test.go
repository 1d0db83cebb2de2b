package index_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// layouts are the fuzz targets' and the hostile files'.
var layouts = []index.Layout{index.OffsetLayout, index.TimeLayout}

// I-02: files of each length from 0 to 40 bytes, of garbage, zeros, ones and rising bytes, open or are
// ErrCorrupt; and what opens answers look-ups.
func TestI02HostileFiles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	everywhere(t, func(t *testing.T, w world) {
		for n := range 41 {
			garbage, rising, ones := make([]byte, n), make([]byte, n), make([]byte, n)
			for i := range n {
				garbage[i], rising[i], ones[i] = byte(rnd.Uint32()), byte(i), 0xff
			}
			for _, data := range [][]byte{garbage, rising, ones, make([]byte, n)} {
				for _, l := range layouts {
					hostile(t, w, l, data)
				}
			}
		}
	})
}

// hostile opens data in each way, and asks whatever opens.
func hostile(t *testing.T, w world, l index.Layout, data []byte) {
	t.Helper()
	const base = 7
	write(t, w.fsys, name, data)
	for _, o := range []index.Options{{}, {Check: true}, {Sealed: true}, {ReadOnly: true}, {ReadOnly: true, Check: true}} {
		o.Layout, o.Base, o.MaxBytes = l, base, 1<<10
		x, err := w.open(w.fsys, name, o)
		if err != nil {
			require.ErrorIs(t, err, index.ErrCorrupt, "%+v", o)
			require.Equal(t, data, read(t, w.fsys, name))
			continue
		}
		entries := all(x)
		if o.Check {
			for i, e := range entries {
				require.True(t, i == 0 || e.Key > entries[i-1].Key && e.Value >= entries[i-1].Value, "%v", entries)
			}
		}
		for _, e := range append(entries, index.Entry{Key: math.MinInt64}, index.Entry{Key: math.MaxInt64}) {
			got, ok := x.Lookup(e.Key)
			if o.Check {
				want := floor(entries, e.Key)
				require.Equal(t, want != none, ok)
				require.True(t, !ok || got == want)
			}
			_ = index.CountBelow(x, e.Key)
			_ = index.CountBelowValue(x, e.Value)
		}
		require.NoError(t, x.Close())
		require.Equal(t, data, read(t, w.fsys, name), "opened and closed")
	}
	for _, err := range index.Entries(w.fsys, name, l, base) {
		require.True(t, err == nil || errors.Is(err, index.ErrCorrupt))
	}
}

// An index that claims to be larger than Kafka could have written it is refused before anything is read.
func TestI02HugeFile(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		f, err := w.fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		require.NoError(t, err)
		if err := f.Truncate(8 << 30); err != nil {
			require.NoError(t, f.Close())
			t.Skipf("no file of 8 GiB: %v", err)
		}
		require.NoError(t, f.Close())
		_, err = w.open(w.fsys, name, index.Options{Layout: index.OffsetLayout})
		assert.ErrorIs(t, err, index.ErrCorrupt)
		require.NoError(t, w.fsys.Remove(name))
	})
}

func FuzzOpenOffset(f *testing.F) { fuzzOpen(f, index.OffsetLayout) }

func FuzzOpenTime(f *testing.F) { fuzzOpen(f, index.TimeLayout) }

// fuzzOpen opens any bytes; both backends must agree.
func fuzzOpen(f *testing.F, l index.Layout) {
	size := l.EntryBytes()
	f.Add([]byte{})
	f.Add(make([]byte, 3*size))
	f.Add(make([]byte, size+1))
	whole := make([]byte, 4*size)
	for i := range 3 { // three entries and a zero tail
		whole[i*size+l.KeyBytes-1], whole[i*size+size-1] = byte(i+1), byte(i+1)
	}
	f.Add(whole)
	f.Add(whole[:3*size])
	whole[0] = 0x80
	f.Add(whole[:3*size])
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := newMem(t)
		hostile(t, world{fsys, index.OpenMmap}, l, data)
		hostile(t, world{fsys, index.OpenFile}, l, data)
		for _, check := range []bool{false, true} {
			o := index.Options{Layout: l, Base: 7, ReadOnly: true, Check: check}
			assert.Equal(t, opens(t, fsys, index.OpenMmap, o), opens(t, fsys, index.OpenFile, o))
		}
	})
}

// opens tells all that open makes of a file.
func opens(t *testing.T, fsys fsio.FS, open index.OpenFunc, o index.Options) string {
	t.Helper()
	x, err := open(fsys, name, o)
	if err != nil {
		return err.Error()
	}
	told := fmt.Sprint(all(x))
	require.NoError(t, x.Close())
	return told
}

func FuzzOpenTxn(f *testing.F) {
	f.Add([]byte{}, int64(0))
	f.Add(make([]byte, 34), int64(0))
	f.Add(make([]byte, 68), int64(0))
	f.Add(make([]byte, 35), int64(0))
	entry := []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 15}
	f.Add(entry, int64(20))
	f.Add(entry, int64(21))
	f.Fuzz(func(t *testing.T, data []byte, base int64) {
		fsys := newMem(t)
		write(t, fsys, txnName, data)
		x, err := index.OpenTxn(fsys, txnName, base)
		if err != nil {
			require.ErrorIs(t, err, index.ErrCorrupt)
			return
		}
		require.Equal(t, len(data), 34*x.Len())
		copied, err := index.OpenTxn(fsys, "copy", base)
		require.NoError(t, err)
		fillTxn(t, copied, allTxns(x)...)
		require.NoError(t, copied.Close())
		require.NoError(t, x.Close())
		if len(data) > 0 {
			require.Equal(t, data, read(t, fsys, "copy"))
		}
	})
}
