package log_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/fixture"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/scheduler"
	"github.com/stratalog/strata/segment"
)

// TestGoldenLegacy opens what Kafka 0.8 to 2.8 wrote, as a clean stop and as one of which nothing is known, and finds the
// start and end that their own loaders found, their epochs, producers and aborted transactions, and every record that
// their own readers found and that the newest Kafka would keep.
func TestGoldenLegacy(t *testing.T) {
	versions := []string{"0.8.2.2", "0.10.0.1", "0.10.2.2", "0.11.0.3", "2.8.2"}
	if testing.Short() {
		versions = versions[2:4]
	}
	for _, version := range versions {
		for _, name := range fixture.Cases(t, version) {
			for _, clean := range []bool{true, false} {
				mode := map[bool]string{true: "/clean", false: "/unclean"}[clean]
				t.Run(name+mode, func(t *testing.T) {
					t.Parallel()
					openLegacy(t, fixture.Golden(t, name), clean)
				})
			}
		}
	}
}

func openLegacy(t *testing.T, dir string, clean bool) {
	c := fixture.ReadLegacyCase(t, dir)
	config, err := log.ParseConfig(c.Config)
	require.NoError(t, err)
	// At the beginning of time no producer is expired.
	clock := scheduler.NewManual(scheduler.ManualOptions{Start: time.UnixMilli(0)})
	o := log.Options{FS: osFS(t, dir), Config: config, Clock: clock, Resume: &log.Resume{Clean: clean, StartOffset: c.LogStartCheckpoint}}
	if clean {
		o.Resume.RecoveryPoint = c.Facts.LogEndOffset
	}
	want := legacyWant(t, dir, c, clean)
	l, err := log.Open(context.Background(), "data", o)
	require.NoError(t, err)
	defer l.Close()
	want.hold(t, l)
	// Records in a wrapper may be damaged where the wrapper is not: those, Kafka's recovery keeps.
	there, doubtful := map[int64]fixture.LegacyRecord{}, map[int64]bool{}
	for _, r := range fixture.LegacyRecords(t, filepath.Join(dir, "expected", "records.jsonl")) {
		if doubtful[r.Offset] = r.Error == "" && !r.Valid; doubtful[r.Offset] {
			continue
		}
		if r.Error == "" && r.EntryValid && !r.Control && r.Offset >= l.StartOffset() && r.Offset < l.EndOffset() {
			there[r.Offset] = r
		}
	}
	for r, err := range l.Records(context.Background(), l.StartOffset()) {
		if err != nil {
			require.True(t, c.Damaged, "%v", err)
			continue
		}
		if doubtful[r.Offset] {
			continue
		}
		w, ok := there[r.Offset]
		require.True(t, ok, "record %d is not Kafka's", r.Offset)
		delete(there, r.Offset)
		require.True(t, w.Key.Equal(r.Key), "key of %d", r.Offset)
		require.True(t, w.Value.Equal(r.Value), "value of %d", r.Offset)
		require.Equal(t, w.Timestamp, r.Timestamp, "timestamp of %d", r.Offset)
	}
	require.Empty(t, there, "records are missing")
	require.NoError(t, l.Close())
	if inMode := clean && c.End == "clean" && !c.Damaged; inMode || !clean {
		compareSums(t, c, fixture.ReadLoaded(t, dir, clean), contentsOf(t, filepath.Join(dir, "data")))
	}
}

// compareSums compares files with those that the version itself left, after it had opened the log so and closed it: of
// 2.8.2 all of them, of older ones the logs. Their indexes have other entries, and their snapshots other fields.
func compareSums(t *testing.T, c fixture.LegacyCase, loaded fixture.Loaded, got map[string]string) {
	t.Helper()
	if !loaded.OK {
		return // the version could not open it
	}
	for _, want := range loaded.FilesAfterClose {
		content := got[want.Name]
		switch path.Ext(want.Name) {
		case segment.LogExt:
		case producer.SnapshotExt:
			if c.Kafka != "2.8.2" || anySnapshot(t, content, want.SHA256) {
				continue
			}
		default:
			if c.Kafka != "2.8.2" {
				continue
			}
		}
		sum := sha256.Sum256([]byte(content))
		assert.Equal(t, want.SHA256, hex.EncodeToString(sum[:]), "%s: %d bytes, want %d", want.Name, len(content), want.Size)
	}
}

// anySnapshot reports whether a snapshot has that checksum with its producers in any order: Kafka's is that of a hash
// map.
func anySnapshot(t *testing.T, content, sum string) bool {
	t.Helper()
	entries, err := producer.DecodeSnapshot([]byte(content))
	require.NoError(t, err)
	var try func(n int) bool
	try = func(n int) bool {
		if n == len(entries) {
			got := sha256.Sum256(producer.AppendSnapshot(nil, entries))
			return hex.EncodeToString(got[:]) == sum
		}
		for i := n; i < len(entries); i++ {
			entries[n], entries[i] = entries[i], entries[n]
			if try(n + 1) {
				return true
			}
			entries[n], entries[i] = entries[i], entries[n]
		}
		return false
	}
	return try(0)
}
