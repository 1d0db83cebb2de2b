//go:build invariant

package fsio_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
)

// TestMapBusy: in builds that look for broken rules, a Viewer that would wait for itself is told so.
func TestMapBusy(t *testing.T) {
	m, _ := mapped(t, 1)
	require.NoError(t, m.View(0, 1, fsio.ViewFunc(func([]byte) error {
		assert.ErrorIs(t, m.Close(), fsio.ErrMapBusy)
		assert.ErrorIs(t, m.Resize(2*page), fsio.ErrMapBusy)
		return nil
	})))
	assert.Equal(t, page, m.Len(), "the map goes on")
	require.NoError(t, m.Resize(2*page))
}
