package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/internal/fixture"
)

// truncatedCases have small segments, transactions, epochs, and gaps in the offsets.
var truncatedCases = []string{"4.4.0/transactions", "4.4.0/epochs", "4.4.0/compaction"}

// TestTruncateGolden truncates the partitions of golden cases to offsets in the midst of them, and finds the
// batches below the offset, as Kafka's FileRecords read them, in a directory in which nothing is wrong; the
// other bytes in the quarantine; and the checkpoints of other partitions as they were.
func TestTruncateGolden(t *testing.T) {
	names := truncatedCases
	if testing.Short() {
		names = names[:1]
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Golden(t, name)
			c := fixture.ReadCase(t, dir)
			want := byPartition(t, filepath.Join(dir, "expected", "records.jsonl"))
			for partition, on := range c.OnDisk {
				if on.LogEndOffset == 0 || strings.HasPrefix(partition, "__") {
					continue
				}
				for _, offset := range []int64{on.LogEndOffset/2 + 1, on.LogEndOffset - 1} {
					root := t.TempDir()
					data := filepath.Join(root, "data")
					require.NoError(t, os.CopyFS(data, os.DirFS(filepath.Join(dir, "data"))))
					checkTruncate(t, data, partition, offset, want[partition])
				}
			}
		})
	}
}

// checkTruncate truncates a partition of the log directory data to offset.
func checkTruncate(t *testing.T, data, partition string, offset int64, want *expected) {
	t.Helper()
	what := fmt.Sprintf("%s truncated to %d", partition, offset)
	dir := filepath.Join(data, partition)
	before, logs := checkpoints(t, data), logFiles(t, dir)
	seen := snapshot(t, dir)
	planned := run(t, "", "truncate", "-o", "json", "--force-below-high-watermark", "--to-offset", strconv.FormatInt(offset, 10), dir)
	require.Zero(t, planned.status, "%s: %s", what, planned.errs)
	require.Equal(t, seen, snapshot(t, dir), "%s: a dry run changed the directory", what)
	require.NoDirExists(t, data+".quarantine", what)

	got := run(t, "", "truncate", "-o", "json", "--force-below-high-watermark", "--to-offset", strconv.FormatInt(offset, 10), "--execute", dir)
	require.Zero(t, got.status, "%s: %s", what, got.errs)
	type truncation struct {
		Executed     bool
		LogEndOffset int64
		Bytes        int64
		Segments     int
	}
	plan, done := lines[truncation](t, planned.out, "truncation"), lines[truncation](t, got.out, "truncation")
	require.Len(t, done, 1)
	assert.True(t, done[0].Executed)
	done[0].Executed = false
	assert.Equal(t, plan, done, "%s: the plan was another", what)

	below := &expected{}
	for _, r := range want.records {
		if r.BatchLastOffset < offset {
			below.records = append(below.records, r)
		}
	}
	compareCat(t, dir, below)
	verified := run(t, "", "verify", "--deep", dir)
	assert.Zero(t, verified.status, "%s: %s", what, verified.errs)
	end := done[0].LogEndOffset
	assert.Equal(t, fmt.Sprintf(":%d\n", end), run(t, "", "offsets", dir).out[strings.LastIndexByte(partition, '-')+2:], what)
	assert.LessOrEqual(t, end, offset, what)
	checkKept(t, what, logs, logFiles(t, dir), filepath.Join(data+".quarantine", partition), done[0].Bytes)
	for name, offsets := range checkpoints(t, data) {
		for p, now := range offsets {
			was := before[name][p]
			if fmt.Sprintf("%s-%d", p.Topic, p.ID) == partition {
				was = min(was, end)
				assert.LessOrEqual(t, now, was, "%s: %s", what, name)
				continue
			}
			assert.Equal(t, was, now, "%s: %s of %v", what, name, p)
		}
		assert.Len(t, offsets, len(before[name]), what)
	}
	assert.FileExists(t, filepath.Join(data, ".kafka_cleanshutdown"), what)
}

// checkpoints are the offset checkpoints of the log directory data.
func checkpoints(t *testing.T, data string) map[string]map[checkpoint.Partition]int64 {
	t.Helper()
	fsys, err := fsio.OS(data)
	require.NoError(t, err)
	defer func() { require.NoError(t, fsys.Close()) }()
	all := map[string]map[checkpoint.Partition]int64{}
	for _, name := range []string{checkpoint.RecoveryPoints, checkpoint.HighWatermarks, checkpoint.StartOffsets, checkpoint.CleanerOffsets} {
		if all[name], err = checkpoint.ReadOffsets(fsys, name); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return all
}

// logFiles are the .log files in dir.
func logFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, name := range fixture.Files(t, dir, "*.log") {
		content, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		all[name] = content
	}
	return all
}

// checkKept finds each byte that .log files had before in what is left of them, or in the quarantine.
func checkKept(t *testing.T, what string, before, after map[string][]byte, quarantine string, dropped int64) {
	t.Helper()
	kept := int64(0)
	for name, all := range before {
		rest, found := bytes.CutPrefix(all, after[name])
		require.True(t, found, "%s: %s is not the beginning of what it was", what, name)
		if len(rest) == 0 {
			continue
		}
		content, err := os.ReadFile(filepath.Join(quarantine, fmt.Sprintf("%s.%d", name, len(after[name]))))
		require.NoError(t, err, what)
		assert.Equal(t, rest, content, "%s: %s", what, name)
		kept += int64(len(content))
	}
	assert.Equal(t, dropped, kept, what)
}

// TestWritingVerbsLock finds the directory in use by another, and leaves it alone.
func TestWritingVerbsLock(t *testing.T) {
	data := filepath.Join(fixture.Golden(t, "4.4.0/idempotent"), "data")
	fsys, err := fsio.OS(data)
	require.NoError(t, err)
	held, err := fsys.Lock(checkpoint.Lock)
	require.NoError(t, err)
	partition := filepath.Join(data, "idem-0")
	before := snapshot(t, partition)
	for _, args := range [][]string{
		{"append", partition},
		{"truncate", "--to-offset", "1", "--execute", "--quarantine", "none", partition},
		{"delete-records", "--to-offset", "1", "--execute", partition},
	} {
		got := run(t, "a\n", args...)
		assert.Equal(t, 4, got.status, "%s: %s", args[0], got.errs)
		assert.Contains(t, got.errs, data+" is in use: stop the broker, or the other strata", args[0])
		assert.Empty(t, got.out, args[0])
	}
	for _, args := range [][]string{
		{"truncate", "--to-offset", "30", "--force-below-high-watermark", partition},
		{"delete-records", "--to-offset", "1", partition},
		{"cat", partition},
		{"stat", data},
		{"ls", data},
		{"segments", data},
		{"producers", data},
		{"txns", data},
		{"offsets", data},
		{"verify", data},
	} {
		assert.Zero(t, run(t, "", args...).status, "%v", args)
	}
	assert.Equal(t, before, snapshot(t, partition))
	require.NoError(t, held.Close())
	require.NoError(t, fsys.Close())
}
