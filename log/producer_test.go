package log_test

import (
	"math"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/log"
)

// producer is what the log remembers of one, which must be there.
func (w *world) producer(id int64) (sequence int32, txnFirst int64) {
	w.Helper()
	for _, p := range w.l.Producers() {
		if p.ID == id {
			return p.LastSequence(), p.TxnFirstOffset
		}
	}
	require.Failf(w, "unknown", "producer %d", id)
	return 0, 0
}

// dropSnapshots removes all producer snapshots of a log that is closed.
func (w *world) dropSnapshots() {
	w.Helper()
	for _, name := range w.names() {
		if strings.HasSuffix(name, ".snapshot") {
			require.NoError(w, w.fs.Remove(path.Join(w.dir, name)))
		}
	}
}

// G48 testActiveProducers.
func TestG48ActiveProducers(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.append(produced(t, 1, 5, 0, true, 5))
		sequence, first := w.producer(1)
		assert.EqualValues(t, 4, sequence)
		assert.EqualValues(t, 0, first)
		_, err := w.l.AppendWith(marker(t, 1, 5, true, 15), log.AppendOptions{Origin: log.FromCoordinator, TxnVersion: log.TxnV1})
		require.NoError(t, err)
		sequence, first = w.producer(1)
		assert.EqualValues(t, 4, sequence)
		assert.Equal(t, codec.NoOffset, first)
		assert.EqualValues(t, 15, w.l.Producers()[0].CoordinatorEpoch)
		w.append(produced(t, 2, 5, 0, false, 3))
		sequence, first = w.producer(2)
		assert.EqualValues(t, 2, sequence)
		assert.Equal(t, codec.NoOffset, first)
	})
}

// G85 testPeriodicProducerIdExpiration, testProducerExpireCheckAfterDelete: with an age of two periods a producer
// is there after one and gone after two; a log that was deleted meanwhile is left alone.
func TestG85ProducersExpireNowAndThen(t *testing.T) {
	const period = 10 * time.Minute // producer.id.expiration.check.interval.ms
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.ProducerAge = 2 * period
		w.o.Events.Failed = func(err error) { t.Error(err) }
		l := w.open()
		defer l.Run(w.clock)()
		w.append(produced(t, 1, 0, 0, false, 1))
		w.clock.Advance(period)
		require.Len(t, l.Producers(), 1)
		w.clock.Advance(period)
		require.Empty(t, l.Producers())
		require.NoError(t, l.Delete(t.Context()))
		w.clock.Advance(period)
	})
}

// G89 testTakeSnapshotOnRollAndDeleteSnapshotOnRecoveryPointCheckpoint: each roll takes a snapshot, and none goes because
// the recovery point moves.
func TestG89SnapshotsOfRolls(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		for i := range int32(3) {
			w.append(produced(t, 1, 0, i, false, 1))
			base, err := w.l.Roll()
			require.NoError(t, err)
			require.EqualValues(t, i+1, base)
		}
		require.Equal(t, []int64{1, 2, 3}, w.l.State().Snapshots)
		for _, offset := range []int64{2, 3} {
			require.NoError(t, w.l.Sync(offset))
			require.Equal(t, []int64{1, 2, 3}, w.l.State().Snapshots)
		}
	})
}

// G90 testProducerSnapshotAfterSegmentRollOnAppend: the batch that makes the log roll is not in the snapshot.
func TestG90SnapshotOfARollByAppend(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		b := produced(t, 1, 0, 0, false, 1)
		w.o.Config.SegmentBytes = int64(len(b))
		w.open()
		w.append(b)
		w.append(produced(t, 1, 0, 1, false, 1))
		require.Equal(t, []int64{0, 1}, w.bases())
		require.Equal(t, []int64{1}, w.l.State().Snapshots)
		entries, err := producer.ReadSnapshot(w.fs, path.Join(w.dir, name20(1)+producer.SnapshotExt))
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.EqualValues(t, 0, entries[0].LastSequence)
		require.EqualValues(t, 0, entries[0].LastOffset)
		require.EqualValues(t, 0, entries[0].OffsetDelta)
	})
}

