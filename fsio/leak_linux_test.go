package fsio_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
)

// held is what this process has open and mapped below dir.
func held(t *testing.T, dir string) (descriptors, mappings int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range list {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && strings.HasPrefix(target, dir) {
			descriptors++
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return descriptors, strings.Count(string(maps), dir)
}

// TestNothingIsLeft makes every kind of call, good and bad, and finds nothing open or mapped afterwards.
func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	fsys, err := fsio.OS(dir)
	require.NoError(t, err)
	irregular, through := plantIrregular(t, dir)
	before, _ := held(t, dir)
	require.Positive(t, before, "the root is open")

	everyCall(t, fsys)
	for _, name := range append(append(irregular, through...), append(badNames(), oddNames()...)...) {
		callAll(fsys, name)
	}
	for kind := range callOf {
		f, err := fsys.OpenFile("leak", os.O_RDWR|os.O_CREATE, 0o644)
		require.NoError(t, err)
		require.NoError(t, f.Truncate(page))
		m, err := f.Map(page, fsio.ReadWrite)
		require.NoError(t, err)
		fails := fsio.Intercept(fsys, on(kind, func(_ *fsio.Op, do func() error) error {
			return firstOf(do(), errOwn)
		}))
		assert.NoError(t, fsys.MkdirAll("file", 0o755))
		_ = callOf[kind](fails, f, m)
		_, _ = f.Map(2*page, fsio.ReadWrite)
		_ = m.Resize(1 << 62)
		_ = fsys.Remove("new")
		require.NoError(t, f.Close())
		require.NoError(t, m.Close())
	}
	descriptors, mappings := held(t, dir)
	assert.Equal(t, before, descriptors, "descriptors")
	assert.Zero(t, mappings, "mappings")
	require.NoError(t, fsys.Close())
	descriptors, _ = held(t, dir)
	assert.Equal(t, before-1, descriptors, "descriptors after Close of the FS")
}
