package aferofs_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
)

// create makes the file name with content.
func create(t *testing.T, fsys fsio.FS, name, content string) fsio.File {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	_, err = f.WriteAt([]byte(content), 0)
	require.NoError(t, err)
	return f
}

// content reads all of f.
func content(t *testing.T, f fsio.File) string {
	t.Helper()
	size, err := f.Size()
	require.NoError(t, err)
	b, err := io.ReadAll(io.NewSectionReader(f, 0, size))
	require.NoError(t, err)
	return string(b)
}

// filesystems are what New makes of bases that differ.
func filesystems(t *testing.T) map[string]fsio.FS {
	return map[string]fsio.FS{
		"mem": aferofs.Mem(),
		"os":  aferofs.New(afero.NewBasePathFs(afero.NewOsFs(), t.TempDir())),
	}
}

func TestFSKeepsBytesWhereverBlocksLie(t *testing.T) {
	for name, fsys := range filesystems(t) {
		t.Run(name, func(t *testing.T) {
			f := create(t, fsys, "f", "")
			want := make([]byte, 300_000)
			for i, step := range []struct{ off, n int64 }{
				{200_000, 10_000}, {0, 5000}, {100, 9000}, {4096, 4096}, {150_001, 100}, {299_999, 1}, {50_000, 120_000},
			} {
				p := bytes.Repeat([]byte{byte('a' + i)}, int(step.n))
				copy(want[step.off:], p)
				n, err := f.WriteAt(p, step.off)
				require.NoError(t, err)
				require.Equal(t, len(p), n)
			}
			require.True(t, string(want) == content(t, f), "bytes differ after the writes")
			for _, size := range []int64{250_000, 123_456, 300_000, 5000, 300_000, 0, 300_000} {
				require.NoError(t, f.Truncate(size))
				clear(want[size:])
				require.True(t, string(want[:size]) == content(t, f), "bytes differ at size %d", size)
			}
		})
	}
}

func TestMemIsSparse(t *testing.T) {
	f := create(t, aferofs.Mem(), "f", "")
	require.NoError(t, f.Allocate(1<<40))
	_, err := f.WriteAt([]byte("end"), 1<<40-3)
	require.NoError(t, err)
	got := make([]byte, 6)
	_, err = f.ReadAt(got, 1<<40-6)
	require.NoError(t, err)
	require.Equal(t, "\x00\x00\x00end", string(got))
}

func TestMapOfGrowingWindows(t *testing.T) {
	for name, fsys := range filesystems(t) {
		t.Run(name, func(t *testing.T) {
			f := create(t, fsys, "f", "head")
			require.NoError(t, f.Allocate(1<<20))
			m, err := f.Map(1<<20, fsio.ReadWrite)
			require.NoError(t, err)
			defer m.Close()
			other, err := f.Map(1<<20, fsio.ReadOnly)
			require.NoError(t, err)
			defer other.Close()
			err = m.View(0, 4, fsio.ViewFunc(func(b []byte) error {
				require.Equal(t, "head", string(b))
				// Another Map's View grows the window; what is stored then shows in the first one, too.
				require.NoError(t, other.View(900_000, 4, fsio.ViewFunc(func(b []byte) error { return nil })))
				_, err := f.WriteAt([]byte("HE"), 0)
				require.NoError(t, err)
				require.Equal(t, "HEad", string(b))
				return nil
			}))
			require.NoError(t, err)
			_, err = m.WriteAt([]byte("tail"), 1<<20-4)
			require.NoError(t, err)
			require.True(t, strings.HasSuffix(content(t, f), "tail"))
		})
	}
}
