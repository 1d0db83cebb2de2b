package cli_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/fixture"
)

// segmentLine is a line of segments --deep -o json.
type segmentLine struct {
	BaseOffset, NextOffset, Bytes           int64
	IndexEntries, TimeIndexEntries, Batches int
	Records, ControlRecords                 int64
	FirstTimestamp, LastTimestamp           int64
	Active                                  bool
	Magic                                   map[string]int
	Compression                             map[string]int
}

// TestSegmentsGolden compares segments --deep of the partitions of clean cases with case.json, and counts and
// kinds of batches with what Kafka's FileRecords read.
func TestSegmentsGolden(t *testing.T) {
	eachModernCase(t, func(t *testing.T, dir string, c fixture.Case) {
		if len(c.OnDiskAfter) > 0 { // killed
			return
		}
		read := batchesByFile(t, filepath.Join(dir, "expected", "records.jsonl"))
		for partition, on := range c.OnDisk {
			before := snapshot(t, filepath.Join(dir, "data", partition))
			got := run(t, "", "segments", "--deep", "-o", "json", filepath.Join(dir, "data", partition))
			require.Zero(t, got.status, "%s: %s", partition, got.errs)
			var bases []int64
			sum := fixture.Partition{}
			all := lines[segmentLine](t, got.out, "segment")
			for i, s := range all {
				bases = append(bases, s.BaseOffset)
				sum.Bytes += s.Bytes
				sum.Batches += s.Batches
				sum.DataRecords += int(s.Records - s.ControlRecords)
				sum.ControlRecords += int(s.ControlRecords)
				next := on.LogEndOffset
				if i+1 < len(all) {
					next = all[i+1].BaseOffset
				}
				assert.Equal(t, next, s.NextOffset, "%s: %d", partition, s.BaseOffset)
				assert.Equal(t, i+1 == len(all), s.Active, "%s: %d", partition, s.BaseOffset)
				checkKinds(t, s, read[segmentFile(partition, s.BaseOffset)])
			}
			assert.Equal(t, on.BaseOffsets, bases, partition)
			want := fixture.Partition{Bytes: on.Bytes, Batches: on.Batches, DataRecords: on.DataRecords, ControlRecords: on.ControlRecords}
			assert.Equal(t, want, sum, partition)
			assert.Equal(t, before, snapshot(t, filepath.Join(dir, "data", partition)), "segments changed the directory")
		}
	})
}

// segmentFile is how records.jsonl names a .log file.
func segmentFile(partition string, base int64) string {
	return fmt.Sprintf("%s/%020d.log", partition, base)
}

// batchesByFile are the first records of all batches in records.jsonl, or the lines that stand for empty ones.
func batchesByFile(t *testing.T, file string) map[string][]fixture.Record {
	t.Helper()
	all := map[string][]fixture.Record{}
	for _, r := range fixture.Records(t, file) {
		if known := all[r.File]; r.Error == "" && (len(known) == 0 || known[len(known)-1].Position != r.Position) {
			all[r.File] = append(known, r)
		}
	}
	return all
}

// checkKinds compares formats, compressions and times of a segment with its batches.
func checkKinds(t *testing.T, s segmentLine, batches []fixture.Record) {
	t.Helper()
	compression := map[string]int{}
	last := int64(-1)
	for _, b := range batches {
		compression[b.Compression]++
		last = max(last, b.BatchMaxTimestamp)
	}
	assert.Equal(t, compression, s.Compression, "%d", s.BaseOffset)
	assert.Equal(t, last, s.LastTimestamp, "%d", s.BaseOffset)
	if len(batches) > 0 {
		assert.Equal(t, map[string]int{"2": len(batches)}, s.Magic, "%d", s.BaseOffset)
		assert.LessOrEqual(t, s.FirstTimestamp, last, "%d", s.BaseOffset)
	}
}

// TestDamagedTxnIndex: where an index of aborted transactions is damaged, nobody claims that there are none.
func TestDamagedTxnIndex(t *testing.T) {
	dir := filepath.Join(fixture.Golden(t, "4.4.0/damaged"), "data", "d-badtxnindex-0")
	got := run(t, "", "segments", "-o", "json", dir)
	require.Zero(t, got.status, got.errs)
	type aborted struct {
		AbortedTransactions int
	}
	require.Equal(t, []aborted{{0}, {-1}}, lines[aborted](t, got.out, "segment"))
	require.Contains(t, run(t, "", "segments", dir).out, "  damaged  active")

	got = run(t, "", "stat", "-o", "json", dir)
	require.Zero(t, got.status, got.errs)
	stats := lines[struct{ Segments []aborted }](t, got.out, "partition")
	require.Equal(t, []aborted{{0}, {-1}}, stats[0].Segments)
	require.Contains(t, run(t, "", "stat", dir).out, "damaged\n")
}
