package log_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// Traces 117, 122, 125: a high watermark that is raised into a batch stays before it, since Kafka raises it
// from one place in a file to another. In a hole it is the end.
func TestRaiseHighWatermark(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		w.open()
		w.append(set(t, rec("a"), rec("b"), rec("c")))
		w.append(set(t, rec("d"), rec("e")))
		for _, row := range []struct {
			to, was, at int64
			moved       bool
		}{
			{to: 2, was: 0, at: 0},
			{to: 3, was: 0, at: 3, moved: true},
			{to: 4, was: 3, at: 3},
			{to: 1, was: 3, at: 3},
			{to: 5, was: 3, at: 5, moved: true},
		} {
			was, moved, err := w.l.RaiseHighWatermark(row.to)
			require.NoError(t, err)
			assert.Equal(t, row.was, was, "raised to %d", row.to)
			assert.Equal(t, row.moved, moved, "raised to %d", row.to)
			assert.Equal(t, row.at, w.l.HighWatermark(), "raised to %d", row.to)
		}
		w.l.SetHighWatermark(3)
		_, err := w.l.Truncate(4) // a hole: 3 went with its batch
		require.NoError(t, err)
		w.l.SetHighWatermark(0)
		_, moved, err := w.l.RaiseHighWatermark(3)
		require.NoError(t, err)
		assert.True(t, moved)
		assert.EqualValues(t, 4, w.l.HighWatermark())
	})
}

// Trace 030: a follower's append of magic 0 or 1 does not tell its first offset, as in Kafka, also where one
// could.
func TestFollowerAppendOfOldFormat(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		for magic, base := range []int64{0, 1} {
			h := codec.NewHeader(int8(magic))
			h.BaseOffset = base
			got, err := w.l.AppendAssigned(batch(t, h, codec.Record{Offset: base, Timestamp: -1, Value: []byte("x")}), 0)
			require.NoError(t, err)
			assert.Equal(t, codec.NoOffset, got.BaseOffset)
			assert.Equal(t, base, got.LastOffset)
		}
		h := codec.NewHeader(1)
		_, err := w.l.AppendAssigned(batch(t, h, codec.Record{Timestamp: -1, Value: []byte("x")}), 0)
		assert.Equal(t, &log.UnexpectedOffset{First: 0, Last: 0, EndOffset: 2}, unexpected(t, err))
	})
}

// unexpected is the *log.UnexpectedOffset in err.
func unexpected(t *testing.T, err error) *log.UnexpectedOffset {
	t.Helper()
	var e *log.UnexpectedOffset
	require.ErrorAs(t, err, &e)
	return e
}
