package log

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/internal/checkpoint"
)

// What a slot says is asked once others can write none: a Sync must not write a start that a DeleteBefore has moved
// meanwhile.
func TestSlotIsAskedInTurn(t *testing.T) {
	fsys := aferofs.Mem()
	c, err := openOwn(fsys, checkpoint.Strata, checkpoint.Slot{CleanerOffset: 5}, 0)
	require.NoError(t, err)
	err = c.write(func() checkpoint.Slot {
		require.False(t, c.mu.TryLock())
		return checkpoint.Slot{StartOffset: 7}
	}, true)
	require.NoError(t, err)
	require.NoError(t, c.close())
	s, _, ok, err := checkpoint.ReadSlot(fsys, checkpoint.Strata)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, checkpoint.Slot{Number: 1, StartOffset: 7, CleanerOffset: 5}, s)
}
