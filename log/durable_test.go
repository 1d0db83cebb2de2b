package log_test

import (
	"errors"
	"path"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/log"
)

// intercept puts an interceptor below the log.
func (w *world) intercept(i fsio.Interceptor) {
	w.o.FS = fsio.Intercept(w.fs, i)
}

// Sync raises the recovery point, and costs nothing where that is.
func TestSyncRaisesTheRecoveryPoint(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var syncs int
		w.intercept(func(op *fsio.Op, do func() error) error {
			if op.Kind == fsio.OpSync && path.Ext(op.Path) == ".log" {
				syncs++
			}
			return do()
		})
		w.open()
		w.fill("a", "b", "c")
		syncs = 0
		require.NoError(t, w.l.Sync(2))
		assert.EqualValues(t, 2, w.l.RecoveryPoint())
		assert.Equal(t, 1, syncs, "one sync of one file")
		require.NoError(t, w.l.Sync(2))
		require.NoError(t, w.l.Sync(1))
		assert.Equal(t, 1, syncs, "what the recovery point covers costs nothing")
		require.NoError(t, w.l.Sync(100))
		assert.EqualValues(t, 3, w.l.RecoveryPoint(), "above the end means the end")
	})
}

// FlushMessages syncs behind so many records.
func TestFlushMessages(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.FlushMessages = 3
		w.open()
		w.fill("a", "b")
		assert.EqualValues(t, 0, w.l.RecoveryPoint())
		w.fill("c")
		assert.EqualValues(t, 3, w.l.RecoveryPoint())
	})
}

// The sync of a segment that was rolled goes to the scheduler, or to the next Sync.
func TestG27SyncBehindARoll(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Scheduler = w.clock
		w.open()
		w.fill("a", "b")
		_, err := w.l.Roll()
		require.NoError(t, err)
		assert.EqualValues(t, 0, w.l.RecoveryPoint())
		w.clock.Advance(0)
		assert.EqualValues(t, 2, w.l.RecoveryPoint())
	})
}

// A segment that is rolled while it is synced has its indexes synced before the recovery point is behind it.
func TestRollDuringSync(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var synced []string
		roll := false
		w.intercept(func(op *fsio.Op, do func() error) error {
			if fsio.Syncs.Has(op.Kind) {
				synced = append(synced, path.Ext(op.Path))
			}
			err := do()
			if roll && op.Kind == fsio.OpSync && path.Ext(op.Path) == ".log" {
				roll = false
				_, failed := w.l.Roll()
				err = errors.Join(err, failed)
			}
			return err
		})
		w.open()
		w.fill("a", "b")
		synced, roll = nil, true
		require.NoError(t, w.l.Sync(2))
		require.False(t, roll)
		require.EqualValues(t, 2, w.l.RecoveryPoint())
		require.Contains(t, synced, ".index")
		require.Contains(t, synced, ".timeindex")
	})
}

// Concurrent calls share a sync.
func TestGroupCommit(t *testing.T) {
	w := newWorld(t, backends[0])
	release := make(chan struct{})
	var once sync.Once
	w.open()
	w.close()
	w.intercept(func(op *fsio.Op, do func() error) error {
		if op.Kind == fsio.OpSync && path.Ext(op.Path) == ".log" {
			once.Do(func() { <-release })
		}
		return do()
	})
	w.open()
	var all sync.WaitGroup
	const callers = 16
	started := make(chan struct{}, callers)
	for range callers {
		all.Go(func() {
			got, err := w.l.Append(set(t, rec("v")))
			assert.NoError(t, err)
			started <- struct{}{}
			assert.NoError(t, w.l.Sync(got.LastOffset+1))
		})
	}
	for range callers {
		<-started
	}
	close(release)
	all.Wait()
	st := w.l.Stats()
	assert.EqualValues(t, callers, w.l.RecoveryPoint())
	assert.LessOrEqual(t, st.Syncs, int64(callers))
	assert.EqualValues(t, callers, st.Syncs+st.SharedSyncs)
}

