package cli_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
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

// TestLastOffsets reads a batch whose last offset is the largest that there is: a log has none behind it to end
// at, and ends before the batch.
func TestLastOffsets(t *testing.T) {
	const base = math.MaxInt64 - 9
	c := codec.Kafka()
	h := codec.NewHeader(2)
	h.BaseOffset, h.LastOffset = base, base+1
	batch, err := c.Append(nil, h, []codec.Record{{Offset: base, Value: []byte("a")}, {Offset: base + 1, Value: []byte("b")}})
	require.NoError(t, err)
	binary.BigEndian.PutUint32(batch[23:], 9) // the last offset's distance from the base
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
	for _, row := range []struct {
		name string
		base uint64
		end  int64
		cat  string
	}{
		{"the largest", base, base, "9223372036854775798\n9223372036854775799\n"},
		{"beyond", base + 7, base + 7, ""},
	} {
		binary.BigEndian.PutUint64(batch, row.base)
		dir := filepath.Join(t.TempDir(), "a-0")
		require.NoError(t, os.Mkdir(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d.log", row.base)), batch, 0o600))
		assert.Equal(t, row.cat, run(t, "", "cat", "-f", `%o\n`, dir).out, row.name)
		got := run(t, "", "offsets", dir)
		assert.Equal(t, result{0, fmt.Sprintf("a:0:%d\n", row.end), ""}, got, row.name)
		assert.Equal(t, 3, run(t, "", "verify", dir).status, row.name)
	}
}
