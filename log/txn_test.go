package log_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// script is an interleaving of producers that appends in the order of Kafka's test: what each call appends.
func (w *world) interleave() {
	w.Helper()
	next := map[int64]int32{}
	txn := func(id int64, n int) {
		w.append(produced(w, id, 0, next[id], true, n))
		next[id] += int32(n)
	}
	plain := func(n int) {
		recs := make([]codec.Record, n)
		for i := range recs {
			recs[i] = rec("plain")
		}
		w.append(set(w, recs...))
	}
	txn(1, 5)
	plain(3)
	txn(2, 2)
	txn(1, 4)
	txn(3, 3)
	plain(2)
	txn(1, 10)
	require.EqualValues(w, 29, w.end(1, 0, false).BaseOffset)
	txn(2, 6)
	txn(4, 3)
	plain(10)
	txn(3, 9)
	require.EqualValues(w, 58, w.end(3, 0, true).BaseOffset)
	txn(4, 8)
	txn(2, 7)
	require.EqualValues(w, 74, w.end(2, 0, false).BaseOffset)
	plain(10)
	txn(4, 4)
	require.EqualValues(w, 89, w.end(4, 0, true).BaseOffset)
}

// aborted is what interleave aborts.
var aborted = []index.AbortedTxn{
	{ProducerID: 1, FirstOffset: 0, LastOffset: 29, StableOffset: 8},
	{ProducerID: 2, FirstOffset: 8, LastOffset: 74, StableOffset: 36},
}

// G94 testTransactionIndexUpdated, H15 testFullTransactionIndexRecovery, G96: the index of aborted
// transactions, as written, and as recovered from nothing.
func TestG94AbortedTransactions(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 700
		w.o.Replicated = true
		w.open()
		w.interleave()
		require.Greater(t, len(w.bases()), 3)
		all, err := w.l.Aborted(0, 100)
		require.NoError(t, err)
		require.Equal(t, aborted, all)

		for _, row := range []struct{ hw, unstable int64 }{{30, 8}, {75, 36}, {90, codec.NoOffset}} {
			_, _, err := w.l.RaiseHighWatermark(row.hw)
			require.NoError(t, err)
			require.Equal(t, row.unstable, w.l.State().FirstUnstable, "high watermark %d", row.hw)
		}
		require.EqualValues(t, 90, w.l.StableOffset())
		seen := w.values(0, log.ReadCommitted)
		for offset := range seen {
			for _, gone := range []int64{0, 4, 8, 9, 10, 28, 30, 67} {
				require.NotEqual(t, gone, offset, "record of an aborted transaction")
			}
		}
		require.Len(t, seen, 90-4-19-15) // markers, and what producers 1 and 2 wrote
		s, err := w.l.ReadWith(0, log.ReadOptions{Isolation: log.ReadCommitted, MaxBytes: 100})
		require.NoError(t, err)
		require.Contains(t, s.Aborted(), aborted[0], "its marker is in a later segment")
		require.NoError(t, s.Close())

		w.kill()
		for _, name := range w.names() {
			if len(name) > 20 && (name[20:] == ".txnindex" || name[20:] == ".snapshot") {
				require.NoError(t, w.fs.Remove(w.dir+"/"+name))
			}
		}
		w.o.Resume = &log.Resume{}
		w.open()
		all, err = w.l.Aborted(0, 100)
		require.NoError(t, err)
		require.Equal(t, aborted, all)
		w.l.SetHighWatermark(90)
		require.Equal(t, seen, w.values(0, log.ReadCommitted))
	})
}

// G95, G43, L-32: the last stable offset stays at an open transaction, and at one whose marker is not below
// the high watermark.
func TestG95StableOffset(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		w.open()
		w.fill("a", "b")
		w.append(produced(t, 1, 0, 0, true, 2)) // 2, 3
		w.fill("c")                             // 4
		w.l.SetHighWatermark(5)
		require.EqualValues(t, 2, w.l.StableOffset())
		require.Len(t, w.values(0, log.ReadCommitted), 2)
		w.end(1, 0, true) // 5
		require.EqualValues(t, 2, w.l.StableOffset(), "the marker is not replicated")
		w.l.SetHighWatermark(6)
		require.EqualValues(t, 6, w.l.StableOffset())
		require.Len(t, w.values(0, log.ReadCommitted), 5)
		w.append(produced(t, 1, 0, 2, true, 1)) // 6
		w.l.SetHighWatermark(7)
		_, err := w.l.Truncate(5)
		require.NoError(t, err)
		require.EqualValues(t, 5, w.l.HighWatermark())
		require.EqualValues(t, 2, w.l.StableOffset(), "the transaction is open again")
		w.l.SetHighWatermark(1)
		require.EqualValues(t, 1, w.l.StableOffset())
	})
}