// L-13, L-14: after a sync that failed, nothing is acknowledged any more until the log is opened again.
func TestFailedSyncIsFinal(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		broken := false
		var told []error
		w.intercept(func(op *fsio.Op, do func() error) error {
			if broken && op.Kind == fsio.OpSync {
				broken = false // the next one would succeed
				return syscall.EIO
			}
			return do()
		})
		w.o.Events.Failed = func(err error) { told = append(told, err) }
		l := w.open()
		w.fill("a")
		require.NoError(t, l.Sync(1))
		w.fill("b")
		broken = true
		require.ErrorIs(t, l.Sync(2), log.ErrReadOnly)
		err := l.Sync(2)
		require.ErrorIs(t, err, log.ErrReadOnly)
		require.ErrorIs(t, err, syscall.EIO)
		_, err = l.Append(set(t, rec("c")))
		require.ErrorIs(t, err, syscall.EIO)
		require.EqualValues(t, 56, log.Code(err))
		_, err = l.Roll()
		require.ErrorIs(t, err, log.ErrReadOnly)
		require.EqualValues(t, 1, l.RecoveryPoint())
		require.Len(t, told, 1)
		require.Len(t, w.values(0, log.ReadToEnd), 2, "reads go on")
		require.ErrorIs(t, l.Close(), syscall.EIO)
		require.NoError(t, l.Close())
		w.open()
		require.EqualValues(t, 2, w.l.EndOffset())
	})
}

// Without room an append is cut back, and the log goes on; after any other failed write it does not.
func TestFailedWrite(t *testing.T) {
	for _, row := range []struct {
		name string
		err  error
		on   bool
	}{
		{"no room", syscall.ENOSPC, true},
		{"quota", syscall.EDQUOT, true},
		{"too large", syscall.EFBIG, true},
		{"i/o", syscall.EIO, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, backends[0])
			fail := false
			w.intercept(func(op *fsio.Op, do func() error) error {
				if fail && op.Kind == fsio.OpWriteAt && path.Ext(op.Path) == ".log" {
					op.Data = op.Data[:len(op.Data)/2] // half of it is there
					return errors.Join(do(), row.err)
				}
				return do()
			})
			w.open()
			w.fill("a")
			fail = true
			_, err := w.l.Append(set(t, rec("b")))
			require.ErrorIs(t, err, row.err)
			require.Equal(t, !row.on, errors.Is(err, log.ErrReadOnly))
			require.EqualValues(t, 1, w.l.EndOffset())
			fail = false
			_, err = w.l.Append(set(t, rec("c")))
			require.Equal(t, row.on, err == nil, "%v", err)
			if row.on {
				require.Equal(t, map[int64]string{0: "a", 1: "c"}, w.values(0, log.ReadToEnd))
				w.close()
			}
			w.o.FS = w.fs
			w.kill()
			w.open()
			require.Equal(t, "a", w.values(0, log.ReadToEnd)[0])
		})
	}
}

// G84 testLogCloseIdempotent, testLogCloseSuccess, G34 testLogRollAfterLogHandlerClosed: a log that was closed
// refuses everything, with Kafka's code of a storage error, and getters say what was true.
func TestG84Closed(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		l := w.open()
		w.fill("a", "b")
		s, err := l.Read(0, 1000)
		require.NoError(t, err)
		require.EqualValues(t, 1, l.Stats().OpenSlices)
		w.close()
		require.NoError(t, l.Close())
		for name, call := range map[string]func() error{
			"Append":          func() error { _, err := l.Append(set(t, rec("x"))); return err },
			"AppendAssigned":  func() error { _, err := l.AppendAssigned(at(t, 5, 0, "x"), 0); return err },
			"AppendRecords":   func() error { _, err := l.AppendRecords(rec("x")); return err },
			"Read":            func() error { _, err := l.Read(0, 1); return err },
			"Sync":            func() error { return l.Sync(1) },
			"Roll":            func() error { _, err := l.Roll(); return err },
			"Truncate":        func() error { _, err := l.Truncate(0); return err },
			"Reset":           func() error { return l.Reset(0, 0) },
			"DeleteBefore":    func() error { _, err := l.DeleteBefore(1); return err },
			"Retain":          func() error { _, err := l.Retain(t.Context()); return err },
			"Reap":            func() error { _, err := l.Reap(t.Context()); return err },
			"OffsetForTime":   func() error { _, _, err := l.OffsetForTime(0); return err },
			"Wait":            func() error { return l.Wait(t.Context(), 0, log.ReadToEnd) },
			"AssignEpoch":     func() error { return l.AssignEpoch(1, 2) },
			"TakeSnapshot":    func() error { return l.TakeSnapshot() },
			"Configure":       func() error { return l.Configure(log.Config{}) },
			"Move":            func() error { return l.Move("t-1") },
			"Delete":          func() error { return l.Delete(t.Context()) },
			"Raise":           func() error { _, _, err := l.RaiseHighWatermark(1); return err },
			"StartVerificati": func() error { _, err := l.StartVerification(1, 0, 0, false); return err },
		} {
			err := call()
			require.ErrorIs(t, err, log.ErrClosed, name)
			require.EqualValues(t, 56, log.Code(err), name)
		}
		require.EqualValues(t, 2, l.EndOffset())
		require.EqualValues(t, 2, l.RecoveryPoint())
		require.Len(t, l.State().Segments, 1)
		n := 0
		for _, err := range s.Records() {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 2, n, "slices stay good")
		require.NoError(t, s.Close())
	})
}

