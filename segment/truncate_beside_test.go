package segment_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// slowIndex holds up look-ups while there is a gate.
type slowIndex struct {
	index.Index
	gate *chan struct{}
}

func (x slowIndex) Lookup(key int64) (index.Entry, bool) {
	if *x.gate != nil {
		<-*x.gate
	}
	return x.Index.Lookup(key)
}

// A sealed segment that is cut opens its indexes anew: not before the look-ups in those of before are over, since what
// is appended takes the place of entries that they may be looking at.
func TestTruncateWaitsForLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gate chan struct{}
		w := world{fs: aferofs.Mem(), t: t, parts: segment.Parts{
			OpenIndex: func(fsys fsio.FS, name string, o index.Options) (index.Index, error) {
				x, err := index.OpenMmap(fsys, name, o)
				return slowIndex{x, &gate}, err
			},
		}}
		w.filled(t, 3)
		s := w.open(t, 0, segment.Options{Sealed: true})
		gate = make(chan struct{})
		read, cut := false, false
		go func() {
			r, _, err := s.Read(0, segment.Limits{MaxBytes: 1 << 20})
			assert.NoError(t, err)
			assert.NoError(t, r.Close())
			read = true
		}()
		synctest.Wait()
		require.False(t, read, "in a look-up")
		slow := gate
		gate = nil // the others are not held up
		go func() {
			_, err := s.Truncate(2)
			assert.NoError(t, err)
			cut = true
		}()
		synctest.Wait()
		require.False(t, cut, "beside the look-up")
		close(slow)
		synctest.Wait()
		require.True(t, read && cut)
	})
}
