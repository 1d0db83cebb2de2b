package segment_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

const sumFile = "p-0/00000000000000000000.sum"

// summed makes a sealed segment with a .sum file.
func (w world) summed(tb testing.TB) {
	tb.Helper()
	s := w.open(tb, 0, segment.Options{IndexIntervalBytes: 200, Sums: true})
	for i := range int64(10) {
		put(tb, s, batch(tb, 2*i, 2, 20))
	}
	require.NoError(tb, s.AppendAborted(index.AbortedTxn{ProducerID: 1, FirstOffset: 2, LastOffset: 4, StableOffset: 5}))
	require.NoError(tb, s.Seal())
	require.NoError(tb, s.Close())
}

// TestSumEveryByte changes each byte of a segment's files, and finds it: the sum covers what nothing else does.
func TestSumEveryByte(t *testing.T) {
	w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
	w.summed(t)
	for file, class := range map[string]error{
		logFile: codec.ErrCorrupt, indexFile: index.ErrCorrupt, timeIndexFile: index.ErrCorrupt,
		"p-0/00000000000000000000.txnindex": index.ErrCorrupt,
	} {
		good := w.contents(t, file)
		for at := 0; at < len(good); at += 3 {
			w.change(t, file, int64(at), good[at]^1)
			s := w.open(t, 0, segment.Options{ReadOnly: true})
			damages := verify(t, s)
			require.Len(t, damages, 1, "byte %d of %s", at, file)
			assert.Equal(t, file, damages[0].Path)
			assert.ErrorIs(t, damages[0].Err, class)
			require.NoError(t, s.Close())
			w.change(t, file, int64(at), good[at])
		}
		w.create(t, file, good[:len(good)-1])
		s := w.open(t, 0, segment.Options{ReadOnly: true})
		assert.NotEmpty(t, verify(t, s), file)
		require.NoError(t, s.Close())
		w.create(t, file, good)
	}
}

// TestSumOfIndexes does without an index that is not what its sum says, though nothing else is wrong with it.
func TestSumOfIndexes(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		w.summed(t)
		w.change(t, indexFile, 3, 4) // the base offset of the batch: where Kafka 1.1 had it
		s := w.open(t, 0, segment.Options{Sealed: true, Sums: true, IndexIntervalBytes: 200})
		assert.ErrorIs(t, s.IndexErr(), segment.ErrSum)
		assert.ErrorIs(t, s.IndexErr(), index.ErrCorrupt)
		lookUpAll(t, s, 10)
		require.NoError(t, s.Reindex(t.Context()))
		require.NoError(t, s.Close())
		s = w.open(t, 0, segment.Options{Sealed: true, Sums: true, IndexIntervalBytes: 200})
		require.NoError(t, s.IndexErr())
		assert.Empty(t, verify(t, s))
	})
}

// TestSumGoes: a sum is there as long as nothing can have changed.
func TestSumGoes(t *testing.T) {
	eachWorld(t, func(w world) {
		t := w.t
		w.summed(t)
		s := w.open(t, 0, segment.Options{Sealed: true, Sums: true, IndexIntervalBytes: 200})
		_, err := s.Recover(t.Context(), segment.RecoverOptions{})
		require.NoError(t, err)
		require.NotEmpty(t, w.contents(t, sumFile))
		require.NoError(t, s.Close())
		s = w.open(t, 0, segment.Options{Sealed: true, Sums: true, IndexIntervalBytes: -1})
		require.NoError(t, s.Reindex(t.Context())) // other entries
		assert.Empty(t, verify(t, s))
		_, err = s.Truncate(18)
		require.NoError(t, err)
		_, err = w.fs.Stat(sumFile)
		assert.ErrorIs(t, err, fs.ErrNotExist)
		put(t, s, batch(t, 18, 2, 30))
		require.NoError(t, s.Seal())
		assert.Empty(t, verify(t, s))
		require.NotEmpty(t, w.contents(t, sumFile))
		require.NoError(t, s.Rename(segment.Swap))
		_, err = w.fs.Stat(sumFile + ".swap")
		require.NoError(t, err)
	})
}

// FuzzSum reads any bytes as a .sum file: whatever it says, opening and verifying goes well.
func FuzzSum(f *testing.F) {
	w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
	w.summed(f)
	f.Add(w.contents(f, sumFile))
	f.Add([]byte("strataSM"))
	f.Fuzz(func(t *testing.T, content []byte) {
		w := world{fs: aferofs.Mem(), parts: segment.Parts{OpenIndex: index.OpenFile}}
		w.filled(t, 3)
		w.create(t, sumFile, content)
		s := w.open(t, 0, segment.Options{Sealed: true, Sums: true})
		verify(t, s)
		lookUpAll(t, s, 3)
	})
}
