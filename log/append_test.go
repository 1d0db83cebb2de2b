package log_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/log"
)

// G1 testAppendInfoFirstOffset.
func TestG1AppendTellsItsOffsets(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		three := func() log.Appended { return w.append(set(t, rec("a"), rec("b"), rec("c"))) }
		assert.EqualValues(t, 0, three().BaseOffset)
		assert.EqualValues(t, 3, three().BaseOffset)
		base, err := w.l.Roll()
		require.NoError(t, err)
		assert.EqualValues(t, 6, base)
		got := three()
		assert.EqualValues(t, 6, got.BaseOffset)
		assert.EqualValues(t, 8, got.LastOffset)
		assert.Equal(t, 3, got.Records)
		assert.EqualValues(t, 9, w.l.EndOffset())
		assert.Len(t, w.values(0, log.ReadUncommitted), 9)
	})
}

// H1 testLogRecoversToCorrectOffset.
func TestH1ReopenFindsTheEnd(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 2000
		w.open()
		w.fill(numbers(100)...)
		before := w.l.State()
		want := w.values(0, log.ReadUncommitted)
		require.Len(t, want, 100)
		w.close()
		closed := w.files()

		w.open()
		after := w.l.State()
		assert.Equal(t, before.EndOffset, after.EndOffset)
		assert.Equal(t, len(before.Segments), len(after.Segments))
		assert.EqualValues(t, 100, after.RecoveryPoint)
		assert.Equal(t, want, w.values(0, log.ReadUncommitted))
		w.close()
		assert.Equal(t, closed, w.files(), "a clean open and close changed files")

		w.open()
		w.fill("one more")
		w.kill()
		w.open()
		assert.EqualValues(t, 101, w.l.EndOffset())
		assert.Len(t, w.values(0, log.ReadUncommitted), 101)
		w.close()
	})
}