// G98 testZombieCoordinatorFenced, and markers of an old producer epoch.
func TestG98Fencing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		end := func(epoch int16, coordinator int32, version log.TxnVersion) error {
			_, err := w.l.AppendWith(marker(t, 1, epoch, true, coordinator), log.AppendOptions{Origin: log.FromCoordinator, TxnVersion: version})
			return err
		}
		w.append(produced(t, 1, 3, 0, true, 1))
		require.NoError(t, end(3, 2, log.TxnV1))
		require.NoError(t, end(3, 2, log.TxnV1), "the same once more")
		require.ErrorIs(t, end(3, 1, log.TxnV1), log.ErrCoordinatorFenced)
		require.ErrorIs(t, end(2, 2, log.TxnV1), log.ErrFenced)
		w.append(produced(t, 1, 3, 1, true, 1))
		require.ErrorIs(t, end(3, 2, log.TxnV2), log.ErrFenced, "the marker raises the epoch")
		require.NoError(t, end(4, 2, log.TxnV2))
		require.NoError(t, end(4, 2, log.TxnV2), "a retry")
		_, err := w.l.Append(produced(t, 1, 3, 2, true, 1))
		require.ErrorIs(t, err, log.ErrFenced)
		w.close()
		w.open()
		require.ErrorIs(t, end(4, 1, log.TxnV1), log.ErrCoordinatorFenced, "also after a reload")
	})
}

// G99: with VerifyTransactions the first batch of a transaction needs a Guard.
func TestG99Verification(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.VerifyTransactions = true
		w.open()
		_, err := w.l.Append(produced(t, 1, 0, 0, true, 1))
		require.ErrorIs(t, err, log.ErrInvalidTxnState)
		g, err := w.l.StartVerification(1, 0, 0, false)
		require.NoError(t, err)
		require.NotZero(t, g)
		again, err := w.l.StartVerification(1, 0, 0, false)
		require.NoError(t, err)
		require.Equal(t, g, again)
		_, err = w.l.AppendWith(produced(t, 1, 0, 0, true, 1), log.AppendOptions{Guard: g + 1})
		require.ErrorIs(t, err, log.ErrInvalidTxnState)
		_, err = w.l.AppendWith(produced(t, 1, 0, 0, true, 1), log.AppendOptions{Guard: g})
		require.NoError(t, err)
		g, err = w.l.StartVerification(1, 0, 1, false)
		require.NoError(t, err)
		require.Zero(t, g, "a transaction is open")
		w.append(produced(t, 1, 0, 1, true, 1))
	})
}

// I23: a transaction that is open too long is late.
func TestLateTransaction(t *testing.T) {
	w := newWorld(t, backends[0])
	w.o.TxnTimeout = time.Minute
	w.open()
	w.append(produced(t, 1, 0, 0, true, 1))
	w.clock.Advance(6 * time.Minute)
	assert.False(t, w.l.State().LateTxn)
	w.clock.Advance(time.Millisecond)
	assert.True(t, w.l.State().LateTxn)
	w.end(1, 0, false)
	assert.False(t, w.l.State().LateTxn)
}

// failTxnIndex makes the next n writes to an index of aborted transactions fail, of which n is counted down.
func (w *world) failTxnIndex(n *int) {
	w.intercept(func(op *fsio.Op, do func() error) error {
		if *n > 0 && op.Kind == fsio.OpWriteAt && strings.HasSuffix(op.Path, segment.TxnIndexExt) {
			*n--
			return syscall.EIO
		}
		return do()
	})
}

