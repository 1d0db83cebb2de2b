package checkpoint_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
)

// onEach runs a test on the disk and in memory.
func onEach(t *testing.T, test func(t *testing.T, fsys fsio.FS)) {
	t.Helper()
	t.Run("disk", func(t *testing.T) {
		fsys, err := fsio.OS(t.TempDir())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, fsys.Close()) })
		test(t, fsys)
	})
	t.Run("memory", func(t *testing.T) { test(t, aferofs.Mem()) })
}

// put makes content that of the file name.
func put(tb testing.TB, fsys fsio.FS, name, content string) {
	tb.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	require.NoError(tb, err)
	_, err = f.WriteAt([]byte(content), 0)
	require.NoError(tb, err)
	require.NoError(tb, f.Close())
}

// get is the content of the file name.
func get(tb testing.TB, fsys fsio.FS, name string) string {
	tb.Helper()
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	require.NoError(tb, err)
	size, err := f.Size()
	require.NoError(tb, err)
	content := make([]byte, size)
	_, err = f.ReadAt(content, 0)
	require.NoError(tb, err)
	require.NoError(tb, f.Close())
	return string(content)
}
