package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/fixture"
)

// TestQuarantine keeps the end of a segment, twice, and is interrupted before a third time, of which nothing is left.
func TestQuarantine(t *testing.T) {
	data := filepath.Join(fixture.Golden(t, "4.4.0/transactions"), "data")
	p, err := openPartition(filepath.Join(data, "txn-0"))
	require.NoError(t, err)
	defer func() { require.NoError(t, p.close()) }()
	log, err := os.ReadFile(filepath.Join(data, "txn-0", "00000000000000000000.log"))
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()

	q, err := openQuarantine("", filepath.Join(data, "txn-0"))
	require.NoError(t, err)
	require.ErrorIs(t, q.keep(ended, p, 0, 100), context.Canceled)
	require.NoError(t, q.close())
	assert.NoDirExists(t, data+".quarantine")

	q, err = openQuarantine("", filepath.Join(data, "txn-0"))
	require.NoError(t, err)
	require.NoError(t, q.keep(t.Context(), p, 0, 100))
	require.NoError(t, q.keep(t.Context(), p, 0, 100))
	require.ErrorIs(t, q.keep(ended, p, 0, 100), context.Canceled)
	require.NoError(t, q.close())
	for _, name := range []string{"00000000000000000000.log.100", "00000000000000000000.log.100.1"} {
		kept, err := os.ReadFile(filepath.Join(data+".quarantine", "txn-0", name))
		require.NoError(t, err)
		assert.Equal(t, log[100:], kept)
	}
	entries, err := os.ReadDir(filepath.Join(data+".quarantine", "txn-0"))
	require.NoError(t, err)
	assert.Len(t, entries, 2)
}