// G86 testInitializationOfProducerSnapshotsUpgradePath: which snapshots a log has that was loaded without any.
func TestG86SnapshotsAreMade(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 640
		w.open()
		w.fill(numbers(101)...)
		require.NoError(t, w.l.TakeSnapshot())
		bases, end := w.bases(), w.l.EndOffset()
		require.Greater(t, len(bases), 5)
		w.close()
		last := append(bases[len(bases)-2:len(bases):len(bases)], end)
		for _, row := range []struct {
			name   string
			resume log.Resume
			want   []int64
		}{
			{"clean", log.Resume{Clean: true}, last},
			{"nothing to recover", log.Resume{RecoveryPoint: end}, last},
			{"all to recover", log.Resume{}, append(bases[1:len(bases):len(bases)], end)},
		} {
			w.dropSnapshots()
			w.o.Resume = &row.resume
			w.open()
			assert.Equal(t, row.want, w.l.State().Snapshots, row.name)
			w.close()
		}
	})
}

// G88 testRebuildProducerIdMapWithCompactedData, testUpdateProducerIdMapWithCompactedData: the sequences of records
// that a compaction removed count, also where none is left (testRebuildProducerStateWithEmptyCompactedBatch).
func TestG88CompactedProducers(t *testing.T) {
	const base = 23
	for _, row := range []struct {
		name string
		left []int64 // the offsets of records
		last int64   // the offset of the last record before the compaction
		want int32
	}{
		{"gaps", []int64{base + 1, base + 2}, base + 3, 3},
		{"nothing left", nil, base + 1, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.open()
				h := codec.NewHeader(2)
				h.ProducerID, h.ProducerEpoch, h.BaseSequence = 1, 0, 0
				h.BaseOffset, h.LastOffset, h.LeaderEpoch = base, row.last, 0
				h.BaseTimestamp, h.MaxTimestamp = started, started
				recs := make([]codec.Record, len(row.left))
				for i, offset := range row.left {
					recs[i] = codec.Record{Offset: offset, Timestamp: started, Value: []byte("v")}
				}
				_, err := w.l.AppendAssigned(batch(t, h, recs...), 0)
				require.NoError(t, err)
				sequence, _ := w.producer(1)
				require.Equal(t, row.want, sequence)

				_, err = w.l.AppendAssigned(replicated(t, set(t, rec("more")), row.last+1), 0)
				require.NoError(t, err)
				_, err = w.l.Truncate(row.last + 1)
				require.NoError(t, err)
				sequence, _ = w.producer(1)
				require.Equal(t, row.want, sequence, "truncated")

				w.close()
				w.dropSnapshots()
				w.o.Resume = &log.Resume{}
				w.open()
				sequence, _ = w.producer(1)
				require.Equal(t, row.want, sequence, "rebuilt")
				w.append(produced(t, 1, 0, row.want+1, false, 1))
			})
		})
	}
}

// I3, I4, I5 in a log: sequences wrap from 2³¹−1 to 0, also inside of a batch, and to nothing else; so they do after a
// recovery.
func TestSequencesWrap(t *testing.T) {
	const last = math.MaxInt32
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		_, err := w.l.AppendAssigned(replicated(t, produced(t, 1, 0, last-1, false, 1), 0), 0)
		require.NoError(t, err)
		refused := func(sequence int32) {
			t.Helper()
			_, err := w.l.Append(produced(t, 1, 0, sequence, false, 1))
			require.ErrorIs(t, err, log.ErrOutOfOrderSequence)
			require.EqualValues(t, 45, log.Code(err))
		}
		refused(0)
		w.append(produced(t, 1, 0, last, false, 4)) // its last one is 2
		sequence, _ := w.producer(1)
		require.EqualValues(t, 2, sequence)
		require.True(t, w.append(produced(t, 1, 0, last, false, 4)).Duplicate)
		refused(4)
		end := w.l.EndOffset()
		w.close()
		w.dropSnapshots()
		w.o.Resume = &log.Resume{}
		w.open()
		require.Equal(t, end, w.l.EndOffset())
		refused(4)
		refused(last)
		w.append(produced(t, 1, 0, 3, false, 1))
	})
}

