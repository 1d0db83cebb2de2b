package index_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
)

// TestCloseBesideAppender: an index that was sealed, and that a reader closes late, leaves the file to the
// one that was opened meanwhile to append again.
func TestCloseBesideAppender(t *testing.T) {
	for name, open := range map[string]index.OpenFunc{"mmap": index.OpenMmap, "file": index.OpenFile} {
		t.Run(name, func(t *testing.T) {
			fsys := aferofs.Mem()
			o := index.Options{Layout: index.OffsetLayout, MaxBytes: 800}
			sealed, err := open(fsys, "x", o)
			require.NoError(t, err)
			require.NoError(t, sealed.Append(index.Entry{Key: 1, Value: 1}))
			require.NoError(t, sealed.Seal())
			again, err := open(fsys, "x", o)
			require.NoError(t, err)
			require.NoError(t, sealed.Close())
			info, err := fsys.Stat("x")
			require.NoError(t, err)
			require.EqualValues(t, 800, info.Size())
			require.NoError(t, again.Append(index.Entry{Key: 2, Value: 2}))
			require.NoError(t, again.Close())
			info, err = fsys.Stat("x")
			require.NoError(t, err)
			require.EqualValues(t, 16, info.Size())
		})
	}
}
