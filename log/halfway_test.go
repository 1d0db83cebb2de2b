package log_test

import (
	"errors"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// A truncation goes on where the disk is full: the snapshot of its producers is done without, and what was written
// of one does not stay.
func TestTruncateWithoutRoom(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		full := false
		w.intercept(func(op *fsio.Op, do func() error) error {
			if full && op.Kind == fsio.OpWriteAt && strings.Contains(op.Path, ".snapshot") {
				return errors.Join(do(), syscall.ENOSPC)
			}
			return do()
		})
		l := w.open()
		for i := range int32(4) {
			w.append(produced(t, 1, 0, i, false, 1))
		}
		full = true
		_, err := l.Truncate(2)
		full = false
		require.NoError(t, err)
		require.NotContains(t, strings.Join(w.names(), " "), name20(2)+".snapshot ")
		sequence, _ := w.producer(1)
		require.EqualValues(t, 1, sequence)
		w.append(produced(t, 1, 0, 2, false, 1))
		w.kill()
		w.open()
		sequence, _ = w.producer(1)
		require.EqualValues(t, 2, sequence)
	})
}

// Where a truncation fails half way, the log is read-only, and its readers do not wait for segments that are
// renamed by then: Reap leaves those.
func TestTruncateFailsHalfWay(t *testing.T) {
	for _, fail := range []struct {
		kind fsio.Kind
		ext  string
	}{{fsio.OpRename, ".index"}, {fsio.OpSyncDir, ""}, {fsio.OpCreate, ".snapshot"}, {fsio.OpCreate, ".tmp"}, {fsio.OpTruncate, ".log"}} {
		onEach(t, func(t *testing.T, w *world) {
			broken := false
			w.intercept(func(op *fsio.Op, do func() error) error {
				if broken && op.Kind == fail.kind && (fail.ext == "" || path.Ext(op.Path) == fail.ext) {
					return syscall.EIO
				}
				return do()
			})
			w.o.Config.SegmentBytes, w.o.Config.DeleteDelay = 200, log.Zero
			w.o.Handles = segment.NewHandles(segment.HandleOptions{})
			l := w.open()
			for i := range int32(12) {
				w.append(produced(t, 1, 0, i, false, 1))
			}
			broken = true
			_, err := l.Truncate(4)
			if err == nil {
				return // not on its way here
			}
			require.ErrorIs(t, err, log.ErrReadOnly)
			broken = false
			_, err = l.Reap(t.Context())
			require.NoError(t, err)
			for o := range l.EndOffset() + 1 {
				for _, i := range []log.Isolation{log.ReadUncommitted, log.ReadCommitted, log.ReadToEnd} {
					if s, err := l.ReadWith(o, log.ReadOptions{Isolation: i}); err == nil {
						require.NoError(t, s.Close())
					}
				}
				_, _ = l.Aborted(o, o+1)
			}
			_, _, _ = l.OffsetForTime(started)
			_, _, _ = l.OffsetForTime(log.MaxTimestamp)
			require.ErrorIs(t, l.Close(), syscall.EIO)
			st := w.o.Handles.Stats()
			require.Zero(t, st.Files+st.Maps)
			w.open()
			require.GreaterOrEqual(t, w.l.EndOffset(), int64(4))
		})
	}
}

// A retention that fails half way leaves nothing open behind Close.
func TestRetainFailsHalfWay(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		renames := 0
		w.intercept(func(op *fsio.Op, do func() error) error {
			if op.Kind == fsio.OpRename && path.Ext(op.Path) == ".log" {
				if renames++; renames == 2 {
					return syscall.EIO
				}
			}
			return do()
		})
		w.o.Config.SegmentBytes, w.o.Config.RetainBytes = 200, 100
		w.o.Handles = segment.NewHandles(segment.HandleOptions{})
		l := w.open()
		w.fill(numbers(12)...)
		_, err := l.Retain(t.Context())
		require.ErrorIs(t, err, log.ErrReadOnly)
		require.ErrorIs(t, l.Close(), syscall.EIO)
		st := w.o.Handles.Stats()
		require.Zero(t, st.Files+st.Maps)
	})
}

// Where there is no room for the leader epochs, the start has moved durably all the same: who asks again, and is told
// that there is nothing to do, may rely on it.
func TestDeleteBeforeWithoutRoom(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		full := false
		w.intercept(func(op *fsio.Op, do func() error) error {
			if full && op.Kind == fsio.OpCreate && strings.Contains(op.Path, "leader-epoch-checkpoint") {
				return syscall.ENOSPC
			}
			return do()
		})
		l := w.open()
		w.fill(numbers(4)...)
		full = true
		moved, err := l.DeleteBefore(3)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.True(t, moved)
		full = false
		moved, err = l.DeleteBefore(3)
		require.NoError(t, err)
		require.False(t, moved)
		w.kill()
		l = w.open()
		require.EqualValues(t, 3, l.StartOffset())
		require.Equal(t, []log.Epoch{{Epoch: 0, StartOffset: 3}}, l.Epochs())
	})
}

// A roll for which there is no room, and whose first file cannot be removed again, makes the log read-only: what went
// on below that file's name would be hidden behind it.
func TestRollLeavesAFile(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		broken := false
		w.intercept(func(op *fsio.Op, do func() error) error {
			switch {
			case broken && op.Kind == fsio.OpCreate && path.Ext(op.Path) == ".timeindex":
				return syscall.ENOSPC
			case broken && op.Kind == fsio.OpRemove && strings.HasSuffix(op.Path, name20(2)+".log"):
				return syscall.EIO
			}
			return do()
		})
		l := w.open()
		w.fill("a", "b")
		broken = true
		_, err := l.Roll()
		require.ErrorIs(t, err, log.ErrReadOnly)
		require.ErrorIs(t, err, syscall.EIO)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.True(t, w.exists(name20(2)+".log"))
		broken = false
		_, err = l.Append(set(t, rec("c")))
		require.ErrorIs(t, err, log.ErrReadOnly)
		require.ErrorIs(t, l.Close(), log.ErrReadOnly)
		w.open()
		w.fill("c")
		require.Equal(t, map[int64]string{0: "a", 1: "b", 2: "c"}, w.values(0, log.ReadToEnd))
	})
}

// A roll of an empty segment for which there is no room leaves that where it was, and the log goes on in it.
func TestRollOfAnEmptySegmentWithoutRoom(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		full := false
		w.intercept(func(op *fsio.Op, do func() error) error {
			if full && op.Kind == fsio.OpCreate {
				return syscall.ENOSPC
			}
			return do()
		})
		w.o.Config.DeleteDelay = log.Zero
		l := w.open()
		before := w.names()
		full = true
		_, err := l.Roll()
		full = false
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.NotErrorIs(t, err, log.ErrReadOnly)
		require.Equal(t, before, w.names())
		w.fill("a")
		_, err = l.Reap(t.Context())
		require.NoError(t, err)
		_, err = l.Roll()
		require.NoError(t, err)
		w.fill("b")
		w.kill()
		w.open()
		require.Equal(t, map[int64]string{0: "a", 1: "b"}, w.values(0, log.ReadToEnd))
	})
}

// Fail needs no cause, and what is refused then says so.
func TestFailWithoutCause(t *testing.T) {
	w := newWorld(t, backends[0])
	w.open().Fail(nil)
	_, err := w.l.Append(set(t, rec("a")))
	require.ErrorIs(t, err, log.ErrReadOnly)
	require.NotContains(t, err.Error(), "%!")
	require.ErrorIs(t, w.l.Close(), log.ErrReadOnly)
}
