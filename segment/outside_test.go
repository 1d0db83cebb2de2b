package segment_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/segment"
)

// A batch that no segment has is refused, wherever it ends.
func TestReadBatchOutside(t *testing.T) {
	fsys := aferofs.Mem()
	require.NoError(t, fsys.MkdirAll("d", 0o755))
	s, err := segment.Open(fsys, segment.Parts{}, "d", 0, segment.Options{IndexBytes: 4096, SegmentBytes: 4096})
	require.NoError(t, err)
	for _, b := range []segment.Batch{
		{Pos: -1},
		{Pos: 1},
		{Header: codec.Header{Size: 1}},
		{Header: codec.Header{Size: -1}},
		{Pos: math.MaxInt64, Header: codec.Header{Size: math.MaxInt}},
	} {
		_, err := s.ReadBatch(nil, b)
		require.ErrorIs(t, err, segment.ErrRange)
	}
	require.NoError(t, s.Close())
}
