package segment_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// logFile and indexFile are the files of the segment at 0.
const (
	logFile       = "p-0/00000000000000000000.log"
	indexFile     = "p-0/00000000000000000000.index"
	timeIndexFile = "p-0/00000000000000000000.timeindex"
)

// filled makes the segment at 0 of n batches of two records each, closes it, and returns the positions of
// the batches, and the end.
func (w world) filled(tb testing.TB, n int) (pos []int64) {
	tb.Helper()
	s := w.open(tb, 0, segment.Options{IndexIntervalBytes: 200})
	for i := range n {
		pos = append(pos, put(tb, s, batch(tb, int64(2*i), 2, 20)))
	}
	pos = append(pos, s.Size())
	require.NoError(tb, s.Close())
	return pos
}

// change writes bytes into a file.
func (w world) change(tb testing.TB, name string, pos int64, b ...byte) {
	tb.Helper()
	f, err := w.fs.OpenFile(name, os.O_RDWR, 0)
	require.NoError(tb, err)
	_, err = f.WriteAt(b, pos)
	require.NoError(tb, err)
	require.NoError(tb, f.Close())
}

// resize sets the size of a file.
func (w world) resize(tb testing.TB, name string, size int64) {
	tb.Helper()
	f, err := w.fs.OpenFile(name, os.O_RDWR, 0)
	require.NoError(tb, err)
	require.NoError(tb, f.Truncate(size))
	require.NoError(tb, f.Close())
}

func TestRecoverCuts(t *testing.T) { // F18
	eachWorld(t, func(w world) {
		t := w.t
		for _, row := range []struct {
			name   string
			from   int64
			damage func(pos []int64)
			kept   int // batches
			cause  error
		}{
			{"whole", 0, func([]int64) {}, 10, nil},
			{"torn tail", 0, func(pos []int64) { w.resize(t, logFile, pos[10]-1) }, 9, codec.ErrShort},
			{"torn header", 0, func(pos []int64) { w.resize(t, logFile, pos[9]+11) }, 9, codec.ErrShort},
			{"zeros", 0, func(pos []int64) { w.resize(t, logFile, pos[10]+5000) }, 10, codec.ErrCorrupt},
			{"flipped bit", 0, func(pos []int64) { w.change(t, logFile, pos[6]+70, 0xff) }, 6, codec.ErrCorrupt},
			{"flipped bit at the recovery point", 12, func(pos []int64) { w.change(t, logFile, pos[6]+70, 0xff) }, 6, codec.ErrCorrupt},
			{"flipped bit around the recovery point", 13, func(pos []int64) { w.change(t, logFile, pos[6]+70, 0xff) }, 6, codec.ErrCorrupt},
			{"offset back", 0, func(pos []int64) { w.change(t, logFile, pos[6]+7, 3) }, 6, segment.ErrOffsets},
			{"offset ahead", 0, func(pos []int64) { w.change(t, logFile, pos[6]+7, 14) }, 6, segment.ErrOffsets},
			{"offset out of bounds", 0, func(pos []int64) { w.change(t, logFile, pos[6], 1) }, 6, segment.ErrOffsets},
		} {
			t.Run(row.name, func(t *testing.T) {
				pos := w.filled(t, 10)
				row.damage(pos)
				recoverCut(t, w, pos, row.from, row.kept, row.cause)
			})
		}
	})
}

// recoverCut recovers the segment at 0 from an offset on, and sees that it keeps so many batches, tells why
// it cuts the others, and can be appended to.
func recoverCut(t *testing.T, w world, pos []int64, from int64, batches int, why error) {
	t.Helper()
	info, err := w.fs.Stat(logFile)
	require.NoError(t, err)
	s := w.open(t, 0, segment.Options{IndexIntervalBytes: 200})
	seen, kept := 0, ""
	got, err := s.Recover(t.Context(), segment.RecoverOptions{
		From: from,
		Seen: func(b segment.Batch, bytes []byte) error {
			assert.Equal(t, pos[seen], b.Pos)
			assert.Len(t, bytes, b.Size)
			seen++
			return nil
		},
		Keep: func(path string, at int64, cut io.Reader) error {
			b, err := io.ReadAll(cut)
			kept = fmt.Sprintf("%s %d %d", path, at, len(b))
			return err
		},
		Damaged: func(d segment.Damage) { t.Errorf("Damaged(%+v)", d) },
	})
	require.NoError(t, err)
	cause := got.Cause
	got.Cause = nil
	want := segment.Recovery{
		NextOffset: int64(2 * batches), Batches: batches,
		KeptBytes: pos[batches], CutBytes: info.Size() - pos[batches],
	}
	assert.Equal(t, want, got)
	assert.ErrorIs(t, cause, why)
	assert.Equal(t, batches, seen)
	if want.CutBytes > 0 {
		at, ok := errors.AsType[*fsio.PosError](cause)
		require.True(t, ok)
		assert.Equal(t, pos[batches], at.Pos)
		assert.Equal(t, fmt.Sprintf("%s %d %d", logFile, pos[batches], want.CutBytes), kept)
	}
	again, err := s.Recover(t.Context(), segment.RecoverOptions{From: from})
	require.NoError(t, err)
	want.CutBytes = 0
	assert.Equal(t, want, again)

	put(t, s, batch(t, want.NextOffset, 2, 20))
	next, err := s.NextOffset()
	require.NoError(t, err)
	assert.Equal(t, want.NextOffset+2, next)
	require.NoError(t, s.Remove())
}

