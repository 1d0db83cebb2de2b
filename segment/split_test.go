package segment_test

import (
	"context"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// farthest is the largest offset that a segment at 0 may have.
const farthest int64 = math.MaxInt32

// overflowing opens the segment at 0 with the given bytes, and with any offsets below that of the next segment.
func (w world) overflowing(t *testing.T, log []byte) *segment.Segment {
	t.Helper()
	require.NoError(t, w.fs.MkdirAll("p-0", 0o755))
	w.create(t, logFile, log)
	require.NoError(t, w.fs.Chtimes(logFile, time.Unix(1_500_000_000, 0)))
	return w.open(t, 0, segment.Options{IndexIntervalBytes: 100, Sealed: true, Overflow: 10 * farthest})
}

// F21 testAppendFromFile: a segment is copied up to the offset that does not fit, and the rest to another one;
// a batch larger than what is written at a time is copied, too. The parts are as appends leave them.
func TestSplit(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		var first, second []byte
		for i := range int64(6) {
			first = append(first, batch(t, i, 1, 50)...)
		}
		first = append(first, batch(t, farthest-3, 4, 1<<20)...)
		for i := range int64(6) {
			second = append(second, batch(t, farthest+1+i, 1, 50)...)
		}
		s := w.overflowing(t, slices.Concat(first, second))
		_, err := s.Recover(t.Context(), segment.RecoverOptions{})
		require.ErrorIs(t, err, segment.ErrOverflow)
		var seen []int64
		aborted := index.AbortedTxn{ProducerID: 1, FirstOffset: 2, LastOffset: farthest + 2, StableOffset: 9}
		parts, err := s.Split(t.Context(), segment.SplitOptions{
			Seen: func(b segment.Batch, bytes []byte, dst []index.AbortedTxn) ([]index.AbortedTxn, error) {
				seen = append(seen, b.BaseOffset)
				require.Len(t, bytes, b.Size)
				if b.BaseOffset == farthest+2 {
					dst = append(dst, aborted)
				}
				return dst, nil
			},
		})
		require.NoError(t, err)
		require.Equal(t, []int64{0, 1, 2, 3, 4, 5, farthest - 3, farthest + 1, farthest + 2, farthest + 3, farthest + 4, farthest + 5, farthest + 6}, seen)
		require.Len(t, parts, 2)
		for i, want := range []struct {
			base  int64
			bytes []byte
		}{{0, first}, {farthest + 1, second}} {
			p := parts[i]
			require.Equal(t, want.base, p.BaseOffset())
			require.Equal(t, segment.Cleaned, p.State())
			require.True(t, p.Sealed())
			modified, err := p.ModTime()
			require.NoError(t, err)
			require.True(t, modified.Equal(time.Unix(1_500_000_000, 0)), modified)

			appended := world{fs: aferofs.Mem(), parts: w.parts}
			a := appended.open(t, want.base, segment.Options{IndexIntervalBytes: 100})
			put(t, a, want.bytes)
			require.NoError(t, a.Seal())
			for _, ext := range []string{segment.LogExt, segment.IndexExt, segment.TimeIndexExt} {
				require.Equal(t, appended.contents(t, "p-0/"+segment.FileName(want.base, ext, segment.Live)),
					w.contents(t, "p-0/"+segment.FileName(want.base, ext, segment.Cleaned)), ext)
			}
		}
		for i, want := range [][]index.AbortedTxn{nil, {aborted}} {
			got, _, err := parts[i].Aborted(nil, 0, 10*farthest)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		require.Equal(t, slices.Concat(first, second), w.contents(t, logFile))
		for _, p := range parts {
			require.NoError(t, p.Remove())
		}
		require.NoError(t, s.Remove())
	})
}

