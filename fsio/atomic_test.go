package fsio_test

import (
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
)

func TestWriteFileOrder(t *testing.T) {
	inner, _ := openOS(t)
	var calls []string
	fsys := fsio.Intercept(inner, func(op *fsio.Op, do func() error) error {
		calls = append(calls, strings.TrimRight(op.Kind.String()+" "+op.Path+" "+op.To, " "))
		return do()
	})
	require.NoError(t, fsys.MkdirAll("dir", 0o755))
	calls = nil
	require.NoError(t, fsio.WriteFile(fsys, "dir/file", []byte("content")))
	assert.Equal(t, []string{
		"create dir/file.tmp", "write dir/file.tmp", "sync dir/file.tmp", "close dir/file.tmp",
		"rename dir/file.tmp dir/file", "syncdir dir",
	}, calls)
}

func TestWriteFile(t *testing.T) {
	fsys, _ := openOS(t)
	create(t, fsys, "file.tmp", "a longer text that a crash left behind")
	for _, text := range []string{"first", "second, longer", "", "3"} {
		require.NoError(t, fsio.WriteFile(fsys, "file", []byte(text)))
		assert.Equal(t, text, content(t, fsys, "file"))
	}
	info, err := fsys.Stat("file")
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o644), info.Mode())
	_, err = fsys.Stat("file.tmp")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestWriteFileBadName(t *testing.T) {
	fsys, _ := openOS(t)
	require.NoError(t, fsys.MkdirAll("dir", 0o755))
	for _, name := range []string{"", "dir/", "dir/..", "..", "/abs", "dir\\file"} {
		refused(t, fsio.WriteFile(fsys, name, nil), name, fsio.ErrBadName)
	}
	list, err := fsys.ReadDir("dir")
	require.NoError(t, err)
	assert.Empty(t, list)
}

// TestWriteFileFails makes each call fail in turn: the old content or the new is there, and no temporary
// file.
func TestWriteFileFails(t *testing.T) {
	for _, row := range []struct {
		kind fsio.Kind
		want []string // what the file may hold then
	}{
		{fsio.OpCreate, []string{"old"}},
		{fsio.OpWriteAt, []string{"old"}},
		{fsio.OpSync, []string{"old"}},
		{fsio.OpClose, []string{"old"}},
		{fsio.OpRename, []string{"old", "new"}},
		{fsio.OpSyncDir, []string{"new"}},
	} {
		for _, done := range []bool{false, true} {
			inner, _ := openOS(t)
			require.NoError(t, fsio.WriteFile(inner, "file", []byte("old")))
			fsys := fsio.Intercept(inner, func(op *fsio.Op, do func() error) error {
				if op.Kind != row.kind {
					return do()
				}
				if done || op.Kind == fsio.OpClose { // a descriptor is not to be lost
					require.NoError(t, do())
				}
				return syscall.EIO
			})
			require.ErrorIs(t, fsio.WriteFile(fsys, "file", []byte("new")), syscall.EIO, row.kind)
			got := content(t, inner, "file")
			assert.True(t, slices.Contains(row.want, got), "after a failed %v: %q, want one of %q", row.kind, got, row.want)
			_, err := inner.Stat("file.tmp")
			assert.ErrorIs(t, err, fs.ErrNotExist, "after a failed %v", row.kind)
		}
	}
}
