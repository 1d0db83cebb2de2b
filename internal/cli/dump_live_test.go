package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/log"
)

// TestDumpLive dumps a log that is open: the space that its indexes have reserved holds no entries, also where nothing
// else is in it.
func TestDumpLive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "live-0")
	l, err := log.Open(t.Context(), dir, log.Options{Config: log.Config{IndexBytes: 1200, IndexIntervalBytes: log.Zero}})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	const empty = "is empty, with 1200 bytes reserved."
	for _, want := range []string{empty, empty, "offset 1 position 69\n"} { // the first batch of a segment has no entry
		got := run(t, "dump", dir)
		assert.Equal(t, ExitOK, got.status)
		assert.Empty(t, got.errs)
		assert.Contains(t, got.out, want)
		got = run(t, "dump", "-o", "json", dir)
		assert.Equal(t, ExitOK, got.status)
		assert.Contains(t, got.out, `"problems":0}`)
		_, err := l.AppendRecords(codec.Record{Value: []byte("x")})
		require.NoError(t, err)
	}
}

// TestDumpGone dumps a directory of which a file goes between the list and the look at it.
func TestDumpGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone-0")
	at, err := openPlace(t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, at.fsys.Close()) }()
	var out, errs bytes.Buffer
	at.path = dir
	d := &dump{env: &env{out: bufio.NewWriter(&out), errs: &errs}}
	require.NoError(t, d.file(at, "00000000000000000007.snapshot"))
	assert.Equal(t, "strata: "+filepath.ToSlash(dir)+"/00000000000000000007.snapshot is gone: a broker removes old files\n", errs.String())
	assert.False(t, d.bad)
}

// TestUnreadable tells what the system does not give from what is damaged, or not there.
func TestUnreadable(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("open: %w", syscall.EACCES): true,
		syscall.EIO:                            true,
		syscall.ENOENT:                         false,
		syscall.EISDIR:                         false,
		fsio.ErrNotRegular:                     false,
		codec.ErrCorrupt:                       false,
	} {
		assert.Equal(t, want, unreadable(err), err)
	}
}

// TestWindowGrown looks for a batch that came behind the end that was known.
func TestWindowGrown(t *testing.T) {
	c := codec.Kafka()
	one, err := c.Append(nil, codec.NewHeader(2), []codec.Record{{Value: []byte("x")}})
	require.NoError(t, err)
	n := int64(len(one))
	w := &window{file: bytes.NewReader(append(bytes.Clone(one), one...)), end: n}
	_, err = w.batchAt(c, n)
	require.ErrorIs(t, err, codec.ErrShort)
	sizes := []int64{n, n + 1, 2 * n}
	w.size = func() (size int64, err error) { size, sizes = sizes[0], sizes[1:]; return size, nil }
	for range 2 {
		_, err = w.batchAt(c, n)
		require.ErrorIs(t, err, codec.ErrShort)
	}
	h, err := w.batchAt(c, n)
	require.NoError(t, err)
	assert.Equal(t, len(one), h.Size)
}
