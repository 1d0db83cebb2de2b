package cli

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/fixture"
)

// TestCatSegmentGone has a broker remove the first segment behind the back of a reader, who goes on with the next.
func TestCatSegmentGone(t *testing.T) {
	dir := filepath.Join(fixture.Golden(t, "4.4.0/transactions"), "data", "txn-0")
	p, err := openPartition(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.close()) }()
	require.NoError(t, os.Remove(filepath.Join(dir, "00000000000000000000.log")))
	var out, errs bytes.Buffer
	lay, err := parseLayout(`%o\n`)
	require.NoError(t, err)
	c := &cat{env: &env{out: bufio.NewWriter(&out), errs: &errs}, codec: codec.Kafka(), lay: lay, left: 2}
	require.NoError(t, c.segments(t.Context(), p, 0))
	require.NoError(t, c.out.Flush())
	assert.Equal(t, "17\n18\n", out.String())
	assert.Contains(t, errs.String(), "txn-0/00000000000000000000.log is gone")
	assert.False(t, c.bad)
}