func TestRecoverKeepsWhatWasSynced(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		for _, row := range []struct {
			name        string
			damage      func(pos []int64)
			first, next int64 // offsets that are lost
			from, to    int   // batches
		}{
			{"size", func(pos []int64) { w.change(t, logFile, pos[3]+8, 0x7f) }, 6, 8, 3, 4},
			{"size a little off", func(pos []int64) { w.change(t, logFile, pos[3]+11, 3) }, 6, 8, 3, 4},
			{"magic", func(pos []int64) { w.change(t, logFile, pos[3]+16, 9) }, 6, 8, 3, 4},
			{"offset back", func(pos []int64) { w.change(t, logFile, pos[3]+7, 2) }, 6, 8, 3, 4},
			{"offset ahead", func(pos []int64) { w.change(t, logFile, pos[3]+7, 50) }, 6, 8, 3, 4},
			{"two batches", func(pos []int64) { w.change(t, logFile, pos[3], make([]byte, pos[5]-pos[3])...) }, 6, 10, 3, 5},
			{"to the end", func(pos []int64) { w.change(t, logFile, pos[8], make([]byte, pos[10]-pos[8])...) }, 16, -1, 8, 10},
		} {
			t.Run(row.name, func(t *testing.T) {
				pos := w.filled(t, 10)
				row.damage(pos)
				s := w.open(t, 0, segment.Options{IndexIntervalBytes: 200})
				var damages []segment.Damage
				got, err := s.Recover(t.Context(), segment.RecoverOptions{
					From:    20,
					Damaged: func(d segment.Damage) { damages = append(damages, d) },
				})
				require.NoError(t, err)
				assert.Zero(t, got.CutBytes)
				assert.Equal(t, pos[10], s.Size())
				require.Len(t, damages, 1)
				d := damages[0]
				assert.ErrorIs(t, d.Err, codec.ErrCorrupt)
				d.Err = nil
				assert.Equal(t, segment.Damage{
					Path: logFile, Pos: pos[row.from], Size: pos[row.to] - pos[row.from],
					FirstOffset: row.first, NextOffset: row.next,
				}, d)
				require.NoError(t, s.Remove())
			})
		}
	})
}

// TestRecoverDiskError: a disk that does not answer says nothing about what is on it.
func TestRecoverDiskError(t *testing.T) {
	w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
	pos := w.filled(t, 10)
	w.change(t, logFile, pos[6]+70, 0xff)
	before := w.contents(t, logFile)
	failing := false
	inner := w.fs
	w.fs = fsio.Intercept(inner, func(op *fsio.Op, do func() error) error {
		if failing && op.Kind == fsio.OpReadAt && op.Path == logFile {
			return syscall.EIO
		}
		return do()
	})
	s := w.open(t, 0, segment.Options{IndexIntervalBytes: 200})
	failing = true
	_, err := s.Recover(t.Context(), segment.RecoverOptions{})
	assert.ErrorIs(t, err, syscall.EIO)
	assert.NotErrorIs(t, err, codec.ErrCorrupt)
	failing = false
	assert.Equal(t, before, w.contents(t, logFile))
}

// TestRecoverReadsTwice: bad bytes that are good when they are read once more are good.
func TestRecoverReadsTwice(t *testing.T) {
	for _, at := range []int64{70, 16} { // in the records, in the header
		inner := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
		pos := inner.filled(t, 10)
		reads := 0
		w := inner
		w.fs = fsio.Intercept(inner.fs, func(op *fsio.Op, do func() error) error {
			err := do()
			if place := pos[3] + at - op.Off; op.Kind == fsio.OpReadAt && op.Path == logFile && place >= 0 {
				if reads++; reads == 1 {
					op.Data[place] ^= 0x40
				}
			}
			return err
		})
		s := w.open(t, 0, segment.Options{Sealed: true, IndexIntervalBytes: 200})
		got, err := s.Recover(t.Context(), segment.RecoverOptions{})
		require.NoError(t, err)
		assert.Equal(t, 10, got.Batches)
		assert.Zero(t, got.CutBytes)
		assert.Greater(t, reads, 1)
	}
}

