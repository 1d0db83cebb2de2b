package log_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/log"
)

// TestStrangeControlBatches appends control batches that no coordinator sends: the first record counts, and what is no
// marker is refused, as in Kafka: M-22.
func TestStrangeControlBatches(t *testing.T) {
	abort := codec.Record{Key: []byte{0, 0, 0, 0}, Value: make([]byte, 6)}
	commit := codec.Record{Key: []byte{0, 0, 0, 1}, Value: make([]byte, 6)}
	for _, row := range []struct {
		name    string
		recs    []codec.Record
		is      error
		decided bool
		aborted int
	}{
		{"an abort", []codec.Record{abort}, nil, true, 1},
		{"three aborts", []codec.Record{abort, abort, abort}, nil, true, 1},
		{"a commit and an abort", []codec.Record{commit, abort}, nil, true, 0},
		{"version 5", []codec.Record{{Key: []byte{0, 5, 0, 1}, Value: []byte{0, 5, 0, 0, 0, 0, 1, 2}}}, nil, true, 0},
		{"an unknown type", []codec.Record{{Key: []byte{0, 0, 0, 7}, Value: make([]byte, 6)}}, log.ErrInvalidRecord, false, 0},
		{"a key of three bytes", []codec.Record{{Key: []byte{0, 0, 0}, Value: make([]byte, 6)}}, log.ErrInvalidRecord, false, 0},
		{"a value of five bytes", []codec.Record{{Key: []byte{0, 0, 0, 1}, Value: make([]byte, 5)}}, log.ErrInvalidRecord, false, 0},
		{"nothing", nil, log.ErrInvalidRecord, false, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, backends[0])
			w.open()
			w.append(produced(t, 7, 0, 0, true, 1))
			h := codec.NewHeader(2)
			h.ProducerID, h.ProducerEpoch = 7, 0
			h.Attributes = codec.TransactionalBit | codec.ControlBit
			for i := range row.recs {
				row.recs[i].Offset, row.recs[i].Timestamp = int64(i), started
			}
			b, err := codec.Kafka().Append(nil, h, row.recs)
			require.NoError(t, err)
			_, err = w.l.AppendWith(b, log.AppendOptions{Origin: log.FromCoordinator, TxnVersion: log.TxnV1})
			require.ErrorIs(t, err, row.is)
			w.append(set(t, rec("after")))
			w.l.SetHighWatermark(w.l.EndOffset())
			require.Equal(t, row.decided, w.l.StableOffset() == w.l.EndOffset())
			s, err := w.l.ReadWith(0, log.ReadOptions{MaxBytes: 1 << 20, Isolation: log.ReadCommitted})
			require.NoError(t, err)
			require.Len(t, s.Aborted(), row.aborted)
			require.NoError(t, s.Close())
		})
	}
}

// TestCopiedDamage flips a bit of what a follower is sent: it refuses all, and has nothing of it: M-25.
func TestCopiedDamage(t *testing.T) {
	w := newWorld(t, backends[0])
	w.open()
	w.append(set(t, rec("first")))
	w.append(set(t, rec("second")))
	s, err := w.l.Read(0, 1<<20)
	require.NoError(t, err)
	sent := make([]byte, s.Len())
	_, err = s.ReadAt(sent, 0)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	follower, err := log.Open(t.Context(), "f-0", log.Options{FS: aferofs.Mem()})
	require.NoError(t, err)
	for _, at := range []int{30, len(sent)/2 + 40, len(sent) - 2} {
		sent[at] ^= 1
		_, err = follower.AppendAssigned(sent, 0)
		require.ErrorIs(t, err, codec.ErrCorrupt)
		require.Zero(t, follower.EndOffset())
		require.Zero(t, follower.Stats().Bytes)
		sent[at] ^= 1
	}
	_, err = follower.AppendAssigned(sent, 0)
	require.NoError(t, err)
	require.NoError(t, follower.Close())
}
