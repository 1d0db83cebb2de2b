package cli

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/fixture"
	"github.com/stratalog/strata/log"
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

// TestBesideWriter has a file go between the list of a directory and the look at it, once and for ever.
func TestBesideWriter(t *testing.T) {
	opened := 0
	open := func(good int) func() (*log.Log, error) {
		opened = 0
		return func() (*log.Log, error) {
			if opened++; opened == good {
				return &log.Log{}, nil
			}
			return nil, &fs.PathError{Op: "open", Path: "a-0/00000000000000000000.log", Err: fs.ErrNotExist}
		}
	}
	l, err := besideWriter(open(2))
	require.NoError(t, err)
	assert.NotNil(t, l)
	assert.Equal(t, 2, opened)
	l, err = besideWriter(open(0))
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.Nil(t, l)
	assert.Less(t, opened, 100)
}
