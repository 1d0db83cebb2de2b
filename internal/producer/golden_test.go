package producer_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/fixture"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

// TestGoldenSnapshots decodes snapshots of Kafka's and encodes them anew. Those that were damaged on purpose
// are found out.
func TestGoldenSnapshots(t *testing.T) {
	cases := []string{"4.4.0/transactions", "4.4.0/damaged"}
	if !testing.Short() {
		cases = append(cases, "3.9.2/compaction", "2.8.2/idempotent", "0.11.0.3/idempotent")
	}
	read, corrupt := 0, 0
	for _, name := range cases {
		dir := fixture.Golden(t, name)
		for _, file := range fixture.Files(t, dir, "*"+producer.SnapshotExt) {
			want, err := os.ReadFile(filepath.Join(dir, file))
			require.NoError(t, err)
			entries, err := producer.DecodeSnapshot(want)
			if strings.HasPrefix(file, "data/d-badsnapshot-0/") { // a bit is flipped
				require.ErrorIs(t, err, producer.ErrCorrupt, "%s: %s", name, file)
				corrupt++
				continue
			}
			require.NoError(t, err, "%s: %s", name, file)
			assert.Equal(t, want, producer.AppendSnapshot(nil, entries), "%s: %s", name, file)
			read++
		}
	}
	assert.Greater(t, read, 20, "snapshots that were read")
	assert.Positive(t, corrupt, "snapshots that are damaged")
}

// TestGoldenDump compares snapshots, as they are loaded, with what Kafka's tool prints of them.
func TestGoldenDump(t *testing.T) {
	dir := fixture.Golden(t, "4.4.0/idempotent")
	fsys, err := fsio.OS(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, fsys.Close()) }()
	for _, file := range fixture.Files(t, dir, "*"+producer.SnapshotExt) {
		partition, base := path.Split(strings.TrimPrefix(file, "data/"))
		dump, err := os.ReadFile(filepath.Join(dir, "expected", "dump-"+path.Clean(partition)+"--"+base+".txt"))
		require.NoError(t, err)
		_, want, _ := strings.Cut(string(dump), "\n") // behind the line with the path

		offset, _, _, ok := segment.ParseFileName(base)
		require.True(t, ok)
		options := defaults
		options.ReadOnly = true
		s, err := producer.Open(fsys, path.Dir(file), options)
		require.NoError(t, err)
		require.NoError(t, s.Reload(0, offset, 0))
		assert.Equal(t, strings.TrimSpace(want), strings.TrimSpace(dumped(s.Producers())), file)
	}
}

// dumped is what Kafka's tool prints of producers that have a batch.
func dumped(all []segment.Producer) string {
	var b strings.Builder
	for _, p := range all {
		last := p.Batches[0]
		fmt.Fprintf(&b, "producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: OptionalLong.empty "+
			"lastTimestamp: %d firstSequence: %d lastSequence: %d lastOffset: %d offsetDelta: %d timestamp: %d\n",
			p.ID, p.Epoch, p.CoordinatorEpoch, p.LastTimestamp, last.FirstSequence, last.LastSequence, last.LastOffset,
			last.LastOffset-last.FirstOffset, last.Timestamp)
	}
	return b.String()
}

// TestGoldenReplay replays the batches of partitions that Kafka wrote. Wherever Kafka took a snapshot, the
// State is what is in it; and the transactions that it tells to be aborted are those of Kafka's index.
func TestGoldenReplay(t *testing.T) {
	cases := []string{"4.4.0/idempotent", "4.4.0/transactions"}
	if !testing.Short() {
		cases = append(cases, "4.0.2/transactions", "3.9.2/idempotent", "3.9.2/transactions")
	}
	snapshots, aborted := 0, 0
	for _, name := range cases {
		dir := fixture.Golden(t, name)
		fsys, err := fsio.OS(filepath.Join(dir, "data"))
		require.NoError(t, err)
		partitions, err := fsys.ReadDir(".")
		require.NoError(t, err)
		for _, partition := range partitions {
			if partition.IsDir() {
				s, a := replayPartition(t, fsys, partition.Name())
				snapshots, aborted = snapshots+s, aborted+a
			}
		}
		require.NoError(t, fsys.Close())
	}
	assert.Greater(t, snapshots, 15, "snapshots that were compared")
	assert.Greater(t, aborted, 5, "aborted transactions that were compared")
}

