package segment_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// span is a batch of n records from base on; of a wrapper, whose records are those of magic 1, n is negative.
type span struct{ base, n int64 }

// spans puts batches as they are into the segment at base, and returns their positions.
func (w world) spans(tb testing.TB, base int64, all ...span) (pos []int64) {
	tb.Helper()
	s := w.open(tb, base, segment.Options{})
	for _, b := range all {
		if b.n > 0 {
			pos = append(pos, put(tb, s, batch(tb, b.base, int(b.n), 1)))
			continue
		}
		recs := make([]codec.Record, -b.n)
		for i := range recs {
			recs[i] = codec.Record{Offset: b.base + int64(i), Value: []byte("v")}
		}
		h := codec.NewHeader(1)
		h.BaseOffset, h.Attributes = b.base, codec.Attributes(codec.Snappy)
		bytes, err := codec.Kafka().Append(nil, h, recs)
		require.NoError(tb, err)
		pos = append(pos, put(tb, s, bytes))
	}
	pos = append(pos, s.Size())
	require.NoError(tb, s.Close())
	return pos
}

// TestOffsetsThatNeighboursTell: what Kafka's followers take is believed, what one flipped bit explains is not.
func TestOffsetsThatNeighboursTell(t *testing.T) {
	for _, row := range []struct {
		name  string
		base  int64
		spans []span
		bad   int // the batch, −1 where none is
	}{
		{"as a leader writes", 0, []span{{0, 3}, {3, 4}, {7, 1}}, -1},
		{"gaps", 0, []span{{0, 3}, {5, 4}, {12, 1}}, -1},
		{"overlaps", 0, []span{{0, 3}, {1, 4}, {3, 9}}, -1},
		{"behind a gap and overlapped", 0, []span{{0, 3}, {5, 4}, {8, 4}}, -1},
		{"behind a gap that it fits into, with an offset left", 0, []span{{0, 3}, {7, 4}, {8, 4}}, -1},
		{"behind a gap that it fits into by two bits", 0, []span{{0, 6}, {8, 4}, {10, 4}}, -1},
		{"overlapped from the base", 0, []span{{0, 3}, {2, 4}}, -1},
		{"overlapping, before a gap that is too small", 0, []span{{0, 8}, {4, 8}, {14, 4}}, -1},
		{"overlapping, before a gap that is too large", 0, []span{{0, 8}, {4, 8}, {17, 4}}, -1},
		{"overlapping the first, from below the base", 10, []span{{10, 1}, {9, 3}, {12, 2}}, -1},
		{"wrappers behind gaps", 0, []span{{0, -3}, {5, -4}, {12, -1}}, -1},
		{"up by one bit", 0, []span{{0, 4}, {6, 4}, {8, 4}}, 1},
		{"up by one bit in the second gap", 0, []span{{0, 4}, {5, 3}, {10, 4}, {12, 4}}, 2},
		{"up over the next", 0, []span{{0, 4}, {6, 1}, {5, 1}, {6, 5}}, 1},
		{"up over the next by more than one bit", 0, []span{{0, 4}, {43, 4}, {8, 4}}, 1},
		{"down by one bit", 0, []span{{0, 4}, {4, 8}, {8, 8}, {20, 4}}, 2},
		{"down below the base", 10, []span{{10, 8}, {2, 20}, {38, 4}}, 1},
		{"the first below the base", 11, []span{{10, 4}, {14, 8}}, 0},
		{"down below the one before", 0, []span{{0, 8}, {0, 4}, {12, 4}}, 1},
		{"a wrapper up by one bit", 0, []span{{0, -3}, {11, -3}, {6, 20}}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
			pos := w.spans(t, row.base, row.spans...)
			s := w.open(t, row.base, segment.Options{})
			var bad []int64
			for d, err := range s.Verify(t.Context()) {
				require.NoError(t, err)
				assert.ErrorIs(t, d.Err, codec.ErrCorrupt)
				if strings.HasSuffix(d.Path, segment.LogExt) {
					bad = append(bad, d.Pos)
				}
			}
			kept, want := len(row.spans), []int64(nil)
			if row.bad >= 0 {
				kept, want = row.bad, []int64{pos[row.bad]}
			}
			assert.Equal(t, want, bad)
			got, err := s.Recover(t.Context(), segment.RecoverOptions{})
			require.NoError(t, err)
			assert.Equal(t, pos[kept], got.KeptBytes, "%v", got.Cause)
			assert.Equal(t, kept, got.Batches)
		})
	}
}

