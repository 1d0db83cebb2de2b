package fsio_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
)

// smallDisk is a filesystem of pages pages that nobody else writes to, where the test may mount one.
func smallDisk(t *testing.T, pages int) *fsio.OSFS {
	t.Helper()
	dir := t.TempDir()
	size := fmt.Sprintf("size=%d", pages*os.Getpagesize())
	if err := syscall.Mount("strata-test", dir, "tmpfs", 0, size); err != nil {
		t.Skipf("no small disk can be mounted: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, 0)) })
	fsys, err := fsio.OS(dir)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, fsys.Close()) })
	return fsys
}

// TestFullDiskUnderMap stores into holes until the disk is full, which without a guard is SIGBUS.
func TestFullDiskUnderMap(t *testing.T) {
	fsys := smallDisk(t, 16)
	f := create(t, fsys, "file", "")
	require.NoError(t, f.Truncate(32*page)) // holes only
	m, err := f.Map(32*page, fsio.ReadWrite)
	require.NoError(t, err)
	defer m.Close()
	n, err := m.WriteAt(bytes.Repeat([]byte("x"), int(32*page)), 0)
	var fault *fsio.FaultError
	require.ErrorAs(t, err, &fault)
	require.ErrorIs(t, err, wantFull)
	assert.Equal(t, wantFull == syscall.ENOSPC, fsio.NoRoom(err))
	assert.EqualValues(t, 16*page, n)
	require.ErrorIs(t, m.View(20*page, 1, new(sum)), wantFull, "tmpfs has no page to show")

	want := strings.Repeat("x", int(16*page))
	require.NoError(t, m.View(0, 16*page, fsio.ViewFunc(func(b []byte) error {
		assert.True(t, want == string(b), "the bytes stored before the disk was full")
		return nil
	})))
	require.NoError(t, f.Truncate(page))
	require.NoError(t, f.Truncate(32*page))
	_, err = m.WriteAt([]byte("y"), 20*page)
	require.NoError(t, err, "once there is room")
}

func TestFullDiskAllocate(t *testing.T) {
	fsys := smallDisk(t, 16)
	f := create(t, fsys, "file", "content")
	err := f.Allocate(64 * page)
	refused(t, err, "file", syscall.ENOSPC)
	assert.True(t, fsio.NoRoom(err))
	assert.Equal(t, "content", content(t, fsys, "file"))
	m, err := f.Map(7, fsio.ReadWrite)
	require.NoError(t, err)
	defer m.Close()
	require.ErrorIs(t, m.Resize(64*page), syscall.ENOSPC)
	assert.EqualValues(t, 7, m.Len())
	assert.Equal(t, "content", content(t, fsys, "file"))

	// A failed allocation holds no room back: all of it can be reserved now, and filled then.
	require.NoError(t, m.Resize(15*page))
	other := create(t, fsys, "other", "")
	require.ErrorIs(t, other.Allocate(2*page), syscall.ENOSPC)
	_, err = m.WriteAt(bytes.Repeat([]byte("x"), int(15*page)), 0)
	require.NoError(t, err)
}

func TestFullDiskWrite(t *testing.T) {
	fsys := smallDisk(t, 16)
	f := create(t, fsys, "file", "")
	p := bytes.Repeat([]byte("x"), int(20*page))
	n, err := f.WriteAt(p, 0)
	refused(t, err, "file", syscall.ENOSPC)
	assert.Equal(t, wantWritten, n/int(page), "pages")
	assert.True(t, strings.HasPrefix(content(t, fsys, "file"), string(p[:n])), "the first %d bytes are in the file", n)
	require.ErrorIs(t, fsio.WriteFile(fsys, "other", p), syscall.ENOSPC)
	require.NoError(t, f.Truncate(0))
	_, err = f.WriteAt(p[:page], 0)
	require.NoError(t, err, "once there is room")
}
