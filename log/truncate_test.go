package log_test

import (
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/log"
)

// G71 testTruncateTo, G72, L-04: a target anywhere, and the log goes on there.
func TestG71Truncate(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 400
		w.open()
		w.fill(numbers(20)...)
		for _, offset := range []int64{20, 21, 1 << 62} {
			moved, err := w.l.Truncate(offset)
			require.NoError(t, err)
			require.False(t, moved)
		}
		_, err := w.l.Truncate(-1)
		require.ErrorIs(t, err, fs.ErrInvalid)
		require.NoError(t, w.l.Sync(20))
		for _, offset := range []int64{19, 12, 7, 6, 1, 0} {
			moved, err := w.l.Truncate(offset)
			require.NoError(t, err)
			require.True(t, moved)
			require.Equal(t, offset, w.l.EndOffset())
			require.LessOrEqual(t, w.l.RecoveryPoint(), offset)
			require.Equal(t, offset, w.l.HighWatermark())
			require.Len(t, w.values(0, log.ReadToEnd), int(offset))
			got := w.append(set(t, rec("new")))
			require.Equal(t, offset, got.BaseOffset)
			require.Equal(t, "new", w.first(offset).value)
			want := w.values(0, log.ReadToEnd)
			w.kill()
			w.open()
			require.Equal(t, want, w.values(0, log.ReadToEnd))
		}
		require.NoError(t, w.l.Reset(5, 3))
		require.EqualValues(t, 5, w.l.EndOffset())
		require.EqualValues(t, 3, w.l.StartOffset())
		w.fill("a", "b")
		moved, err := w.l.Truncate(2) // below the first segment
		require.NoError(t, err)
		require.True(t, moved)
		require.EqualValues(t, 2, w.l.EndOffset())
		require.EqualValues(t, 2, w.l.StartOffset())
		require.Equal(t, []int64{2}, w.bases())
	})
}

// F20: a batch that offset lies in goes as a whole, and leaves a hole.
func TestTruncateInsideABatch(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.fill("a")
		w.append(set(t, rec("b"), rec("c"), rec("d")))
		_, err := w.l.Truncate(3)
		require.NoError(t, err)
		require.EqualValues(t, 3, w.l.EndOffset())
		require.Len(t, w.values(0, log.ReadToEnd), 1)
		s, err := w.l.Read(2, 10)
		require.NoError(t, err)
		require.Zero(t, s.Len())
		require.NoError(t, s.Close())
		base, err := w.l.Roll()
		require.NoError(t, err)
		require.EqualValues(t, 3, base)
		w.fill("e")
		want := map[int64]string{0: "a", 3: "e"}
		require.Equal(t, want, w.values(0, log.ReadToEnd))
		w.kill()
		w.open()
		require.Equal(t, want, w.values(0, log.ReadToEnd), "a gap that a truncation left is no loss")
	})
}

// G75 shouldTruncateLeaderEpochCheckpointFileWhenTruncatingLog, G74.
func TestG75TruncateEpochs(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		for i, n := range []int{10, 6, 8} {
			for range n {
				_, err := w.l.AppendWith(set(t, rec("v")), log.AppendOptions{LeaderEpoch: int32(i)})
				require.NoError(t, err)
			}
		}
		for _, row := range []struct{ offset, epochs int64 }{{24, 3}, {17, 3}, {16, 2}, {11, 2}, {10, 1}, {0, 0}} {
			_, err := w.l.Truncate(row.offset)
			require.NoError(t, err)
			require.Len(t, w.l.Epochs(), int(row.epochs), "truncated to %d", row.offset)
		}
		require.NoError(t, w.l.AssignEpoch(20, 0))
		require.Len(t, w.l.Epochs(), 1)
		_, err := w.l.Truncate(5)
		require.NoError(t, err)
		require.Empty(t, w.l.Epochs(), "an epoch without records")
	})
}

// G77 testProducerIdMapTruncateTo.
func TestG77TruncateProducers(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		for i := range int32(3) {
			w.append(produced(t, 1, 0, i, false, 1))
			if i > 0 {
				require.NoError(t, w.l.TakeSnapshot())
			}
		}
		require.Equal(t, []int64{2, 3}, w.l.State().Snapshots)
		for _, offset := range []int64{2, 1} {
			_, err := w.l.Truncate(offset)
			require.NoError(t, err)
			require.Equal(t, []int64{offset}, w.l.State().Snapshots)
			require.EqualValues(t, offset-1, w.l.Producers()[0].LastSequence())
		}
		_, err := w.l.Truncate(0)
		require.NoError(t, err)
		require.Empty(t, w.l.State().Snapshots)
		require.Empty(t, w.l.Producers())

		// …WithNoSnapshots, and testProducerIdMapTruncateFullyAndStartAt
		w.append(produced(t, 1, 0, 0, false, 1))
		w.append(produced(t, 1, 0, 1, false, 1))
		w.dropSnapshots()
		_, err = w.l.Truncate(1)
		require.NoError(t, err)
		require.EqualValues(t, 0, w.l.Producers()[0].LastSequence())
		require.NoError(t, w.l.TakeSnapshot())
		require.NoError(t, w.l.Reset(29, 29))
		require.Empty(t, w.l.State().Snapshots)
		require.EqualValues(t, 29, w.l.State().ProducersEnd)
	})
}

