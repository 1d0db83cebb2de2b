package log_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// A reset with a start below it leaves offsets that no segment has, and writes the epoch file also where
// there were no epochs, as recorded runs of Kafka show (epochs, seed 3034; mixed, seed 3034).
func TestResetAboveStart(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		require.NoError(t, w.l.Reset(17, 13))
		require.EqualValues(t, 13, w.l.StartOffset())
		_, err := w.l.ReadWith(16, log.ReadOptions{})
		require.ErrorIs(t, err, log.ErrOffsetOutOfRange)
		s, err := w.l.ReadWith(17, log.ReadOptions{})
		require.NoError(t, err)
		require.NoError(t, s.Close())
		assert.Equal(t, "0\n0\n", w.files()["leader-epoch-checkpoint"])
	})
}

// A truncation below the end of a transaction leaves the stable offset where it was, until the next append
// or move of the high watermark, as in Kafka (transactions, seed 3034).
func TestTruncateLeavesStableOffset(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		w.open()
		w.append(produced(t, 1, 0, 0, true, 1))
		w.append(set(t, rec("a")))
		w.end(1, 0, true) // at 2, above the high watermark: decided, and not yet stable
		w.l.SetHighWatermark(1)
		_, err := w.l.Roll()
		require.NoError(t, err)
		w.append(set(t, rec("b"), rec("c")))
		require.Zero(t, w.l.StableOffset())

		_, err = w.l.Truncate(4)
		require.NoError(t, err)
		assert.Zero(t, w.l.StableOffset(), "the snapshot at 3 knows no open transaction")
		w.append(set(t, rec("d")))
		assert.EqualValues(t, 1, w.l.StableOffset())
	})
}

// Of a segment that was not asked for its largest timestamp since it was opened, a truncation leaves what the
// time index tells, as in Kafka (idempotent, seed 4043).
func TestTruncateForgetsLargestTimestamp(t *testing.T) {
	for _, asked := range []bool{false, true} {
		onEach(t, func(t *testing.T, w *world) {
			w.o.Resume = &log.Resume{Clean: true}
			w.open()
			w.fill("a")
			w.append(set(t, codec.Record{Timestamp: started + 1, Value: []byte("b")})) // to which the time index leads
			w.close()
			w.open()
			want := int64(-1)
			if asked {
				_, _, err := w.l.OffsetForTime(started)
				require.NoError(t, err)
				want = started
			}
			_, err := w.l.Truncate(1)
			require.NoError(t, err)
			assert.Equal(t, want, w.l.State().Segments[0].MaxTimestamp)
		})
	}
}

// What a recovery has found of timestamps stays known, as in Kafka: a truncation that takes the last time entry
// looks at the batches that are left then.
func TestTruncateBehindARecovery(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Resume = &log.Resume{}
		w.open()
		w.append(set(t, codec.Record{Timestamp: started + 5, Value: []byte("a")}))
		w.append(set(t, codec.Record{Timestamp: started + 7, Value: []byte("b")}))
		w.kill()
		w.open()
		_, err := w.l.Truncate(1)
		require.NoError(t, err)
		s := w.l.State().Segments[0]
		require.Equal(t, started+5, s.MaxTimestamp)
		require.Zero(t, s.MaxTimestampOffset)
		f, ok, err := w.l.OffsetForTime(started + 6)
		require.NoError(t, err)
		require.False(t, ok, "%+v", f)
	})
}