// G21 testAppendToOrReadFromLogInFailedLogDir: after a failed write to the index of aborted transactions appends are
// storage errors. Reads go on: whether a directory is offline is its manager's to say.
func TestG21AppendAfterAFailure(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		failing := 1
		w.failTxnIndex(&failing)
		w.open()
		w.append(produced(t, 1, 0, 0, true, 10))
		for range 2 {
			_, err := w.l.AppendWith(marker(t, 1, 0, false, 0), log.AppendOptions{Origin: log.FromCoordinator, TxnVersion: log.TxnV1})
			require.ErrorIs(t, err, log.ErrReadOnly)
			require.EqualValues(t, 56, log.Code(err))
			_, err = w.l.Append(set(t, rec("x")))
			require.ErrorIs(t, err, log.ErrReadOnly)
		}
		require.Len(t, w.values(0, log.ReadToEnd), 10)
	})
}

// G22 testAppendToTransactionIndexFailure, but for the marker: in Kafka it is in the log then.
func TestG22TransactionIndexFails(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated, w.o.Resume = true, &log.Resume{}
		failing := 2
		w.failTxnIndex(&failing)
		l := w.open()
		w.append(produced(t, 1, 0, 0, true, 10))
		for range 2 {
			_, err := l.AppendWith(marker(t, 1, 0, false, 1), log.AppendOptions{Origin: log.FromCoordinator, TxnVersion: log.TxnV1})
			require.EqualValues(t, 56, log.Code(err))
			require.EqualValues(t, 10, l.EndOffset(), "what failed has left nothing")
			require.EqualValues(t, 0, l.StableOffset())
		}
		l.SetHighWatermark(12)
		require.EqualValues(t, 0, l.StableOffset(), "nobody may take the transaction for committed")
		require.Error(t, l.Close())

		w.o.FS = w.fs
		w.open()
		require.EqualValues(t, 10, w.l.EndOffset())
		require.EqualValues(t, 0, w.l.State().FirstUnstable)
		require.EqualValues(t, 10, w.end(1, 0, false).BaseOffset)
		all, err := w.l.Aborted(0, 11)
		require.NoError(t, err)
		require.Equal(t, []index.AbortedTxn{{ProducerID: 1, FirstOffset: 0, LastOffset: 10, StableOffset: 11}}, all)
		w.l.SetHighWatermark(12)
		require.Equal(t, codec.NoOffset, w.l.State().FirstUnstable)
		require.Empty(t, w.values(0, log.ReadCommitted))
	})
}

// Where there is no room for a marker, or for what the index has to say of it, the append is refused, and taken once
// there is.
func TestMarkerWithoutRoom(t *testing.T) {
	for _, fail := range []struct {
		kind fsio.Kind
		ext  string
	}{{fsio.OpCreate, segment.TxnIndexExt}, {fsio.OpWriteAt, segment.TxnIndexExt}, {fsio.OpWriteAt, segment.LogExt}} {
		onEach(t, func(t *testing.T, w *world) {
			full := false
			w.intercept(func(op *fsio.Op, do func() error) error {
				if full && op.Kind == fail.kind && strings.HasSuffix(op.Path, fail.ext) {
					return errors.Join(do(), syscall.ENOSPC) // all of it was written, and the last block was not
				}
				return do()
			})
			l := w.open()
			w.append(produced(t, 1, 0, 0, true, 2))
			w.append(produced(t, 2, 0, 0, true, 2))
			before := l.Producers()
			full = true
			_, err := l.AppendWith(marker(t, 1, 0, false, 0), log.AppendOptions{Origin: log.FromCoordinator, TxnVersion: log.TxnV1})
			full = false
			if err == nil && w.reserves && fail.ext == segment.LogExt {
				return // it is not written by a call
			}
			require.ErrorIs(t, err, syscall.ENOSPC)
			require.NotErrorIs(t, err, log.ErrReadOnly)
			require.EqualValues(t, 4, l.EndOffset())
			require.EqualValues(t, 0, l.StableOffset())
			require.Equal(t, before, l.Producers())
			all, err := l.Aborted(0, 100)
			require.NoError(t, err)
			require.Empty(t, all)
			require.Empty(t, w.files()[name20(0)+segment.TxnIndexExt])

			require.EqualValues(t, 4, w.end(2, 0, false).BaseOffset)
			require.EqualValues(t, 5, w.end(1, 0, false).BaseOffset)
			w.kill()
			l = w.open()
			require.EqualValues(t, 6, l.StableOffset())
			all, err = l.Aborted(0, 100)
			require.NoError(t, err)
			require.Equal(t, []index.AbortedTxn{
				{ProducerID: 2, FirstOffset: 2, LastOffset: 4, StableOffset: 0}, {ProducerID: 1, FirstOffset: 0, LastOffset: 5, StableOffset: 6},
			}, all)
		})
	}
}

