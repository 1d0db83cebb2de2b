package segment_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/segment"
)

// setWorld is what a message set lives in.
type setWorld struct {
	t    *testing.T
	fs   fsio.FS
	open segment.OpenFunc
}

// eachSet runs test on both message sets, on the disk and in memory.
func eachSet(t *testing.T, test func(w setWorld)) {
	t.Helper()
	for _, set := range []struct {
		name string
		open segment.OpenFunc
	}{{"file", segment.OpenFile}, {"mmap", segment.OpenMmap}} {
		t.Run("os+"+set.name, func(t *testing.T) { test(setWorld{t, osFS(t), set.open}) })
		t.Run("mem+"+set.name, func(t *testing.T) { test(setWorld{t, aferofs.Mem(), set.open}) })
	}
}

// reserved is what the sets of these tests reserve.
const reserved = 1 << 16

func openSet(t *testing.T, fsys fsio.FS, open segment.OpenFunc, o segment.SetOptions) segment.MessageSet {
	t.Helper()
	o.SegmentBytes = reserved
	set, err := open(fsys, "set", o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	return set
}

func fileSize(t *testing.T, fsys fsio.FS) int64 {
	t.Helper()
	info, err := fsys.Stat("set")
	require.NoError(t, err)
	return info.Size()
}

func TestSetAppends(t *testing.T) {
	eachSet(t, func(w setWorld) {
		t, fsys, open := w.t, w.fs, w.open
		set := openSet(t, fsys, open, segment.SetOptions{})
		large := bytes.Repeat([]byte("0123456789abcdef"), 3<<16) // three pieces
		var want []byte
		for _, b := range [][]byte{[]byte("one"), []byte("two"), large, []byte("three")} {
			pos, err := set.Append(b)
			require.NoError(t, err)
			assert.EqualValues(t, len(want), pos)
			want = append(want, b...)
			assert.EqualValues(t, len(want), set.Size())
		}
		got := make([]byte, len(want))
		_, err := set.ReadAt(got, 0)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, got))

		n, err := set.ReadAt(make([]byte, 9), set.Size()-5)
		assert.Equal(t, 5, n)
		assert.Equal(t, io.EOF, err)
		n, err = set.ReadAt(make([]byte, 1), set.Size())
		assert.Zero(t, n)
		assert.Equal(t, io.EOF, err)

		var out bytes.Buffer
		copied, err := set.CopyTo(&out, 3, 3)
		require.NoError(t, err)
		assert.EqualValues(t, 3, copied)
		assert.Equal(t, "two", out.String())
		_, err = set.CopyTo(&out, set.Size()-5, 6)
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)

		require.NoError(t, set.Sync())
		require.NoError(t, set.Seal())
		require.NoError(t, set.Seal())
		assert.EqualValues(t, len(want), fileSize(t, fsys))
		_, err = set.Append([]byte("more"))
		assert.ErrorIs(t, err, fs.ErrClosed)
		require.NoError(t, set.Close())
		require.NoError(t, set.Close())
		assert.Zero(t, set.Size())
		_, err = set.ReadAt(got, 0)
		assert.ErrorIs(t, err, fs.ErrClosed)
		assert.ErrorIs(t, set.Sync(), fs.ErrClosed)
		assert.ErrorIs(t, set.Truncate(0), fs.ErrClosed)
		assert.ErrorIs(t, set.Seal(), fs.ErrClosed)
	})
}

func TestSetTruncates(t *testing.T) {
	eachSet(t, func(w setWorld) {
		t, fsys, open := w.t, w.fs, w.open
		set := openSet(t, fsys, open, segment.SetOptions{})
		_, err := set.Append([]byte("0123456789"))
		require.NoError(t, err)
		assert.ErrorIs(t, set.Truncate(11), segment.ErrRange)
		assert.ErrorIs(t, set.Truncate(-1), segment.ErrRange)
		require.NoError(t, set.Truncate(4))
		_, err = set.Append([]byte("AB"))
		require.NoError(t, err)
		require.NoError(t, set.Seal())
		require.NoError(t, set.Truncate(5)) // also when it is sealed
		require.NoError(t, set.Close())

		set = openSet(t, fsys, open, segment.SetOptions{})
		got := make([]byte, 5)
		_, err = set.ReadAt(got, 0)
		require.NoError(t, err)
		assert.Equal(t, "0123A", string(got))
		assert.EqualValues(t, 5, set.Size())
		_, err = set.Append([]byte("B"))
		require.NoError(t, err)
		require.NoError(t, set.Close())
		assert.EqualValues(t, 6, fileSize(t, fsys))
	})
}

