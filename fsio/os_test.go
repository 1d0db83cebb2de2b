package fsio_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
)

// openOS is an OSFS in a directory of the test's own, and that directory.
func openOS(t testing.TB) (*fsio.OSFS, string) {
	t.Helper()
	dir := t.TempDir()
	fsys, err := fsio.OS(dir)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, fsys.Close()) })
	return fsys, dir
}

// create makes a file that holds content, and closes it with the test.
func create(t testing.TB, fsys fsio.FS, name, content string) fsio.File {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	_, err = f.WriteAt([]byte(content), 0)
	require.NoError(t, err)
	return f
}

// content is what a file holds.
func content(t testing.TB, fsys fsio.FS, name string) string {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	size, err := f.Size()
	require.NoError(t, err)
	b, err := io.ReadAll(io.NewSectionReader(f, 0, size))
	require.NoError(t, err)
	return string(b)
}

// refused asserts the shape and the cause of an error of FS and File.
func refused(t testing.TB, err error, path string, cause error) {
	t.Helper()
	var pathErr *fs.PathError
	require.ErrorAs(t, err, &pathErr)
	assert.Equal(t, path, pathErr.Path)
	assert.ErrorIs(t, err, cause)
}

func TestOSOpen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := fsio.OS(file)
	refused(t, err, file, syscall.ENOTDIR)
	_, err = fsio.OS(filepath.Join(dir, "missing"))
	refused(t, err, filepath.Join(dir, "missing"), fs.ErrNotExist)
}

func TestOSRename(t *testing.T) {
	for _, row := range []struct {
		name, from, to string
		want           error // nil: the rename takes place
	}{
		{"to a new name", "file", "new", nil},
		{"onto a file", "file", "other", nil},
		{"onto itself", "file", "file", nil},
		{"into a directory", "file", "empty/new", nil},
		{"directory to a new name", "full", "new", nil},
		{"directory onto an empty one", "full", "empty", nil},
		{"directory onto itself", "full", "full", nil},
		{"directory onto a full one", "empty", "full", syscall.ENOTEMPTY},
		{"directory onto its parent", "full/sub", "full", syscall.ENOTEMPTY},
		{"directory onto the root", "empty", ".", syscall.ENOTEMPTY},
		{"file onto a directory", "file", "empty", syscall.EISDIR},
		{"file onto its directory", "full/file", "full", syscall.EISDIR},
		{"file onto the root", "file", ".", syscall.EISDIR},
		{"directory onto a file", "empty", "file", syscall.ENOTDIR},
		{"directory below itself", "full", "full/new", fs.ErrInvalid},
		{"directory onto a file below itself", "full", "full/file", fs.ErrInvalid},
		{"root below itself", ".", "new", fs.ErrInvalid},
		{"directory below itself, no parent", "full", "full/none/new", fs.ErrNotExist},
		{"missing", "none", "new", fs.ErrNotExist},
		{"missing onto itself", "none", "none", fs.ErrNotExist},
		{"missing parent", "file", "none/new", fs.ErrNotExist},
		{"through a file", "file", "other/new", syscall.ENOTDIR},
		{"bad old name", "..", "new", fsio.ErrBadName},
		{"bad new name", "none", "../new", fsio.ErrBadName},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys, _ := openOS(t)
			require.NoError(t, fsys.MkdirAll("full/sub", 0o755))
			require.NoError(t, fsys.MkdirAll("empty", 0o755))
			create(t, fsys, "file", "of file")
			create(t, fsys, "other", "of other")
			create(t, fsys, "full/file", "of full")
			before, _ := fsys.Stat(row.from)

			err := fsys.Rename(row.from, row.to)
			if row.want != nil {
				refused(t, err, row.from, row.want)
				return
			}
			require.NoError(t, err)
			after, err := fsys.Stat(row.to)
			require.NoError(t, err)
			assert.True(t, os.SameFile(before, after), "%s is not what %s was", row.to, row.from)
			if row.from != row.to {
				_, err = fsys.Stat(row.from)
				refused(t, err, row.from, fs.ErrNotExist)
			}
		})
	}
}

func TestOSClose(t *testing.T) {
	fsys, err := fsio.OS(t.TempDir())
	require.NoError(t, err)
	f := create(t, fsys, "file", "content")
	require.NoError(t, fsys.MkdirAll("dir", 0o755))
	m, err := f.Map(7, fsio.ReadWrite)
	require.NoError(t, err)
	defer m.Close()
	lock, err := fsys.Lock(".lock")
	require.NoError(t, err)
	entries, err := fsys.ReadDir(".")
	require.NoError(t, err)

	require.NoError(t, fsys.Close())
	require.NoError(t, fsys.Close(), "a second Close")
	for name, do := range map[string]func() error{
		"OpenFile": func() error { _, err := fsys.OpenFile("file", os.O_RDWR, 0); return err },
		"Create":   func() error { _, err := fsys.OpenFile("new", os.O_RDWR|os.O_CREATE, 0o644); return err },
		"Rename":   func() error { return fsys.Rename("file", "new") },
		"Remove":   func() error { return fsys.Remove("file") },
		"MkdirAll": func() error { return fsys.MkdirAll("dir", 0o755) },
		"ReadDir":  func() error { _, err := fsys.ReadDir("."); return err },
		"Stat":     func() error { _, err := fsys.Stat("."); return err },
		"Chtimes":  func() error { return fsys.Chtimes("file", time.Unix(1, 0)) },
		"SyncDir":  func() error { return fsys.SyncDir(".") },
		"Lock":     func() error { _, err := fsys.Lock(".lock"); return err },
		"Info":     func() error { _, err := entries[0].Info(); return err },
	} {
		assert.ErrorIs(t, do(), fs.ErrClosed, name)
	}
	_, err = f.WriteAt([]byte("C"), 0)
	require.NoError(t, err, "a File after Close of its FS")
	require.NoError(t, m.View(0, 7, fsio.ViewFunc(func(b []byte) error {
		assert.Equal(t, "Content", string(b))
		return nil
	})))
	require.NoError(t, lock.Close())
	require.NoError(t, lock.Close(), "a second Close of a lock")
}

// second is the error of a call that has a result before it.
func second[T any](_ T, err error) error { return err }

// firstOf is the first error.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
