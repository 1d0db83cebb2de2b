package cli_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/fixture"
)

// TestOffsetsOfLargestTimestamp compares offsets --time -3 with what brokers answered: also of directories whose
// broker was killed, in which the time index lacks the last batches. Of damaged ones, in which it leads behind
// what recovery leaves, it is the first record with the largest timestamp of those that Kafka's recovery left.
func TestOffsetsOfLargestTimestamp(t *testing.T) {
	eachModernCase(t, func(t *testing.T, dir string, c fixture.Case) {
		read := byPartition(t, filepath.Join(dir, "expected", "records.jsonl"))
		for partition := range c.OnDisk {
			want := viewOf(fixture.Case{ClientView: c.ClientView}, partition).MaxTimestampOffset
			if _, damaged := c.Damage[viewOf(c, partition).Topic]; damaged {
				want = largestBelow(read[partition].records, c.OnDiskAfter[partition].LogEndOffset)
			} else if viewOf(c, partition).Topic == "" {
				continue
			}
			got := run(t, "", "offsets", "--time", "max-timestamp", "-o", "json", filepath.Join(dir, "data", partition))
			require.Zero(t, got.status, "%s: %s", partition, got.errs)
			all := lines[struct{ Offset int64 }](t, got.out, "offset")
			require.Len(t, all, 1, partition)
			assert.Equal(t, want, all[0].Offset, partition)
		}
	})
}

// largestBelow is the offset of the first record with the largest timestamp below end, −1 without records.
func largestBelow(records []fixture.Record, end int64) int64 {
	offset, largest := int64(-1), int64(-1)
	for _, r := range records {
		if r.Offset < end && r.Timestamp > largest {
			offset, largest = r.Offset, r.Timestamp
		}
	}
	return offset
}