// Where nothing speaks against offsets that are too far from the base, they are read; where a later batch, or
// the next segment, does, they are damage, and not split.
func TestOverflowIsBelieved(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		for _, row := range []struct {
			name     string
			bases    []int64
			overflow int64
			good     []int64
		}{
			{"two", []int64{0, 1, farthest + 1, farthest + 2}, math.MaxInt64, []int64{0, 1, farthest + 1, farthest + 2}},
			{"at the end", []int64{0, 1, farthest + 2}, math.MaxInt64, []int64{0, 1, farthest + 2}},
			{"not asked for", []int64{0, 1, farthest + 1}, 0, []int64{0, 1}},
			{"in the next segment", []int64{0, 1, farthest + 5}, farthest + 5, []int64{0, 1}},
			{"taken back", []int64{0, 1, farthest + 5, 3}, math.MaxInt64, []int64{0, 1, 3}},
			{"taken back later", []int64{0, 1, farthest + 9, farthest + 5, farthest + 6}, math.MaxInt64, []int64{0, 1, farthest + 5, farthest + 6}},
			{"taken back by the next segment", []int64{0, 1, farthest + 5, farthest + 9}, farthest + 8, []int64{0, 1}},
		} {
			t.Run(row.name, func(t *testing.T) {
				var log []byte
				for _, base := range row.bases {
					log = append(log, batch(t, base, 1, 10)...)
				}
				require.NoError(t, w.fs.MkdirAll("p-0", 0o755))
				w.create(t, logFile, log)
				s := w.open(t, 0, segment.Options{Overflow: row.overflow, Sealed: true})
				good := func() (offsets []int64) {
					r, ok, err := s.Read(0, segment.Limits{MaxBytes: 1 << 20})
					require.NoError(t, err)
					require.True(t, ok)
					defer func() { require.NoError(t, r.Close()) }()
					for rec, err := range r.Records() {
						if err != nil {
							require.ErrorIs(t, err, codec.ErrCorrupt)
							continue
						}
						offsets = append(offsets, rec.Offset)
					}
					return offsets
				}
				require.Equal(t, row.good, good())
				require.Equal(t, row.good, good(), "once it is known")
				damages := 0
				for d, err := range s.Verify(t.Context()) {
					require.NoError(t, err)
					if d.Path == logFile {
						damages++
					}
				}
				assert.Equal(t, len(row.good) < len(row.bases), damages > 0)
				if err := s.Reindex(t.Context()); damages == 0 { // it leaves out what has no room
					require.NoError(t, err)
				}
				require.NoError(t, s.Remove())
			})
		}
	})
}

// A split that fails leaves nothing of its parts.
func TestSplitFails(t *testing.T) {
	inner := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}, t: t}
	log := slices.Concat(batch(t, 0, 1, 10), batch(t, farthest+1, 1, 10), batch(t, 3*farthest, 1, 10))
	calls := 0
	for failing := 0; ; failing++ {
		w, n, armed := inner, 0, false
		w.fs = fsio.Intercept(inner.fs, func(op *fsio.Op, do func() error) error {
			if armed && fsio.Mutates.Has(op.Kind) && op.Kind != fsio.OpRemove {
				if n++; n == failing {
					return syscall.ENOSPC
				}
			}
			return do()
		})
		s := inner.overflowing(t, log)
		require.NoError(t, s.Close())
		s = w.open(t, 0, segment.Options{Sealed: true, Overflow: math.MaxInt64})
		armed = true
		parts, err := s.Split(t.Context(), segment.SplitOptions{})
		if failing == 0 {
			calls = n
		}
		if failing > calls {
			require.NoError(t, err)
			break
		}
		if failing > 0 {
			require.ErrorIs(t, err, syscall.ENOSPC)
			entries, err := inner.fs.ReadDir("p-0")
			require.NoError(t, err)
			for _, e := range entries {
				require.NotContains(t, e.Name(), string(segment.Cleaned), "call %d", failing)
			}
			require.Equal(t, log, inner.contents(t, logFile))
		}
		for _, p := range parts {
			require.NoError(t, p.Remove())
		}
	}
	require.Greater(t, calls, 20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := inner.overflowing(t, log)
	_, err := s.Split(ctx, segment.SplitOptions{})
	require.ErrorIs(t, err, context.Canceled)
}