func TestSetReserves(t *testing.T) { // F19, C99
	eachSet(t, func(w setWorld) {
		t, fsys, open := w.t, w.fs, w.open
		set := openSet(t, fsys, open, segment.SetOptions{PreallocateBytes: 2 * reserved})
		assert.EqualValues(t, 2*reserved, fileSize(t, fsys))
		assert.Zero(t, set.Size())
		_, err := set.Append([]byte("batch"))
		require.NoError(t, err)
		assert.EqualValues(t, 2*reserved, fileSize(t, fsys))
		require.NoError(t, set.Close())
		assert.EqualValues(t, 5, fileSize(t, fsys))

		set = openSet(t, fsys, open, segment.SetOptions{ReadOnly: true})
		assert.EqualValues(t, 5, set.Size())
		_, err = set.Append([]byte("batch"))
		assert.ErrorIs(t, err, fs.ErrClosed)
	})
}

func TestSetBounds(t *testing.T) { // C90
	eachSet(t, func(w setWorld) {
		t, fsys, open := w.t, w.fs, w.open
		_, err := open(fsys, "set", segment.SetOptions{ReadOnly: true})
		assert.ErrorIs(t, err, fs.ErrNotExist)
		f, err := fsys.OpenFile("large", os.O_RDWR|os.O_CREATE, 0o644)
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		require.NoError(t, f.Truncate(math.MaxInt32+1))
		_, err = open(fsys, "large", segment.SetOptions{Sealed: true})
		assert.ErrorIs(t, err, segment.ErrOverflow)
		require.NoError(t, f.Truncate(math.MaxInt32-3))
		set, err := segment.OpenFile(fsys, "large", segment.SetOptions{})
		require.NoError(t, err)
		_, err = set.Append([]byte("four"))
		assert.ErrorIs(t, err, segment.ErrOverflow)
		require.NoError(t, set.Truncate(0))
		require.NoError(t, set.Close())
	})
}

// failing makes the n-th write to a set fail with err, after some of its bytes, and the Truncate behind it
// with cutErr.
func failing(inner fsio.FS, n int, err, cutErr error) fsio.FS {
	writes := 0
	return fsio.Intercept(inner, func(op *fsio.Op, do func() error) error {
		switch op.Kind { //nolint:exhaustive // the others do not fail
		case fsio.OpWriteAt:
			if writes++; writes == n {
				op.Data = op.Data[:len(op.Data)/2]
				return errors.Join(do(), err)
			}
		case fsio.OpTruncate:
			if writes == n && cutErr != nil {
				return cutErr
			}
		}
		return do()
	})
}

func TestSetFailedWrite(t *testing.T) {
	for _, row := range []struct {
		name        string
		err, cutErr error
		broken      bool
	}{
		{"no room", syscall.ENOSPC, nil, false},
		{"quota", syscall.EDQUOT, nil, false},
		{"bad disk", syscall.EIO, nil, true},
		{"no room, no cut", syscall.ENOSPC, syscall.EIO, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			mem := aferofs.Mem()
			set := openSet(t, failing(mem, 3, row.err, row.cutErr), segment.OpenFile, segment.SetOptions{})
			_, err := set.Append([]byte("batch"))
			require.NoError(t, err)
			_, err = set.Append(make([]byte, 1<<20+10)) // fails in its second piece
			assert.ErrorIs(t, err, row.err)
			assert.Equal(t, row.broken, errors.Is(err, segment.ErrBroken))
			assert.EqualValues(t, 5, set.Size())
			if row.broken {
				_, err = set.Append([]byte("more"))
				assert.ErrorIs(t, err, segment.ErrBroken)
				assert.ErrorIs(t, set.Sync(), segment.ErrBroken)
				assert.ErrorIs(t, set.Sync(), row.err)
				return
			}
			assert.EqualValues(t, 5, fileSize(t, mem))
			pos, err := set.Append([]byte("more"))
			require.NoError(t, err)
			assert.EqualValues(t, 5, pos)
			require.NoError(t, set.Sync())
		})
	}
}

func TestSetFailedSync(t *testing.T) {
	fsys := fsio.Intercept(aferofs.Mem(), func(op *fsio.Op, do func() error) error {
		if op.Kind == fsio.OpSync {
			return syscall.EIO
		}
		return do()
	})
	set := openSet(t, fsys, segment.OpenFile, segment.SetOptions{})
	assert.ErrorIs(t, set.Sync(), syscall.EIO)
	assert.ErrorIs(t, set.Sync(), segment.ErrBroken)
	_, err := set.Append([]byte("batch"))
	assert.ErrorIs(t, err, segment.ErrBroken)
	assert.ErrorIs(t, err, syscall.EIO)
}

// TestSetNoOpTruncate cuts a set where it ends: the file is not touched, because its age counts.
func TestSetNoOpTruncate(t *testing.T) { // C98
	truncates := 0
	fsys := fsio.Intercept(aferofs.Mem(), func(op *fsio.Op, do func() error) error {
		if op.Kind == fsio.OpTruncate {
			truncates++
		}
		return do()
	})
	set := openSet(t, fsys, segment.OpenFile, segment.SetOptions{})
	_, err := set.Append([]byte("batch"))
	require.NoError(t, err)
	require.NoError(t, set.Truncate(5))
	assert.Zero(t, truncates)
}
