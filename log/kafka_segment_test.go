package log_test

import (
	"math"
	"os"
	"path"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/log"
)

// The tests here are Kafka's of one segment, and of the list of them, that need more than a segment: the
// producers, the leader epochs, the clock.

// transaction is a transactional batch of two records, as a follower gets it.
func transaction(tb testing.TB, id, offset int64, sequence int32) []byte {
	tb.Helper()
	h := codec.NewHeader(2)
	h.BaseOffset, h.LeaderEpoch = offset, 0
	h.ProducerID, h.ProducerEpoch, h.BaseSequence = id, 0, sequence
	h.Attributes |= codec.TransactionalBit
	return batch(tb, h, rec("a"), rec("b"))
}

// ended is a marker, as a follower gets it.
func ended(tb testing.TB, id, offset int64, commit bool) []byte {
	tb.Helper()
	h := codec.NewHeader(2)
	h.BaseOffset, h.LeaderEpoch, h.ProducerID, h.ProducerEpoch = offset, 0, id, 0
	b, err := codec.AppendMarker(nil, h, codec.Marker{Commit: commit}, started)
	require.NoError(tb, err)
	return b
}

// follow appends what a leader has assigned offsets to.
func (w *world) follow(sets ...[]byte) {
	w.Helper()
	for _, s := range sets {
		_, err := w.l.AppendAssigned(s, math.MaxInt32)
		require.NoError(w, err)
	}
}

// F16 testRecoverTransactionIndex: what of producer 2 was aborted, also where a snapshot tells that its transaction
// began in a segment below.
func TestF16RecoverTransactionIndex(t *testing.T) {
	for _, row := range []struct {
		name  string
		begun int64 // producer 2's transaction; 100: with the others
		want  index.AbortedTxn
	}{
		{"in the segment", 102, index.AbortedTxn{ProducerID: 2, FirstOffset: 102, LastOffset: 106, StableOffset: 100}},
		{"below it", 75, index.AbortedTxn{ProducerID: 2, FirstOffset: 75, LastOffset: 106, StableOffset: 100}},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.o.Resume = &log.Resume{RecoveryPoint: 100}
				w.open()
				sequence := int32(0)
				if row.begun < 100 {
					require.NoError(t, w.l.Reset(row.begun, row.begun))
					w.follow(transaction(t, 2, row.begun, 0))
					sequence = 2
					w.follow(at(t, 99, 0, "x"))
					_, err := w.l.Roll()
					require.NoError(t, err)
				} else {
					require.NoError(t, w.l.Reset(100, 100))
				}
				w.follow(
					transaction(t, 1, 100, 0), transaction(t, 2, 102, sequence), at(t, 104, 0, "x"), at(t, 105, 0, "y"),
					ended(t, 2, 106, false), ended(t, 1, 107, true),
				)
				aborted, err := w.l.Aborted(0, 200)
				require.NoError(t, err)
				require.Equal(t, []index.AbortedTxn{row.want}, aborted)
				w.kill()
				name := path.Join(w.dir, name20(100)+".txnindex")
				want := read(t, w.fs, name)
				require.NoError(t, w.fs.Remove(name))
				w.open()
				require.Equal(t, want, read(t, w.fs, name))
			})
		})
	}
}

// F17 testRecoveryRebuildsEpochCache.
func TestF17RecoverEpochs(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		for _, b := range []struct {
			offset int64
			epoch  int32
		}{{104, 0}, {106, 1}, {108, 1}, {110, 2}} {
			h := codec.NewHeader(2)
			h.BaseOffset, h.LeaderEpoch = b.offset, b.epoch
			w.follow(batch(t, h, rec("a"), rec("b")))
		}
		w.kill()
		require.NoError(t, w.fs.Remove(path.Join(w.dir, "leader-epoch-checkpoint")))
		w.open()
		require.Equal(t, []log.Epoch{{Epoch: 0, StartOffset: 104}, {Epoch: 1, StartOffset: 106}, {Epoch: 2, StartOffset: 110}}, w.l.Epochs())
	})
}

// F9 testTruncateEmptySegment, F11 testTruncateFull: a segment that is emptied begins its life anew.
func TestF11TruncatedSegmentBeginsAnew(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const age = time.Hour
		w.o.Config.SegmentAge = age
		w.open()
		w.append(stamped(t, -1))
		w.clock.Advance(age - time.Minute)
		_, err := w.l.Truncate(0)
		require.NoError(t, err)
		w.clock.Advance(age - time.Minute)
		w.append(stamped(t, -1))
		w.append(stamped(t, -1))
		require.Equal(t, []int64{0}, w.bases(), "it is not older than its truncation")
		w.clock.Advance(2 * time.Minute)
		w.append(stamped(t, -1))
		require.Equal(t, []int64{0, 2}, w.bases())

		_, err = w.l.Truncate(2)
		require.NoError(t, err)
		now := w.clock.Now().UnixMilli()
		w.append(stamped(t, now))
		w.append(stamped(t, now+age.Milliseconds()))
		require.Equal(t, []int64{0, 2}, w.bases(), "its age is counted from the first record")
		w.append(stamped(t, now+age.Milliseconds()+1))
		require.Equal(t, []int64{0, 2, 4}, w.bases())
	})
}

// F30 testSizeForLargeLogs: sizes of segments are 32 bits wide, their sum is not.
func TestF30SizeOfALargeLog(t *testing.T) {
	w := newWorld(t, backend{newFS: onOS}) // where a file takes no room for its holes
	w.o.Resume = &log.Resume{Clean: true}
	w.open()
	for range 3 {
		w.fill("v")
		_, err := w.l.Roll()
		require.NoError(t, err)
	}
	w.close()
	for _, base := range []int64{0, 1, 2} {
		f, err := w.fs.OpenFile(path.Join(w.dir, name20(base)+".log"), os.O_RDWR, 0)
		require.NoError(t, err)
		require.NoError(t, f.Truncate(1<<31-1))
		require.NoError(t, f.Close())
	}
	w.open()
	assert.Equal(t, int64(3*(1<<31-1)), w.l.Stats().Bytes)
}

// F31 testClose: a log that was closed has no file open, of any segment.
func TestF31CloseClosesAll(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var open atomic.Int64
		w.intercept(func(op *fsio.Op, do func() error) error {
			err := do()
			switch {
			case err != nil:
			case op.Kind == fsio.OpOpen || op.Kind == fsio.OpCreate || op.Kind == fsio.OpMap:
				open.Add(1)
			case op.Kind == fsio.OpClose || op.Kind == fsio.OpMapClose:
				open.Add(-1)
			}
			return err
		})
		w.o.Config.SegmentBytes = 300
		w.open()
		w.fill(numbers(20)...)
		require.Greater(t, len(w.bases()), 4)
		w.first(0)
		require.Positive(t, open.Load())
		w.close()
		require.Zero(t, open.Load())
	})
}
