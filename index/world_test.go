package index_test

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
)

const name = "00000000000000000045.index"

// world is a composition to test.
type world struct {
	fsys fsio.FS
	open index.OpenFunc
}

// everywhere runs test on disk and in memory, mapped and not, as a subtest each.
func everywhere(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	for _, row := range []struct {
		name  string
		newFS func(t testing.TB) fsio.FS
		open  index.OpenFunc
	}{
		{"os+mmap", newOS, index.OpenMmap},
		{"os+file", newOS, index.OpenFile},
		{"mem+mmap", newMem, index.OpenMmap},
		{"mem+file", newMem, index.OpenFile},
	} {
		t.Run(row.name, func(t *testing.T) { test(t, world{row.newFS(t), row.open}) })
	}
}

// onBoth runs test on disk and in memory.
func onBoth(t *testing.T, test func(t *testing.T, fsys fsio.FS)) {
	t.Helper()
	t.Run("os", func(t *testing.T) { test(t, newOS(t)) })
	t.Run("mem", func(t *testing.T) { test(t, newMem(t)) })
}

func newOS(t testing.TB) fsio.FS {
	fsys, err := fsio.OS(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fsys.Close()) })
	return fsys
}

func newMem(testing.TB) fsio.FS { return aferofs.Mem() }

// offsets are the options of an offset index for n entries, as Kafka's tests have them.
func offsets(n int64) index.Options {
	return index.Options{Layout: index.OffsetLayout, Base: 45, MaxBytes: n * 8}
}

// times are those of a time index.
func times(n int64) index.Options {
	return index.Options{Layout: index.TimeLayout, Base: 45, MaxBytes: n * 12}
}

// opened opens an index that is closed at the end of the test.
func (w world) opened(t testing.TB, o index.Options) index.Index {
	t.Helper()
	x, err := w.open(w.fsys, name, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.Close()) })
	return x
}

// write gives the file name the bytes data.
func write(t testing.TB, fsys fsio.FS, name string, data []byte) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	require.NoError(t, err)
	_, err = f.WriteAt(data, 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// read is what the file name holds.
func read(t testing.TB, fsys fsio.FS, name string) []byte {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	require.NoError(t, err)
	size, err := f.Size()
	require.NoError(t, err)
	data := make([]byte, size)
	_, err = f.ReadAt(data, 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return data
}

// unhex reads hexadecimal digits with spaces between them.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

// fill appends entries.
func fill(t testing.TB, x index.Index, entries ...index.Entry) {
	t.Helper()
	for _, e := range entries {
		require.NoError(t, x.Append(e))
	}
}

// all are the entries of x.
func all(x index.Index) []index.Entry {
	entries := []index.Entry{}
	for i := range x.Len() {
		entries = append(entries, x.At(i))
	}
	return entries
}

// look is what Lookup answers; none is the zero Entry.
func look(x index.Index, key int64) index.Entry {
	e, ok := x.Lookup(key)
	if !ok {
		return none
	}
	return e
}

var none = index.Entry{Key: -1, Value: -1}
