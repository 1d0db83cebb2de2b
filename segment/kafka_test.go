package segment_test

import (
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// F22 testGetFirstBatchTimestamp: of an empty segment it is none, which Kafka writes as the largest number.
func TestFirstTimestamp(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		s := w.open(t, 1, segment.Options{})
		first, err := s.FirstTimestamp()
		require.NoError(t, err)
		assert.Equal(t, codec.NoTimestamp, first)
		for offset := int64(100); offset < 103; offset++ {
			put(t, s, batch(t, offset, 1, 10))
		}
		require.NoError(t, s.Close())
		s = w.open(t, 1, segment.Options{})
		first, err = s.FirstTimestamp()
		require.NoError(t, err)
		assert.EqualValues(t, 1000, first)
	})
}

// E30 testDeleteIfExists of a transaction index, F23 testDeleteIfExistsWithGetParentIsNull, F24: the four files go,
// whichever of them are there, also in a directory without a parent.
func TestRemove(t *testing.T) {
	all := []string{segment.LogExt, segment.IndexExt, segment.TimeIndexExt, segment.TxnIndexExt}
	for _, missing := range append(all, "") {
		t.Run("without "+missing, func(t *testing.T) {
			eachWorld(t, func(w world) {
				t := w.t
				s, err := segment.Open(w.fs, w.parts, ".", 40, segment.Options{IndexBytes: smallIndex})
				require.NoError(t, err)
				put(t, s, batch(t, 40, 1, 10))
				require.NoError(t, s.AppendAborted(index.AbortedTxn{LastOffset: 40}))
				require.NoError(t, s.Seal())
				for _, extension := range all {
					name := segment.FileName(40, extension, segment.Live)
					_, err := w.fs.Stat(name)
					require.NoError(t, err)
					if extension == missing {
						require.NoError(t, w.fs.Remove(name))
					}
				}
				require.NoError(t, s.Remove())
				require.NoError(t, s.Remove())
				entries, err := w.fs.ReadDir(".")
				require.NoError(t, err)
				assert.Empty(t, entries)
			})
		})
	}
}

// F27: the message set comes first, so that no entry that is durable leads to a batch that is not.
func TestSyncOrder(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		var synced []string
		w.fs = fsio.Intercept(w.fs, func(op *fsio.Op, do func() error) error {
			if op.Kind == fsio.OpSync || op.Kind == fsio.OpMapFlush {
				if extension := path.Ext(op.Path); len(synced) == 0 || synced[len(synced)-1] != extension {
					synced = append(synced, extension)
				}
			}
			return do()
		})
		s := w.open(t, 40, segment.Options{})
		put(t, s, batch(t, 40, 1, 10))
		require.NoError(t, s.AppendAborted(index.AbortedTxn{LastOffset: 40}))
		require.NoError(t, s.Sync())
		assert.Equal(t, []string{".log", ".txnindex"}, synced, "of an active segment the others can be built anew")
		synced = nil
		require.NoError(t, s.Sync())
		assert.Equal(t, []string{".log"}, synced, "what has not changed is not synced")
		require.NoError(t, s.Seal())
		synced = nil
		require.NoError(t, s.Sync())
		assert.Equal(t, []string{".log", ".index", ".timeindex", ".txnindex"}, synced)
	})
}

// E32, F14: a segment whose files were never opened is renamed, moves with its directory, and goes.
func TestRenameUnopened(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		w.filled(t, 20)
		want := w.files(t, "p-0")
		require.Len(t, want, 3)
		opened := 0
		inner := w.fs
		w.fs = fsio.Intercept(inner, func(op *fsio.Op, do func() error) error {
			if op.Kind == fsio.OpOpen || op.Kind == fsio.OpCreate {
				opened++
			}
			return do()
		})
		s := w.open(t, 0, segment.Options{Sealed: true})
		require.NoError(t, s.Rename(segment.Deleted))
		moveTo(t, w, s, "p-0", "q-0")
		require.NoError(t, s.Rename(segment.Live))
		assert.Zero(t, opened)
		w.fs = inner
		assert.Equal(t, want, w.files(t, "q-0"))
		require.NoError(t, s.Remove())
		assert.Empty(t, w.files(t, "q-0"))
		assert.Zero(t, opened)
	})
}

// files are the contents of the files in dir.
func (w world) files(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	entries, err := w.fs.ReadDir(dir)
	require.NoError(tb, err)
	files := map[string]string{}
	for _, e := range entries {
		files[e.Name()] = string(w.contents(tb, path.Join(dir, e.Name())))
	}
	return files
}
