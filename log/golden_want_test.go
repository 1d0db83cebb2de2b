package log_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/internal/fixture"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// wanted is what Kafka says of a log.
type wanted struct {
	start, end int64
	stable     int64 // codec.NoOffset where nobody says
	epochs     []log.Epoch
	batches    []log.Epoch // the epochs of single offsets, as the batches have them
	producers  []lastOf    // nil where nobody says
	// markersCount says that the version took markers for batches: the last ones of producers are others.
	markersCount bool
	aborted      []index.AbortedTxn
}

// lastOf is what a producer snapshot has of a producer.
type lastOf struct {
	id, epoch, coordinatorEpoch, txnFirst int64
	sequence, offset, delta, timestamp    int64
}

// hold holds l against w.
func (w wanted) hold(t *testing.T, l *log.Log) {
	t.Helper()
	assert.Equal(t, w.start, l.StartOffset(), "start offset")
	assert.Equal(t, w.end, l.EndOffset(), "end offset")
	assert.Equal(t, w.end, l.HighWatermark(), "high watermark")
	if w.stable != codec.NoOffset {
		assert.Equal(t, w.stable, l.StableOffset(), "stable offset")
	}
	assert.ElementsMatch(t, w.epochs, l.Epochs(), "epochs")
	for _, b := range w.batches {
		epoch, ok := l.EpochForOffset(b.StartOffset)
		assert.True(t, ok, "epoch of %d", b.StartOffset)
		assert.Equal(t, b.Epoch, epoch, "epoch of %d", b.StartOffset)
	}
	if w.producers != nil {
		got := lastOfAll(l.Producers())
		if w.markersCount {
			for _, list := range [][]lastOf{w.producers, got} {
				for i := range list {
					list[i].offset, list[i].delta = 0, 0
				}
			}
		}
		assert.ElementsMatch(t, w.producers, got, "producers")
	}
	aborted, err := l.Aborted(0, l.EndOffset())
	require.NoError(t, err)
	assert.ElementsMatch(t, w.aborted, aborted, "aborted transactions")
}

// lastOfAll are producers as a snapshot has them.
func lastOfAll(producers []segment.Producer) []lastOf {
	all := make([]lastOf, len(producers))
	for i, p := range producers {
		all[i] = lastOf{
			id: p.ID, epoch: int64(p.Epoch), coordinatorEpoch: int64(p.CoordinatorEpoch), txnFirst: p.TxnFirstOffset,
			sequence: int64(p.LastSequence()), offset: p.LastOffset(), timestamp: p.LastTimestamp,
		}
		if n := len(p.Batches); n > 0 {
			all[i].delta = p.Batches[n-1].LastOffset - p.Batches[n-1].FirstOffset
		}
	}
	return all
}

// dumpedProducers are those of the dump of a snapshot.
func dumpedProducers(t *testing.T, lines []fixture.Dumped) []lastOf {
	t.Helper()
	all := make([]lastOf, len(lines))
	for i, d := range lines {
		all[i] = lastOf{
			id: d.Int(t, "producerId", -1), epoch: d.Int(t, "producerEpoch", -1),
			coordinatorEpoch: d.Int(t, "coordinatorEpoch", -1), txnFirst: d.Int(t, "currentTxnFirstOffset", codec.NoOffset),
			sequence: d.Int(t, "lastSequence", -1), offset: d.Int(t, "lastOffset", codec.NoOffset),
			delta: d.Int(t, "offsetDelta", 0), timestamp: d.Int(t, "lastTimestamp", d.Int(t, "timestamp", -1)),
		}
	}
	return all
}

// goldenWant is what case.json, the checkpoints and the dumps of a case say of a partition, as a broker finds it.
func goldenWant(t *testing.T, dir string, c fixture.Case, p goldenPartition, records []fixture.Record) wanted {
	t.Helper()
	from, dumps, views, disk := filepath.Join(p.root, p.dir), "expected", c.ClientView, c.OnDisk[p.key]
	recovered, again := p.recovered(dir)
	if again {
		from, dumps, views, disk = recovered, "expected-after", c.ClientViewAfter, c.OnDiskAfter[p.key]
	}
	w := wanted{end: disk.LogEndOffset, stable: codec.NoOffset}
	w.epochs = epochsIn(t, from, w.end)
	for _, v := range views {
		if p.dir == v.Topic+"-"+strconv.Itoa(int(v.Partition)) {
			w.start, w.stable = v.LogStartOffset, v.LastStableOffset
		}
	}
	for _, a := range disk.Aborted {
		w.aborted = append(w.aborted, index.AbortedTxn{
			ProducerID: a.ProducerID, FirstOffset: a.FirstOffset, LastOffset: a.LastOffset, StableOffset: a.LastStableOffset,
		})
	}
	name := "dump-" + strings.ReplaceAll(p.key, "/", "--") + "--" + name20(w.end) + ".snapshot.txt"
	switch file := filepath.Join(dir, dumps, name); {
	case w.start == w.end: // a snapshot at the start is not loaded: I31
		w.producers = []lastOf{}
	case exists(file):
		for _, lines := range fixture.Dumps(t, file) {
			w.producers = dumpedProducers(t, lines)
		}
	case !p.o.Resume.Clean:
		w.producers = recordedProducers(records)
	}
	if p.dir == "d-epochs-0" {
		// Its file has epochs that the batches have not. The leader began with epoch 0 once more, and recoveryLog has what
		// was there before: "New epoch entry … caused truncation of conflicting entries [EpochEntry(epoch=1, startOffset=5),
		// EpochEntry(epoch=0, startOffset=0)]".
		w.epochs = []log.Epoch{{Epoch: 0, StartOffset: 0}, {Epoch: 1, StartOffset: 5}}
		return w
	}
	for _, r := range records {
		if r.Offset >= w.start && r.Offset < w.end {
			w.batches = append(w.batches, log.Epoch{Epoch: r.LeaderEpoch, StartOffset: r.Offset})
		}
	}
	return w
}

