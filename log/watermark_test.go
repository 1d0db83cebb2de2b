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

// Trace transactions-4: to raise a high watermark to where it is takes it over a hole behind it.
func TestRaiseHighWatermarkOverAHole(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		w.open()
		w.append(set(t, rec("a"), rec("b"), rec("c")))
		_, _, err := w.l.RaiseHighWatermark(0) // from here on it has a place
		require.NoError(t, err)
		_, err = w.l.Truncate(2)
		require.NoError(t, err)
		w.append(set(t, rec("d"), rec("e")))
		assert.EqualValues(t, 0, w.l.HighWatermark())
		was, moved, err := w.l.RaiseHighWatermark(0)
		require.NoError(t, err)
		assert.True(t, moved)
		assert.EqualValues(t, 0, was)
		assert.EqualValues(t, 2, w.l.HighWatermark())

		w.append(set(t, rec("f")))
		w.l.SetHighWatermark(4)
		_, err = w.l.DeleteBefore(4)
		require.NoError(t, err)
		was, moved, err = w.l.RaiseHighWatermark(3) // below the start nothing has a place (trace timestamps-2)
		require.NoError(t, err)
		assert.False(t, moved)
		assert.EqualValues(t, 4, was)
		assert.EqualValues(t, 4, w.l.HighWatermark())
	})
}

// What lies below the start has no place: to raise a high watermark to there leaves it, as recorded from Kafka.
func TestRaiseHighWatermarkBelowTheStart(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		w.open()
		w.fill(numbers(6)...)
		w.l.SetHighWatermark(4)
		_, err := w.l.DeleteBefore(3)
		require.NoError(t, err)
		for _, offset := range []int64{2, 0, 3, 4} {
			was, moved, err := w.l.RaiseHighWatermark(offset)
			require.NoError(t, err)
			assert.False(t, moved, "raised to %d", offset)
			assert.EqualValues(t, 4, was)
			assert.EqualValues(t, 4, w.l.HighWatermark())
		}
		_, moved, err := w.l.RaiseHighWatermark(5)
		require.NoError(t, err)
		assert.True(t, moved)
		assert.EqualValues(t, 5, w.l.HighWatermark())
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

// G49 testHighWatermarkMaintenance.
func TestG49HighWatermark(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		w.open()
		is := func(want int64, why string) {
			t.Helper()
			require.Equal(t, want, w.l.HighWatermark(), why)
		}
		is(0, "at first")
		w.fill("a", "b", "c")
		is(0, "not moved by an append")
		_, _, err := w.l.RaiseHighWatermark(1)
		require.NoError(t, err)
		is(1, "as leader")
		w.l.SetHighWatermark(5)
		is(3, "not past the end")
		for i := range int64(3) {
			_, err := w.l.AppendAssigned(at(t, 3+i, 0, "v"), 0)
			require.NoError(t, err)
		}
		w.l.SetHighWatermark(6)
		is(6, "as follower")
		_, err = w.l.Truncate(3)
		require.NoError(t, err)
		is(3, "truncated")
		w.fill("d", "e", "f")
		is(3, "not moved by an append")
		require.EqualValues(t, 6, w.l.EndOffset())
		require.Zero(t, w.l.StartOffset())
		require.NoError(t, w.l.Reset(4, 4))
		is(4, "reset")
		require.EqualValues(t, 4, w.l.EndOffset())
		require.EqualValues(t, 4, w.l.StartOffset())
	})
}

// G50 testMaybeUpdateHighWatermarkAsFollower.
func TestG50HighWatermarkOfAFollower(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		w.open()
		w.fill(numbers(100)...)
		for _, row := range []struct {
			to, at int64
			moved  bool
		}{{99, 99, true}, {99, 99, false}, {100, 100, true}, {101, 100, false}} {
			at, moved := w.l.SetHighWatermark(row.to)
			require.Equal(t, row.at, at)
			require.Equal(t, row.moved, moved, "moved to %d", row.to)
		}
	})
}

// G51 testOffsetSnapshot: all offsets of one moment, and the places of the high watermark and the stable offset.
func TestG51Offsets(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		w.open()
		w.append(produced(t, 1, 0, 0, true, 1))
		w.fill("b", "c")
		w.l.SetHighWatermark(2)
		st := w.l.State()
		require.EqualValues(t, 0, st.StartOffset)
		require.EqualValues(t, 3, st.EndOffset)
		require.EqualValues(t, 2, st.HighWatermark)
		require.EqualValues(t, 0, st.StableOffset)
		sizes := []int64{0, int64(len(produced(t, 1, 0, 0, true, 1))), int64(len(set(t, rec("b"))))}
		for i, offset := range map[log.Isolation]int64{log.ReadUncommitted: 2, log.ReadCommitted: 0} {
			s, err := w.l.ReadWith(offset, log.ReadOptions{Isolation: i})
			require.NoError(t, err)
			_, pos, ok := s.Place()
			require.True(t, ok)
			require.Zero(t, s.Len())
			want := int64(0)
			for j := range offset + 1 {
				want += sizes[j]
			}
			require.Equal(t, want, pos)
			require.NoError(t, s.Close())
		}
	})
}
