package aferofs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
)

// TestFSOverWhatWasThere makes an FS of a MemMapFs and of a directory that have something already.
func TestFSOverWhatWasThere(t *testing.T) {
	for _, row := range []struct {
		name string
		base afero.Fs
	}{
		{"mem", afero.NewMemMapFs()},
		{"os", afero.NewBasePathFs(afero.NewOsFs(), t.TempDir())},
	} {
		t.Run(row.name, func(t *testing.T) {
			long := strings.Repeat("0123456789", 1000)
			require.NoError(t, row.base.MkdirAll("d/e", 0o755))
			require.NoError(t, afero.WriteFile(row.base, "d/f", []byte(long), 0o644))
			require.NoError(t, afero.WriteFile(row.base, "top", []byte("abc"), 0o644))

			fsys := aferofs.New(row.base)
			require.Equal(t, "d top", names(t, fsys, "."))
			require.Equal(t, "e f", names(t, fsys, "d"))
			info, err := fsys.Stat("d/f")
			require.NoError(t, err)
			require.Equal(t, int64(len(long)), info.Size())
			require.NoError(t, fsys.Rename("d", "x"))
			f, err := fsys.OpenFile("x/f", os.O_RDWR, 0)
			require.NoError(t, err)
			require.Equal(t, long, content(t, f))
			require.NoError(t, f.Truncate(5000))
			_, err = f.WriteAt([]byte("end"), 4998)
			require.NoError(t, err)
			require.Equal(t, long[:4998]+"end", content(t, f))
			require.NoError(t, f.Close())
			require.NoError(t, fsys.Remove("top"))
			require.Equal(t, "x", names(t, fsys, "."))
		})
	}
}

// names is the listing of dir.
func names(t *testing.T, fsys fsio.FS, dir string) string {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// TestFSIsDoneInBase checks that what is done through the FS is done in its base.
func TestFSIsDoneInBase(t *testing.T) {
	dir := t.TempDir()
	fsys := aferofs.New(afero.NewBasePathFs(afero.NewOsFs(), dir))
	require.NoError(t, fsys.MkdirAll("a/b", 0o755))
	f := create(t, fsys, "a/b/f", "abcdef")
	m, err := f.Map(6, fsio.ReadWrite)
	require.NoError(t, err)
	_, err = m.WriteAt([]byte("X"), 0)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	require.NoError(t, fsys.Rename("a/b", "c"))
	require.NoError(t, fsys.Chtimes("c/f", time.UnixMilli(5000)))
	require.NoError(t, fsys.SyncDir("c"))
	got, err := os.ReadFile(filepath.Join(dir, "c", "f"))
	require.NoError(t, err)
	require.Equal(t, "Xbcdef", string(got))
	info, err := os.Stat(filepath.Join(dir, "c", "f"))
	require.NoError(t, err)
	require.Equal(t, int64(5000), info.ModTime().UnixMilli())
	require.NoError(t, fsys.Remove("c/f"))
	require.NoError(t, fsys.Remove("c"))
	require.NoDirExists(t, filepath.Join(dir, "c"))
}

// TestFSOverReadOnly opens what may only be read.
func TestFSOverReadOnly(t *testing.T) {
	base := afero.NewMemMapFs()
	require.NoError(t, afero.WriteFile(base, "f", []byte("abc"), 0o644))
	fsys := aferofs.New(afero.NewReadOnlyFs(base))
	f, err := fsys.OpenFile("f", os.O_RDONLY, 0)
	require.NoError(t, err)
	require.Equal(t, "abc", content(t, f))
	require.NoError(t, f.Close())
	_, err = fsys.OpenFile("f", os.O_RDWR, 0)
	require.ErrorIs(t, err, fs.ErrPermission)
	_, err = fsys.OpenFile("g", os.O_RDWR|os.O_CREATE, 0o644)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorIs(t, fsys.Remove("f"), fs.ErrPermission)
	require.Equal(t, "f", names(t, fsys, "."))
}

// TestFSGivesBaseErrors checks that a base's error comes with the caller's name, and changes nothing.
func TestFSGivesBaseErrors(t *testing.T) {
	base := &failing{Fs: afero.NewBasePathFs(afero.NewOsFs(), t.TempDir())}
	fsys := aferofs.New(base)
	create(t, fsys, "f", "abc")
	base.err = syscall.EIO
	for what, err := range map[string]error{
		"remove": fsys.Remove("f"), "rename": fsys.Rename("f", "g"), "mkdir": fsys.MkdirAll("d", 0o755),
		"chtimes": fsys.Chtimes("f", time.UnixMilli(1)),
	} {
		require.ErrorIs(t, err, syscall.EIO, what)
		e, ok := errors.AsType[*fs.PathError](err)
		require.True(t, ok, "%v is no *fs.PathError", err)
		require.Equal(t, syscall.EIO, e.Err, what)
	}
	base.err = nil
	require.Equal(t, "f", names(t, fsys, "."))
}

// failing is a base whose changes fail.
type failing struct {
	afero.Fs
	err error
}

func (f *failing) wrap(name string) error {
	if f.err == nil {
		return nil
	}
	return &fs.PathError{Op: "base", Path: "/base/" + name, Err: f.err}
}

func (f *failing) Remove(name string) error {
	if err := f.wrap(name); err != nil {
		return errors.Join(err, nil)
	}
	return f.Fs.Remove(name)
}

func (f *failing) Rename(oldname, newname string) error {
	if err := f.wrap(oldname); err != nil {
		return err
	}
	return f.Fs.Rename(oldname, newname)
}

func (f *failing) Mkdir(name string, perm os.FileMode) error {
	if err := f.wrap(name); err != nil {
		return err
	}
	return f.Fs.Mkdir(name, perm)
}

func (f *failing) Chtimes(name string, atime, mtime time.Time) error {
	if err := f.wrap(name); err != nil {
		return err
	}
	return f.Fs.Chtimes(name, atime, mtime)
}

// TestMemGivesBack checks that neither holes nor what was cut or removed cost memory.
func TestMemGivesBack(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const big = 32 << 20
	fsys := aferofs.Mem()
	before := heap()
	f := create(t, fsys, "f", "")
	require.NoError(t, f.Allocate(big))
	m, err := f.Map(big, fsio.ReadWrite)
	require.NoError(t, err)
	for off := range int64(100) {
		_, err := m.WriteAt([]byte("entry"), off*8)
		require.NoError(t, err)
	}
	require.NoError(t, m.View(0, 800, fsio.ViewFunc(func([]byte) error { return nil })))
	require.Less(t, heap()-before, int64(big/8), "after an allocation")
	require.NoError(t, m.Close())

	_, err = f.WriteAt(make([]byte, big), 0)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(1000))
	require.Less(t, heap()-before, int64(big/8), "after a Truncate")

	g := create(t, fsys, "g", strings.Repeat("x", big))
	require.NoError(t, fsys.Remove("g"))
	require.NoError(t, g.Close())
	require.Less(t, heap()-before, int64(big/8), "after a Remove")
	runtime.KeepAlive(fsys)
}

