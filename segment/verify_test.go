package segment_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// verify is what Verify finds.
func verify(tb testing.TB, s *segment.Segment) (damages []segment.Damage) {
	tb.Helper()
	for d, err := range s.Verify(tb.Context()) {
		require.NoError(tb, err)
		damages = append(damages, d)
	}
	return damages
}

// TestVerifyEveryBit flips bits of a segment in turn. It is found, whatever it means, and no record that
// was not written is read, but those of a batch whose offset is alone with its error.
func TestVerifyEveryBit(t *testing.T) {
	w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
	pos := w.filled(t, 3)
	good := w.contents(t, logFile)
	written := map[string]bool{}
	s := w.open(t, 0, segment.Options{Sealed: true})
	for r, err := range readAll(t, s).Records() {
		require.NoError(t, err)
		written[fmt.Sprintf("%+v", r)] = true
	}
	require.NoError(t, s.Close())
	for at := range pos[2] { // what is wrong with the last batch alone, the next segment shows
		for bit := range 8 {
			if covered := (at-pos[at/pos[1]])%pos[1] >= 17; covered && int(at)%8 != bit {
				continue // one bit a byte will do where a checksum covers them all
			}
			w.change(t, logFile, at, good[at]^1<<bit)
			s := w.open(t, 0, segment.Options{Sealed: true})
			place := fmt.Sprintf("bit %d of byte %d", bit, at)
			require.NotEmpty(t, verify(t, s), place)
			r := readAll(t, s)
			wrong := 0
			for rec, err := range r.Records() {
				if err != nil {
					require.ErrorIs(t, err, codec.ErrCorrupt, place)
				} else if !written[fmt.Sprintf("%+v", rec)] {
					wrong++
				}
			}
			if at >= 8 { // the first batch's offset has nothing before it to be compared with
				require.Zero(t, wrong, place)
			}
			require.NoError(t, r.Close())
			require.NoError(t, s.Close())
			w.change(t, logFile, at, good[at])
		}
	}
}

// readAll is a Slice of all of s.
func readAll(tb testing.TB, s *segment.Segment) *segment.Slice {
	tb.Helper()
	r, ok, err := s.Read(s.BaseOffset(), segment.Limits{MaxBytes: 1 << 30, AtLeastOne: true})
	require.NoError(tb, err)
	require.True(tb, ok)
	return r
}

// TestVerifyIndexes changes each byte of the indexes in turn.
func TestVerifyIndexes(t *testing.T) {
	w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
	w.filled(t, 20)
	for _, file := range []string{indexFile, timeIndexFile} {
		good := w.contents(t, file)
		for i := range 2 * len(good) {
			at, mask := i/2, []byte{0x40, 4}[i%2]
			w.change(t, file, int64(at), good[at]^mask)
			s := w.open(t, 0, segment.Options{ReadOnly: true})
			damages := verify(t, s)
			require.NotEmpty(t, damages, "byte %d of %s", at, file)
			for _, d := range damages {
				assert.ErrorIs(t, d.Err, index.ErrCorrupt)
				assert.Equal(t, file, d.Path)
				_, ok := errors.AsType[*fsio.PosError](d.Err)
				assert.True(t, ok)
			}
			require.NoError(t, s.Close())
			w.change(t, file, int64(at), good[at])
		}
	}
}

// TestVerifyBesideClose has a writer close the segment while its indexes are read: what it cuts off is no damage. What
// is damaged in a file whose size has changed is found all the same.
func TestVerifyBesideClose(t *testing.T) {
	for _, row := range []struct {
		name string
		flip bool
	}{{"whole", false}, {"damaged", true}} {
		t.Run(row.name, func(t *testing.T) {
			eachWorld(t, func(w world) {
				w.filled(w.t, 20)
				inner, sizes := w.fs, map[string]int{}
				for _, file := range []string{indexFile, timeIndexFile} {
					good := w.contents(w.t, file)
					sizes[file] = len(good)
					if row.flip {
						w.change(w.t, file, 9, good[9]^0x40)
					}
					w.change(w.t, file, 10*8*12-1, 0) // reserved: a whole number of entries
				}
				w.fs = fsio.Intercept(inner, func(op *fsio.Op, do func() error) error {
					size, open := sizes[op.Path]
					if op.Kind != fsio.OpReadAt || !open {
						return do()
					}
					delete(sizes, op.Path)
					f, err := inner.OpenFile(op.Path, os.O_RDWR, 0)
					if err != nil {
						return err
					}
					return errors.Join(f.Truncate(int64(size)), f.Close(), do())
				})
				s := w.open(w.t, 0, segment.Options{ReadOnly: true})
				damages := verify(w.t, s)
				assert.Empty(w.t, sizes, "they were read")
				if !row.flip {
					assert.Empty(w.t, damages)
					return
				}
				require.NotEmpty(w.t, damages)
				for _, d := range damages {
					assert.NotContains(w.t, d.Err.Error(), "shorter")
				}
			})
		})
	}
}

// TestVerifyEpochs: no checksum covers the leader epoch of a batch.
func TestVerifyEpochs(t *testing.T) {
	for _, row := range []struct {
		epochs []int32
		bad    int // the batch, −1 where none is
	}{
		{[]int32{0, 0, 1, 1, 2}, -1},
		{[]int32{0, 0, 7, 1, 2}, 2},
		{[]int32{5, 5, 1, 5, 6}, 2},
		{[]int32{5, 5, 1, 1, 2}, -1}, // a follower may have been truncated
		{[]int32{-1, 5, 6, -1, 7}, -1},
	} {
		w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
		s := w.open(t, 0, segment.Options{})
		var pos []int64
		for i, epoch := range row.epochs {
			b := batch(t, int64(i), 1, 20)
			b[12], b[13], b[14], b[15] = byte(epoch>>24), byte(epoch>>16), byte(epoch>>8), byte(epoch)
			pos = append(pos, put(t, s, b))
		}
		damages := verify(t, s)
		if row.bad < 0 {
			assert.Empty(t, damages, "%v", row.epochs)
			continue
		}
		require.Len(t, damages, 1, "%v", row.epochs)
		assert.Equal(t, pos[row.bad], damages[0].Pos)
		assert.ErrorIs(t, damages[0].Err, segment.ErrEpoch)
		assert.ErrorIs(t, damages[0].Err, codec.ErrCorrupt)
	}
}