// TestOffsetsWithAFlippedBit flips every bit of the base offsets that a leader wrote, of batches of many sizes:
// each is found, whatever the gaps and overlaps that it makes. Of the last one the next segment tells.
func TestOffsetsWithAFlippedBit(t *testing.T) {
	w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
	var all []span
	next := int64(0)
	for _, n := range []int64{1, 40, 2, 17, 3, 1, 1, 64, 9, 5, 100, 1} {
		all = append(all, span{next, n})
		next += n
	}
	pos := w.spans(t, 0, all...)
	good := w.contents(t, logFile)
	for i, b := range all[:len(all)-1] {
		for bit := range 64 {
			at := pos[i] + int64(7-bit/8)
			place := fmt.Sprintf("bit %d of the offset %d", bit, b.base)
			require.NoError(t, fsio.WriteFile(w.fs, logFile, good))
			w.change(t, logFile, at, good[at]^1<<(bit%8))
			s := w.open(t, 0, segment.Options{})
			bad := verify(t, s)
			require.Len(t, bad, 1, place)
			require.Equal(t, pos[i], bad[0].Pos, place)
			require.Equal(t, pos[i+1]-pos[i], bad[0].Size, place)
			got, err := s.Recover(t.Context(), segment.RecoverOptions{})
			require.NoError(t, err, place)
			require.Equal(t, pos[i], got.KeptBytes, place)
			require.ErrorIs(t, got.Cause, codec.ErrCorrupt, place)
			require.NoError(t, s.Remove())
		}
	}
}

// TestSliceWithAFlippedBit reads the same: no record comes at an offset that it has not, of the first batch, too, which the
// base offset tells, and of the last, which the next segment tells; and none is passed over without an error.
func TestSliceWithAFlippedBit(t *testing.T) {
	w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
	all := []span{{0, 2}, {2, 1}, {3, 4}, {7, 2}}
	pos := w.spans(t, 0, all...)
	good := w.contents(t, logFile)
	for i, begin := range pos[:4] {
		for bit := range 64 {
			if i == 3 && bit == 0 {
				continue // it overlaps the one before then, as what a follower took may
			}
			at := begin + int64(7-bit/8)
			require.NoError(t, fsio.WriteFile(w.fs, logFile, good))
			w.change(t, logFile, at, good[at]^1<<(bit%8))
			s := w.open(t, 0, segment.Options{})
			for _, from := range []int64{0, all[i].base} {
				place := fmt.Sprintf("batch %d, bit %d, from %d", i, bit, from)
				records, damages := readFrom(t, s, from, 9, place)
				require.Equal(t, 1, damages, place)
				require.Equal(t, 9-from-all[i].n, records, place)
			}
			require.NoError(t, s.Remove())
		}
	}
}

// readFrom reads what lies in [from, below), and sees that it is in order. It returns the numbers of records and of errors.
func readFrom(t *testing.T, s *segment.Segment, from, below int64, place string) (records int64, damages int) {
	t.Helper()
	slice, ok, err := s.Read(from, segment.Limits{MaxBytes: 1 << 20, Next: below})
	require.NoError(t, err, place)
	require.True(t, ok, place)
	last := from - 1
	for r, err := range slice.Records() {
		if err != nil {
			require.ErrorIs(t, err, codec.ErrCorrupt, place)
			damages++
			continue
		}
		require.Greater(t, r.Offset, last, place)
		require.Less(t, r.Offset, below, place)
		last = r.Offset
		records++
	}
	require.NoError(t, slice.Close())
	return records, damages
}