// TestFSToAfero looks at what afero's users see of an fsio.FS, beside the scenarios of the pin test.
func TestFSToAfero(t *testing.T) {
	calls := map[fsio.Kind][]string{}
	var mu sync.Mutex
	inner := fsio.Intercept(aferofs.Mem(), func(op *fsio.Op, do func() error) error {
		mu.Lock()
		calls[op.Kind] = append(calls[op.Kind], op.Path)
		mu.Unlock()
		return do()
	})
	fsys := aferofs.ToAfero(inner)

	t.Run("sync of a directory", func(t *testing.T) {
		require.NoError(t, fsys.MkdirAll("/d/e", 0o755))
		dir, err := fsys.Open("/d/e")
		require.NoError(t, err)
		require.NoError(t, dir.Sync())
		require.NoError(t, dir.Close())
		require.ErrorIs(t, dir.Sync(), fs.ErrClosed)
		require.Equal(t, []string{"d/e"}, calls[fsio.OpSyncDir])
	})
	t.Run("what there is not", func(t *testing.T) {
		require.ErrorIs(t, fsys.Chmod("d", 0o700), errors.ErrUnsupported)
		require.ErrorIs(t, fsys.Chown("d", 1, 1), errors.ErrUnsupported)
	})
	t.Run("names", func(t *testing.T) {
		_, err := fsys.Open("../x")
		require.ErrorIs(t, err, fsio.ErrBadName)
		_, err = fsys.Stat("/missing/f")
		e, ok := errors.AsType[*fs.PathError](err)
		require.True(t, ok)
		require.Equal(t, "/missing/f", e.Path)
	})
	t.Run("appends beside each other", func(t *testing.T) {
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				f, err := fsys.OpenFile("log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
				if err != nil {
					t.Error(err)
					return
				}
				for range 100 {
					if _, err := fmt.Fprintf(f, "%d%d%d\n", i, i, i); err != nil {
						t.Error(err)
					}
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		b, err := afero.ReadFile(fsys, "log")
		require.NoError(t, err)
		require.Len(t, b, 4*100*4)
		for line := range strings.Lines(string(b)) {
			require.True(t, len(line) == 4 && line[0] == line[1] && line[1] == line[2], "line %q is mixed", line)
		}
	})
	t.Run("afero's own helpers", func(t *testing.T) {
		require.ErrorIs(t, afero.WriteFile(fsys, "/a/b", []byte("x"), 0o644), fs.ErrNotExist)
		require.NoError(t, afero.SafeWriteReader(fsys, "/a/b/c", strings.NewReader("abc")))
		require.NoError(t, afero.SafeWriteReader(fsys, "/a/d", strings.NewReader("def")))
		var walked []string
		require.NoError(t, afero.Walk(fsys, "/a", func(name string, _ fs.FileInfo, err error) error {
			walked = append(walked, name)
			return err
		}))
		require.Equal(t, []string{"/a", "/a/b", "/a/b/c", "/a/d"}, walked)
		same, err := afero.FileContainsBytes(fsys, "/a/d", []byte("e"))
		require.NoError(t, err)
		require.True(t, same)
		tmp, err := afero.TempFile(fsys, "/a", "x*")
		require.NoError(t, err)
		require.NoError(t, tmp.Close())
		require.NoError(t, fsys.RemoveAll("/a"))
	})
}