// J14 in a log: a leader epoch that falls erases those that it contradicts, what a recovery makes of such batches rises,
// and Verify tells.
func TestLeaderEpochFalls(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		for i, epoch := range []int32{1, 5, 3} {
			_, err := w.l.AppendAssigned(at(t, int64(i), epoch, "v"), 5)
			require.NoError(t, err)
		}
		require.Equal(t, []log.Epoch{{Epoch: 1, StartOffset: 0}, {Epoch: 3, StartOffset: 2}}, w.l.Epochs())
		require.NoError(t, w.l.AssignEpoch(0, 3))
		require.Equal(t, []log.Epoch{{Epoch: 0, StartOffset: 3}}, w.l.Epochs())
		w.close()
		found := strings.Join(briefs(verifyAll(t, w.fs, w.dir, log.VerifyOptions{}), log.SeverityWarning), "\n")
		require.Contains(t, found, string(log.CodeUnprotected))
		require.Contains(t, found, string(log.CodeEpochs))
		write(t, w.fs, path.Join(w.dir, "leader-epoch-checkpoint"), []byte("damaged"))
		w.o.Resume = &log.Resume{}
		w.open()
		require.Equal(t, []log.Epoch{{Epoch: 1, StartOffset: 0}, {Epoch: 5, StartOffset: 1}}, w.l.Epochs())
	})
}

// I2, I22 in a log: a marker without a transaction is taken, and leaves no trace but its producer's epoch.
func TestMarkerWithoutTransaction(t *testing.T) {
	for _, commit := range []bool{true, false} {
		onEach(t, func(t *testing.T, w *world) {
			w.open()
			w.fill("a")
			w.end(1, 2, commit)
			w.end(1, 2, commit)
			check := func() {
				t.Helper()
				require.EqualValues(t, 3, w.l.EndOffset())
				require.EqualValues(t, 3, w.l.StableOffset())
				all, err := w.l.Aborted(0, 3)
				require.NoError(t, err)
				require.Empty(t, all)
				require.Equal(t, map[int64]string{0: "a"}, w.values(0, log.ReadCommitted))
				_, err = w.l.Append(produced(t, 1, 1, 0, true, 1))
				require.ErrorIs(t, err, log.ErrFenced)
				require.EqualValues(t, 47, log.Code(err))
			}
			check()
			w.close()
			w.dropSnapshots()
			w.o.Resume = &log.Resume{}
			w.open()
			check()
		})
	}
}

// A control batch of a producer that ends no transaction, which no coordinator writes, is refused, and one that is in the
// log already does not keep it from being opened.
func TestUnknownControlBatch(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.append(produced(t, 1, 0, 0, true, 1))
		h := codec.NewHeader(2)
		h.ProducerID, h.ProducerEpoch, h.BaseOffset, h.LeaderEpoch = 1, 0, 1, 0
		h.Attributes = codec.ControlBit | codec.TransactionalBit
		unknown := batch(t, h, codec.Record{Offset: 1, Key: []byte{0, 0, 0, 77}, Value: make([]byte, 6), Timestamp: started})
		_, err := w.l.AppendWith(unknown, log.AppendOptions{Origin: log.FromCoordinator, TxnVersion: log.TxnV1})
		require.ErrorIs(t, err, log.ErrInvalidRecord)
		_, err = w.l.AppendAssigned(unknown, 0)
		require.ErrorIs(t, err, log.ErrInvalidRecord)
		require.EqualValues(t, 87, log.Code(err))
		require.EqualValues(t, 1, w.l.EndOffset())
		w.close()
		name := path.Join(w.dir, name20(0)+".log")
		write(t, w.fs, name, append(read(t, w.fs, name), unknown...))
		for _, resume := range []log.Resume{{Clean: true}, {}} {
			w.o.Resume = &resume
			w.open()
			require.EqualValues(t, 2, w.l.EndOffset())
			require.EqualValues(t, 0, w.l.StableOffset(), "the transaction is open")
			w.close()
		}
	})
}