// A slice of what was cut is io.ErrUnexpectedEOF, and one below stays good.
func TestSlicesBesideATruncation(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.fill("a", "b", "c")
		below, err := w.l.Read(0, 1)
		require.NoError(t, err)
		defer below.Close()
		above, err := w.l.Read(2, 1)
		require.NoError(t, err)
		defer above.Close()
		_, err = w.l.Truncate(1)
		require.NoError(t, err)
		_, err = below.WriteTo(io.Discard)
		require.NoError(t, err)
		_, err = above.WriteTo(io.Discard)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	})
}

// L-20, L-21: at each step of a truncation a kill leaves one run: the old log, or a beginning of it that is
// not shorter than what stays. What replaces the records that went is never mixed with them.
func TestL20KillWhileTruncating(t *testing.T) {
	for step := 0; ; step++ {
		w := newWorld(t, backends[0])
		w.o.Config.SegmentBytes = 300
		w.open()
		w.fill(numbers(15)...)
		require.NoError(t, w.l.Sync(15))
		w.kill()
		n, at := 0, step
		var image fsio.FS
		w.intercept(func(op *fsio.Op, do func() error) error {
			if fsio.Mutates.Has(op.Kind) {
				if n == at {
					image = inMemory(t)
					copyTree(t, image, w.fs, w.dir)
				}
				n++
			}
			return do()
		})
		n = -1 << 30
		w.open()
		n = 0
		_, err := w.l.Truncate(5)
		require.NoError(t, err)
		w.close()
		if image == nil {
			require.Greater(t, step, 5)
			return
		}
		w.fs, w.o.FS = image, image
		w.open()
		end := w.l.EndOffset()
		require.GreaterOrEqual(t, end, int64(5), "step %d", step)
		got := w.values(0, log.ReadToEnd)
		require.Len(t, got, int(end), "step %d", step)
		for i := range end {
			require.Equal(t, fmt.Sprintf("value %d", i), got[i])
		}
		w.close()
	}
}

// Reset forgets producers and epochs.
func TestResetForgets(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var told []log.Truncated
		w.o.Events.Truncated = func(x log.Truncated) { told = append(told, x) }
		w.open()
		w.append(produced(t, 1, 0, 0, true, 1))
		require.NotEqual(t, codec.NoOffset, w.l.State().FirstUnstable)
		require.NoError(t, w.l.Reset(10, 10))
		st := w.l.State()
		assert.Empty(t, st.Producers)
		assert.Empty(t, st.Epochs)
		assert.Empty(t, st.Snapshots)
		assert.Equal(t, codec.NoOffset, st.FirstUnstable)
		assert.EqualValues(t, 10, st.EndOffset)
		assert.EqualValues(t, 10, st.ProducersEnd)
		assert.Len(t, told, 1)
		require.ErrorIs(t, w.l.Reset(3, 5), fs.ErrInvalid)
		w.fill("a")
		w.kill()
		w.open()
		assert.EqualValues(t, 11, w.l.EndOffset())
		assert.EqualValues(t, 10, w.l.StartOffset())
	})
}

// G70 testCreateAndDeleteSegment: a reset puts a new segment in the place of the old one.
func TestG70ResetReplacesTheSegment(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.fill("a")
		require.NoError(t, w.l.Reset(1, 1))
		require.Equal(t, []int64{1}, w.bases())
		require.True(t, w.exists(name20(0)+".log.deleted"))
		require.EqualValues(t, 1, w.l.EndOffset())
		require.Zero(t, w.l.RecoveryPoint())
		require.Empty(t, w.values(1, log.ReadToEnd))
	})
}

// G73 testIndexResizingAtTruncation: a segment that was rolled gives reserved space back, and gets it again when it
// is to be appended to.
func TestG73IndexesAtATruncation(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const messages, indexBytes = 10, 4096
		size := int64(len(stamped(t, started)))
		w.o.Config.SegmentBytes, w.o.Config.IndexIntervalBytes, w.o.Config.IndexBytes = messages*size, size-1, indexBytes
		w.open()
		fill := func() {
			for i := range int64(messages) {
				w.append(stamped(t, started+i))
			}
		}
		sizes := func(offset, time int) {
			t.Helper()
			files := w.files()
			require.Len(t, files[name20(0)+".index"], offset*8)
			require.Len(t, files[name20(0)+".timeindex"], time*12)
		}
		fill()
		require.Len(t, w.bases(), 1)
		fill()
		require.Len(t, w.bases(), 2)
		sizes(messages-1, messages-1)
		_, err := w.l.Truncate(0)
		require.NoError(t, err)
		require.Len(t, w.bases(), 1)
		sizes(indexBytes/8, indexBytes/12)
		fill()
		require.Len(t, w.bases(), 1)
	})
}

// G76 testTruncateBelowFirstUnstableOffset, testTruncateFullyAndStart(BelowFirstUnstableOffset), in a log that was
// opened anew since.
func TestG76TruncateBelowATransaction(t *testing.T) {
	for name, cut := range map[string]func(l *log.Log) error{
		"truncate": func(l *log.Log) error { _, err := l.Truncate(0); return err },
		"reset":    func(l *log.Log) error { return l.Reset(0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.open()
				w.fill("0", "1", "2")
				w.append(produced(t, 17, 10, 0, true, 2))
				require.EqualValues(t, 3, w.l.State().FirstUnstable)
				w.close()
				w.open()
				require.EqualValues(t, 3, w.l.State().FirstUnstable)
				require.NoError(t, cut(w.l))
				require.Equal(t, codec.NoOffset, w.l.State().FirstUnstable)
				require.Empty(t, w.l.Producers())
				require.NoError(t, w.l.Reset(2, 1))
				require.EqualValues(t, 1, w.l.StartOffset())
				require.EqualValues(t, 2, w.l.EndOffset())
			})
		})
	}
}