// legacyWant is what a version up to 2.8.2 says of a case: the log itself before its end, its dumps, and its loader.
func legacyWant(t *testing.T, dir string, c fixture.LegacyCase, clean bool) wanted {
	t.Helper()
	loaded := fixture.ReadLoaded(t, dir, clean)
	w := wanted{start: c.Facts.LogStart, end: c.Facts.LogEndOffset, stable: codec.NoOffset}
	from, expected := filepath.Join(dir, "data"), filepath.Join(dir, "expected")
	recovered := filepath.Join(expected, "recovered")
	if c.Damaged && !clean {
		require.True(t, loaded.OK)
		w.start, w.end = loaded.LogStart, loaded.LogEndOffset
		if exists(recovered) {
			from = recovered
		}
	}
	w.epochs = epochsIn(t, from, w.end)
	if c.Name == "compacted-mixed-format" && c.Kafka == "2.8.2" && !clean {
		w.epochs = []log.Epoch{{Epoch: 0, StartOffset: 180}} // of the batches; there was no file, and then there is
	}

	snapshot, dumps := name20(w.end)+producer.SnapshotExt, map[string][]fixture.Dumped{}
	if file := filepath.Join(expected, "dump-snapshot.txt"); exists(file) && !c.Damaged {
		dumps = fixture.Dumps(t, file)
	}
	none := slices.ContainsFunc(loaded.FilesAfterClose, func(f fixture.File) bool {
		return f.Name == snapshot && f.Size == int64(len(producer.AppendSnapshot(nil, nil)))
	})
	switch lines, ok := dumps[snapshot]; {
	case ok:
		w.producers = dumpedProducers(t, lines)
	case none:
		w.producers = []lastOf{}
	case exists(filepath.Join(recovered, snapshot)):
		w.producers = storedProducers(t, recovered, snapshot)
	}
	w.markersCount = c.Kafka == "0.11.0.3"
	if w.producers != nil {
		w.stable = w.end
		for _, p := range w.producers {
			if p.txnFirst != codec.NoOffset {
				w.stable = min(w.stable, p.txnFirst)
			}
		}
	}

	// What compaction has removed is in no recovered index, as the empty one of 2.8.2's loader shows.
	if file := filepath.Join(expected, "dump-txnindex.txt"); exists(file) && (clean || c.Name != "compacted-transactions") {
		for _, lines := range fixture.Dumps(t, file) {
			for _, d := range lines {
				w.aborted = append(w.aborted, index.AbortedTxn{
					ProducerID: d.Int(t, "producerId", -1), FirstOffset: d.Int(t, "firstOffset", -1),
					LastOffset: d.Int(t, "lastOffset", -1), StableOffset: d.Int(t, "lastStableOffset", -1),
				})
			}
		}
	}
	return w
}

// storedProducers are those of a snapshot.
func storedProducers(t *testing.T, dir, name string) []lastOf {
	t.Helper()
	entries, err := producer.ReadSnapshot(osFS(t, dir), name)
	require.NoError(t, err)
	all := make([]lastOf, len(entries))
	for i, e := range entries {
		all[i] = lastOf{
			id: e.ProducerID, epoch: int64(e.Epoch), coordinatorEpoch: int64(e.CoordinatorEpoch), txnFirst: e.TxnFirstOffset,
			sequence: int64(e.LastSequence), offset: e.LastOffset, delta: int64(e.OffsetDelta), timestamp: e.Timestamp,
		}
	}
	return all
}

// epochsIn are the leader epochs in the file of a partition. One that begins at the end is not among them: loading drops
// it, and a broker's next leader begins another.
func epochsIn(t *testing.T, dir string, end int64) (epochs []log.Epoch) {
	t.Helper()
	if !exists(filepath.Join(dir, checkpoint.LeaderEpochs)) {
		return nil
	}
	entries, err := checkpoint.ReadEpochs(osFS(t, dir), checkpoint.LeaderEpochs)
	require.NoError(t, err)
	for _, e := range entries {
		if e.StartOffset < end {
			epochs = append(epochs, log.Epoch(e))
		}
	}
	return epochs
}

// recordedProducers are the producers of records, none of which is a transaction's, in their order.
func recordedProducers(records []fixture.Record) []lastOf {
	last := map[int64]lastOf{}
	for _, r := range records {
		if r.ProducerID < 0 {
			continue
		}
		delta := r.BatchLastOffset - r.BatchBaseOffset
		last[r.ProducerID] = lastOf{
			id: r.ProducerID, epoch: int64(r.ProducerEpoch), coordinatorEpoch: -1, txnFirst: codec.NoOffset,
			sequence: int64(r.BaseSequence) + delta, offset: r.BatchLastOffset, delta: delta, timestamp: r.BatchMaxTimestamp,
		}
	}
	all := make([]lastOf, 0, len(last))
	for _, p := range last {
		all = append(all, p)
	}
	return all
}

// exists reports whether there is a file of that name.
func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
