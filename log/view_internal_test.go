package log

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// F29 testClosestMatchOperations, F30 testHigherSegments: the segment that an offset lies in, and what comes
// behind. Below the first there is none in Kafka; here it is the first.
func TestF29Floor(t *testing.T) {
	v := view{end: 9}
	for _, base := range []int64{1, 3, 5} {
		o := segment.Options{IndexBytes: 96}
		s, err := segment.Open(aferofs.Mem(), segment.Parts{OpenIndex: index.OpenFile}.WithDefaults(), ".", base, o)
		require.NoError(t, err)
		defer s.Close()
		v.segs = append(v.segs, s)
	}
	assert.Equal(t, []int64{1, 3, 5}, v.bases())
	assert.EqualValues(t, 5, v.active().BaseOffset())
	for offset, want := range []struct{ floor, next int64 }{{1, 3}, {1, 3}, {1, 3}, {3, 5}, {3, 5}, {5, 9}, {5, 9}} {
		i := v.floor(int64(offset))
		assert.Equal(t, want.floor, v.segs[i].BaseOffset(), "floor of %d", offset)
		assert.Equal(t, want.next, v.next(i), "behind %d", offset)
	}
}