// Names are made durable by the Sync, or Close, behind what makes the files, also where another Sync comes while a file
// is made.
func TestSyncWhileFilesAreMade(t *testing.T) {
	for _, row := range []struct {
		ext string
		do  func(w *world) error
	}{
		{segment.TxnIndexExt, func(w *world) error {
			w.end(1, 0, false)
			return w.l.Sync(3)
		}},
		{".snapshot", func(w *world) error {
			_, err := w.l.Roll()
			return errors.Join(err, w.l.Close())
		}},
	} {
		onEach(t, func(t *testing.T, w *world) {
			var calls []string
			w.intercept(func(op *fsio.Op, do func() error) error {
				if op.Kind == fsio.OpCreate && strings.HasSuffix(op.Path, row.ext) {
					require.NoError(t, w.l.Sync(w.l.EndOffset()))
					calls = []string{"made"}
				}
				if op.Kind == fsio.OpSyncDir {
					calls = append(calls, "synced")
				}
				return do()
			})
			w.open()
			w.append(produced(t, 1, 0, 0, true, 2))
			require.NoError(t, row.do(w))
			require.Equal(t, []string{"made", "synced"}, calls)
		})
	}
}

// G92 testRebuildTransactionalState.
func TestG92TransactionsAreRecovered(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		w.open()
		w.append(produced(t, 137, 5, 0, true, 1))
		w.append(produced(t, 137, 5, 1, true, 1))
		require.EqualValues(t, 2, w.end(137, 5, false).BaseOffset)
		w.close()
		w.dropSnapshots()
		w.o.Resume = &log.Resume{}
		w.open()
		w.l.SetHighWatermark(3)
		require.Equal(t, codec.NoOffset, w.l.State().FirstUnstable)
		require.EqualValues(t, 3, w.l.StableOffset())
	})
}

// G97 testLastStableOffsetDoesNotExceedLogStartOffsetMidSegment, …AfterSegmentDeletion: no transaction begins below
// the start of the log.
func TestG97TransactionBelowTheStart(t *testing.T) {
	for _, row := range []struct {
		name  string
		start int64
		bases []int64
	}{{"in a segment", 5, []int64{0, 8}}, {"its segment is deleted", 8, []int64{8}}} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.o.Replicated = true
				w.open()
				w.append(produced(t, 1, 0, 0, true, 5))
				w.fill("a", "b", "c")
				_, err := w.l.Roll()
				require.NoError(t, err)
				w.append(produced(t, 1, 0, 5, true, 5))
				require.EqualValues(t, 0, w.l.State().FirstUnstable)
				w.l.SetHighWatermark(w.l.EndOffset())
				_, err = w.l.DeleteBefore(row.start)
				require.NoError(t, err)
				w.retain()
				require.Equal(t, row.bases, w.bases())
				require.Equal(t, row.start, w.l.State().FirstUnstable)
				require.Equal(t, row.start, w.l.StableOffset())
			})
		})
	}
}

// I18 testTxnFirstOffsetMetadataCached: the place of the first unstable offset is known.
func TestI18PlaceOfATransaction(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.fill("a")
		_, err := w.l.Roll()
		require.NoError(t, err)
		w.fill("b")
		w.append(produced(t, 1, 0, 0, true, 1))
		unstable := w.l.State().FirstUnstable
		require.EqualValues(t, 2, unstable)
		s, err := w.l.ReadWith(unstable, log.ReadOptions{Isolation: log.ReadCommitted})
		require.NoError(t, err)
		require.Zero(t, s.Len())
		base, pos, ok := s.Place()
		require.True(t, ok)
		require.EqualValues(t, 1, base)
		require.EqualValues(t, len(set(t, rec("b"))), pos)
		require.NoError(t, s.Close())
	})
}