// G32 testFlushingEmptyActiveSegments: strata makes the indexes of a segment with it, Kafka with the flush at the
// latest.
func TestG32SyncOfAnEmptyActiveSegment(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		synced := map[string]bool{}
		w.intercept(func(op *fsio.Op, do func() error) error {
			if op.Kind == fsio.OpSyncDir {
				synced[op.Path] = true
			}
			return do()
		})
		w.open()
		w.fill("a")
		_, err := w.l.Roll()
		require.NoError(t, err)
		clear(synced)
		require.NoError(t, w.l.Sync(1))
		for _, ext := range []string{".log", ".index"} {
			require.True(t, w.exists(name20(0)+ext))
			require.True(t, w.exists(name20(1)+ext))
		}
		require.True(t, synced[w.dir], "their names are durable")
	})
}

// G33 testFlushingNonExistentDir: the sync that a roll left does not fail where its directory has another name by
// then, or is deleted.
func TestG33SyncBehindAMove(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		onEach(t, func(t *testing.T, w *world) {
			w.o.Scheduler = w.clock
			w.o.Events.Failed = func(err error) { t.Error(err) }
			l := w.open()
			w.fill("a")
			_, err := l.Roll()
			require.NoError(t, err)
			require.NoError(t, l.Move("t-0.gone-delete"))
			w.dir = "t-0.gone-delete"
			if deleted {
				require.NoError(t, l.Delete(t.Context()))
			}
			w.clock.Advance(0)
			if !deleted {
				require.EqualValues(t, 1, l.RecoveryPoint())
			}
		})
	}
}

// G35 testRecoveryPointNotIncrementedOnProducerStateSnapshotFlushFailure.
func TestG35SnapshotThatIsNotSynced(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.intercept(func(op *fsio.Op, do func() error) error {
			if op.Kind == fsio.OpSync && path.Ext(op.Path) == ".snapshot" {
				return syscall.EIO
			}
			return do()
		})
		w.o.Scheduler = w.clock
		w.open()
		w.append(produced(t, 1, 0, 0, false, 1))
		base, err := w.l.Roll()
		require.NoError(t, err)
		require.EqualValues(t, 1, base)
		w.clock.Advance(0)
		require.Zero(t, w.l.RecoveryPoint())
		require.ErrorIs(t, w.l.Sync(1), log.ErrReadOnly)
		require.Zero(t, w.l.RecoveryPoint())
	})
}

// G53 testLogFlush. When to sync next is Run's to know.
func TestG53Sync(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.FlushAge = time.Second
		w.open()
		require.Zero(t, w.l.RecoveryPoint())
		w.fill("a")
		require.NoError(t, w.l.Sync(1))
		require.EqualValues(t, 1, w.l.RecoveryPoint())
		cancel := w.l.Run(w.clock)
		defer cancel()
		w.fill("b")
		w.clock.Advance(time.Second)
		require.EqualValues(t, 2, w.l.RecoveryPoint())
	})
}