func TestRecoverEndsEarly(t *testing.T) {
	w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
	pos := w.filled(t, 10)
	w.change(t, logFile, pos[6]+70, 0xff)
	s := w.open(t, 0, segment.Options{IndexIntervalBytes: 200})
	sad := errors.New("sad")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Recover(ctx, segment.RecoverOptions{})
	assert.ErrorIs(t, err, context.Canceled)
	_, err = s.Recover(t.Context(), segment.RecoverOptions{Seen: func(segment.Batch, []byte) error { return sad }})
	assert.ErrorIs(t, err, sad)
	_, err = s.Recover(t.Context(), segment.RecoverOptions{Keep: func(string, int64, io.Reader) error { return sad }})
	assert.ErrorIs(t, err, sad)
	assert.Equal(t, pos[10], s.Size())
}

// TestRecoverAborted: the log tells of aborted transactions while it sees the batches.
func TestRecoverAborted(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		w.filled(t, 10)
		s := w.open(t, 0, segment.Options{IndexIntervalBytes: 200})
		stale := index.AbortedTxn{ProducerID: 9, FirstOffset: 1, LastOffset: 3, StableOffset: 4}
		require.NoError(t, s.AppendAborted(stale))
		want := index.AbortedTxn{ProducerID: 7, FirstOffset: 2, LastOffset: 5, StableOffset: 6}
		_, err := s.Recover(t.Context(), segment.RecoverOptions{Seen: func(b segment.Batch, _ []byte) error {
			if b.LastOffset == 5 {
				return s.AppendAborted(want)
			}
			return nil
		}})
		require.NoError(t, err)
		got, done, err := s.Aborted(nil, 0, 20)
		require.NoError(t, err)
		assert.False(t, done)
		assert.Equal(t, []index.AbortedTxn{want}, got)
	})
}

// TestDamagedIndexes: no damage of an index keeps a segment from being opened, read and mended (I-02, F15).
func TestDamagedIndexes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 80)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	eachWorld(t, func(w world) {
		t := w.t
		w.filled(t, 20)
		goodIndex, goodTimes := w.contents(t, indexFile), w.contents(t, timeIndexFile)
		require.Len(t, goodIndex, 9*8)
		for _, row := range []struct {
			name   string
			damage func(file string)
			shows  bool // with Check
		}{
			{"5 bytes", func(file string) { w.resize(t, file, 5) }, true},
			{"a part of an entry", func(file string) { w.resize(t, file, 27) }, true},
			{"noise", func(file string) { w.create(t, file, noise[:24]) }, true},
			{"falling", func(file string) { w.change(t, file, 24, make([]byte, 12)...) }, true},
			{"position past the end", func(string) { w.change(t, indexFile, 9*8-4, 0x7f) }, true},
			{"none", func(string) { require.NoError(t, w.fs.Remove(indexFile)) }, true},
			{"empty", func(file string) { w.resize(t, file, 0) }, false},
			{"time of a later batch", func(string) { w.change(t, timeIndexFile, 2*12+8, goodTimes[3*12+8:4*12]...) }, false},
			{"position of a later batch", func(string) { w.change(t, indexFile, 3*8+4, goodIndex[4*8+4:5*8]...) }, false},
			{"position a byte off", func(string) { w.change(t, indexFile, 39, goodIndex[39]+1) }, false},
		} {
			for _, sealed := range []bool{false, true} {
				for _, file := range []string{indexFile, timeIndexFile} {
					t.Run(fmt.Sprintf("%s, %s, sealed %v", row.name, file, sealed), func(t *testing.T) {
						w.create(t, indexFile, goodIndex)
						w.create(t, timeIndexFile, goodTimes)
						row.damage(file)
						s := w.open(t, 0, segment.Options{IndexIntervalBytes: 200, Sealed: sealed, Check: true})
						if row.shows {
							assert.Error(t, s.IndexErr())
						}
						lookUpAll(t, s, 20)
						require.NoError(t, s.Reindex(t.Context()))
						require.NoError(t, s.IndexErr())
						lookUpAll(t, s, 20)
						require.NoError(t, s.Close())
						assert.Equal(t, goodIndex, w.contents(t, indexFile))
						assert.Equal(t, goodTimes, w.contents(t, timeIndexFile))
					})
				}
			}
		}
	})
}

// lookUpAll looks up every offset and every timestamp in a segment of n batches of two records.
func lookUpAll(t *testing.T, s *segment.Segment, n int64) {
	t.Helper()
	for offset := range 2 * n {
		b, ok, err := s.Find(offset)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, offset/2*2, b.BaseOffset, "Find(%d)", offset)
		f, ok, err := s.FindTime(10*offset-1, 0)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, offset, f.Offset, "FindTime(%d)", 10*offset-1)
	}
}
