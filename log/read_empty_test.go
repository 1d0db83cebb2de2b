package log_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/log"
)

// Traces 006, 007, 008: a read that has nothing to read yet tells the place that it waits at.
func TestEmptyReadHasPlace(t *testing.T) {
	type place struct{ base, pos int64 }
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		w.open()
		w.append(set(t, rec("a"), rec("b")))
		size := int64(len(set(t, rec("a"), rec("b"))))
		w.append(set(t, rec("c"), rec("d")))
		_, err := w.l.Roll()
		require.NoError(t, err)
		w.append(set(t, rec("e"), rec("f")))
		w.l.SetHighWatermark(2)
		for _, row := range []struct {
			offset    int64
			isolation log.Isolation
			want      place
		}{
			{2, log.ReadUncommitted, place{0, size}},
			{3, log.ReadUncommitted, place{0, size}}, // inside of a batch: where that begins
			{4, log.ReadUncommitted, place{4, 0}},
			{5, log.ReadCommitted, place{4, 0}},
			{6, log.ReadUncommitted, place{4, size}},
			{6, log.ReadToEnd, place{4, size}},
		} {
			s, err := w.l.ReadWith(row.offset, log.ReadOptions{Isolation: row.isolation})
			require.NoError(t, err)
			base, pos, ok := s.Place()
			assert.True(t, ok, "offset %d", row.offset)
			assert.Equal(t, row.want, place{base, pos}, "offset %d", row.offset)
			assert.Zero(t, s.Len())
			require.NoError(t, s.Close())
		}
	})
}
