package producer_test

import (
	"math"
	"os"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/producer"
)

// dir is the partition that the tests are about.
const dir = "t-0"

// defaults are Kafka's, but for the transactions' timeout, which is that of ProducerStateManagerTest.
var defaults = producer.Options{ExpireAfter: 24 * time.Hour, TxnTimeout: 5 * time.Minute}

// Rules by which the tests append.
var (
	client      = producer.Rules{Origin: producer.FromClient, TxnVersion: producer.TxnV1}
	coordinator = producer.Rules{Origin: producer.FromCoordinator, TxnVersion: producer.TxnV1}
	follower    = producer.Rules{Origin: producer.FromLeader}
)

// onEach runs a test on the disk and in memory.
func onEach(t *testing.T, test func(t *testing.T, fsys fsio.FS)) {
	t.Helper()
	t.Run("disk", func(t *testing.T) {
		fsys, err := fsio.OS(t.TempDir())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, fsys.Close()) })
		require.NoError(t, fsys.MkdirAll(dir, 0o755))
		test(t, fsys)
	})
	t.Run("memory", func(t *testing.T) { test(t, memory(t)) })
}

// memory is a filesystem with the partition's directory.
func memory(tb testing.TB) fsio.FS {
	tb.Helper()
	fsys := aferofs.Mem()
	require.NoError(tb, fsys.MkdirAll(dir, 0o755))
	return fsys
}

// open opens a State with the default options.
func open(tb testing.TB, fsys fsio.FS) *producer.State {
	tb.Helper()
	s, err := producer.Open(fsys, dir, defaults)
	require.NoError(tb, err)
	return s
}

// fresh is a State in a directory of its own.
func fresh(tb testing.TB) *producer.State {
	tb.Helper()
	return open(tb, memory(tb))
}

// data is a batch of one record, created at time 1.
func data(id int64, epoch int16, seq int32, offset int64) producer.Batch {
	h := codec.NewHeader(2)
	h.ProducerID, h.ProducerEpoch, h.BaseSequence = id, epoch, seq
	h.BaseOffset, h.LastOffset, h.Count, h.MaxTimestamp = offset, offset, 1, 1
	return producer.Batch{Header: &h}
}

// count makes b one of n records.
func count(n int, b producer.Batch) producer.Batch {
	b.Header.Count = n
	b.Header.LastOffset = b.Header.BaseOffset + int64(n) - 1
	return b
}

// txn makes b part of a transaction.
func txn(b producer.Batch) producer.Batch {
	b.Header.Attributes |= codec.TransactionalBit
	return b
}

// at gives b a timestamp.
func at(ms int64, b producer.Batch) producer.Batch {
	b.Header.MaxTimestamp = ms
	if b.Marker != nil {
		m := *b.Marker
		m.Timestamp = ms
		b.Marker = &m
	}
	return b
}

// emptied is a control batch that compaction has emptied.
func emptied(id int64, epoch int16, offset int64) producer.Batch {
	b := txn(data(id, epoch, codec.NoSequence, offset))
	b.Header.Attributes |= codec.ControlBit
	b.Header.Count = 0
	return b
}

// marker is a batch that ends a transaction at time 1.
func marker(id int64, epoch int16, coordinatorEpoch int32, commit bool, offset int64) producer.Batch {
	b := emptied(id, epoch, offset)
	b.Header.Count = 1
	b.Marker = &producer.Marker{
		Marker:    codec.Marker{Commit: commit, CoordinatorEpoch: coordinatorEpoch},
		Timestamp: 1,
	}
	return b
}

func commit(id int64, epoch int16, offset int64) producer.Batch {
	return marker(id, epoch, 0, true, offset)
}

func abort(id int64, epoch int16, offset int64) producer.Batch {
	return marker(id, epoch, 0, false, offset)
}

// add appends batches in one append.
func add(s *producer.State, r producer.Rules, batches ...producer.Batch) ([]index.AbortedTxn, error) {
	a := s.Analyze(r)
	end := s.End()
	for _, b := range batches {
		if _, duplicate, err := a.Add(b); err != nil || duplicate {
			return nil, err
		}
		end = b.Header.LastOffset + 1
	}
	aborted := a.Aborted(nil)
	a.Commit()
	s.SetEnd(end)
	return aborted, nil
}

// must appends each batch in an append of its own.
func must(tb testing.TB, s *producer.State, r producer.Rules, batches ...producer.Batch) (aborted []index.AbortedTxn) {
	tb.Helper()
	for _, b := range batches {
		more, err := add(s, r, b)
		require.NoError(tb, err)
		aborted = append(aborted, more...)
	}
	return aborted
}

// put makes content that of a file of the partition.
func put(tb testing.TB, fsys fsio.FS, name string, content []byte) {
	tb.Helper()
	f, err := fsys.OpenFile(path.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	require.NoError(tb, err)
	_, err = f.WriteAt(content, 0)
	require.NoError(tb, err)
	require.NoError(tb, f.Close())
}

// names are the files of the partition.
func names(tb testing.TB, fsys fsio.FS) (names []string) {
	tb.Helper()
	files, err := fsys.ReadDir(dir)
	require.NoError(tb, err)
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

// maxSequence is the last before sequences wrap.
const maxSequence = math.MaxInt32