// replayPartition replays one partition. It returns how many snapshots and aborted transactions it compared.
func replayPartition(t *testing.T, fsys fsio.FS, partition string) (snapshots, aborted int) {
	t.Helper()
	options := defaults
	options.ReadOnly = true
	s, err := producer.Open(fsys, partition, options)
	require.NoError(t, err)
	files, err := fsys.ReadDir(partition)
	require.NoError(t, err)
	taken := s.Snapshots()
	compare := func(next int64) {
		for ; len(taken) > 0 && taken[0] <= next; taken = taken[1:] {
			name := path.Join(partition, segment.FileName(taken[0], producer.SnapshotExt, segment.Live))
			want, err := producer.ReadSnapshot(fsys, name)
			require.NoError(t, err)
			assert.ElementsMatch(t, want, stored(s.Producers()), name)
			snapshots++
		}
	}
	var got, want []index.AbortedTxn
	for _, f := range files {
		base, extension, state, ok := segment.ParseFileName(f.Name())
		switch name := path.Join(partition, f.Name()); {
		case !ok || state != segment.Live:
		case extension == segment.TxnIndexExt:
			x, err := index.OpenTxn(fsys, name, base)
			require.NoError(t, err)
			for i := range x.Len() {
				want = append(want, x.At(i))
			}
			require.NoError(t, x.Close())
		case extension == segment.LogExt:
			got = replaySegment(t, s, got, contentOf(t, fsys, name), compare)
		}
	}
	compare(s.End())
	assert.Equal(t, want, got, partition)
	return snapshots, len(got)
}

// replaySegment replays the batches of one segment, and calls before with the offset of each.
func replaySegment(
	t *testing.T, s *producer.State, aborted []index.AbortedTxn, batches []byte, before func(offset int64),
) []index.AbortedTxn {
	t.Helper()
	kafka := codec.Kafka()
	for len(batches) > 0 {
		h, err := kafka.Header(batches)
		require.NoError(t, err)
		before(h.BaseOffset)
		b := producer.Batch{Header: &h}
		if h.ProducerID >= 0 && h.Attributes.Control() {
			b.Marker, err = producer.ReadMarker(kafka, batches[:h.Size])
			require.NoError(t, err)
		}
		aborted, err = s.Replay(aborted, b)
		require.NoError(t, err)
		batches = batches[h.Size:]
	}
	return aborted
}

// stored are producers as a snapshot has them.
func stored(all []segment.Producer) (entries []producer.Entry) {
	for _, p := range all {
		e := producer.Entry{
			ProducerID: p.ID, Epoch: p.Epoch, LastSequence: p.LastSequence(), LastOffset: p.LastOffset(),
			Timestamp: p.LastTimestamp, CoordinatorEpoch: p.CoordinatorEpoch, TxnFirstOffset: p.TxnFirstOffset,
		}
		if n := len(p.Batches); n > 0 {
			e.OffsetDelta = int32(p.Batches[n-1].LastOffset - p.Batches[n-1].FirstOffset)
		}
		entries = append(entries, e)
	}
	return entries
}

// contentOf is the content of a file.
func contentOf(t *testing.T, fsys fsio.FS, name string) []byte {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	require.NoError(t, err)
	size, err := f.Size()
	require.NoError(t, err)
	content := make([]byte, size)
	_, err = f.ReadAt(content, 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return content
}

// TestReadMarkerRefuses has control batches that no transaction coordinator writes.
func TestReadMarkerRefuses(t *testing.T) {
	h := codec.NewHeader(2)
	h.Attributes = codec.ControlBit | codec.TransactionalBit
	h.ProducerID, h.ProducerEpoch = 1, 0
	for name, key := range map[string][]byte{
		"a leader's change": {0, 0, 0, 2},
		"an unknown type":   {0, 0, 0, 77},
		"a short key":       {0, 0},
	} {
		batch, err := codec.Kafka().Append(nil, h, []codec.Record{{Key: key, Value: make([]byte, 6), Timestamp: 1}})
		require.NoError(t, err, name)
		_, err = producer.ReadMarker(codec.Kafka(), batch)
		assert.ErrorIs(t, err, codec.ErrInvalid, name)
	}
	batch, err := codec.AppendMarker(nil, h, codec.Marker{Commit: true, CoordinatorEpoch: 7}, 42)
	require.NoError(t, err)
	m, err := producer.ReadMarker(codec.Kafka(), batch)
	require.NoError(t, err)
	assert.Equal(t, &producer.Marker{Marker: codec.Marker{Commit: true, CoordinatorEpoch: 7}, Timestamp: 42}, m)
}
