package log_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// The answers are those of Kafka 4.4's log layer to the same calls.

// openBeforeHole opens a log with an open transaction of one record, and a hole from there to its end at 18.
func (w *world) openBeforeHole() *log.Log {
	w.Helper()
	l := w.open()
	w.append(produced(w, 1, 0, 0, true, 1))
	h := codec.NewHeader(2)
	h.BaseOffset, h.LeaderEpoch = 16, 0
	_, err := l.AppendAssigned(batch(w, h, rec("a"), rec("b"), rec("c"), rec("d")), 0)
	require.NoError(w, err)
	_, err = l.Truncate(18)
	require.NoError(w, err)
	return l
}

// TestStartInHole moves the start past the only record of an open transaction, into a hole that a truncation
// has left: what is undecided begins at the end then.
func TestStartInHole(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		l := w.openBeforeHole()
		require.Equal(t, int64(0), l.StableOffset())

		moved, err := l.DeleteBefore(7)
		require.NoError(t, err)
		assert.True(t, moved)
		assert.Equal(t, int64(18), l.StableOffset())
		assert.Equal(t, int64(18), l.State().FirstUnstable)
	})
}

// TestRaiseDecides raises a high watermark that lies in a hole: it moves to the end, and what a truncation has
// taken is no longer undecided.
func TestRaiseDecides(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		l := w.open()
		w.append(produced(t, 1, 0, 0, true, 3))
		_, err := l.Truncate(1)
		require.NoError(t, err)
		require.Equal(t, int64(0), l.State().FirstUnstable, "as in Kafka, it was not looked for")

		_, moved, err := l.RaiseHighWatermark(0)
		require.NoError(t, err)
		assert.False(t, moved)
		assert.Equal(t, int64(1), l.HighWatermark())
		assert.Equal(t, int64(1), l.StableOffset())
		assert.Equal(t, codec.NoOffset, l.State().FirstUnstable)
	})
}

// TestDuplicateWithAppendTime tells of a duplicate the timestamp that it would have got, and the append time
// of the first.
func TestDuplicateWithAppendTime(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.Timestamps = log.LogAppendTime
		w.open()
		w.append(produced(t, 1, 0, 0, false, 1))
		w.clock.Advance(1_000_000_000)
		got := w.append(produced(t, 1, 0, 0, false, 1))
		assert.True(t, got.Duplicate)
		assert.Equal(t, started+1000, got.MaxTimestamp)
		assert.Equal(t, started, got.AppendTimestamp)
	})
}

// TestAllBelowStart opens a log in which a truncation has left nothing at its start or above: the producers
// that the snapshots tell of are gone with the rest.
func TestAllBelowStart(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		l := w.openBeforeHole()
		_, err := l.DeleteBefore(18)
		require.NoError(t, err)
		require.Len(t, l.Producers(), 1)
		w.close()

		st := w.open().State()
		assert.Equal(t, []int64{18, 18}, []int64{st.StartOffset, st.EndOffset})
		assert.Equal(t, []int64{18}, st.Snapshots)
		assert.Len(t, w.files()["00000000000000000018.snapshot"], 10, "without producers")
		assert.Empty(t, st.Producers)
	})
}

// TestRefusedBehindGap refuses a follower's append behind a gap, for which the log would have rolled. Kafka has
// rolled by then: it refuses an append at the end, or puts it into the segment that begins above it, where our
// recovery would cut it.
func TestRefusedBehindGap(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 200
		l := w.open()
		w.append(produced(t, 1, 0, 0, true, 2))
		h := codec.NewHeader(2)
		h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.BaseOffset, h.LeaderEpoch = 1, 0, 2, 3, 0
		_, err := l.AppendAssigned(batch(t, h, rec(strings.Repeat("x", 100))), 0)
		require.ErrorIs(t, err, log.ErrInvalidTxnState)
		assert.Equal(t, []int64{0}, w.bases())

		got := w.append(set(t, rec("a"), rec("b"), rec("c")))
		assert.Equal(t, int64(2), got.BaseOffset)
		w.kill()
		assert.Equal(t, int64(5), w.open().EndOffset())
		assert.Len(t, w.values(2, log.ReadToEnd), 3)
	})
}
