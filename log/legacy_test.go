package log_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/fixture"
	"github.com/stratalog/strata/log"
)

// TestGoldenLegacy opens what Kafka 0.8 to 2.8 wrote, as a clean stop and as one of which nothing is known,
// and finds every record that their own readers found and that the newest Kafka would keep.
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
	o := log.Options{FS: osFS(t, dir), Config: config, Resume: &log.Resume{Clean: clean, StartOffset: c.LogStartCheckpoint}}
	if clean {
		o.Resume.RecoveryPoint = c.Facts.LogEndOffset
	}
	l, err := log.Open(context.Background(), "data", o)
	require.NoError(t, err)
	defer l.Close()
	if !c.Damaged {
		require.Equal(t, c.Facts.LogEndOffset, l.EndOffset())
		require.Equal(t, c.Facts.LogStart, l.StartOffset())
	}
	// Records in a wrapper may be damaged where the wrapper is not: those, Kafka's recovery keeps.
	want, doubtful := map[int64]fixture.LegacyRecord{}, map[int64]bool{}
	for _, r := range fixture.LegacyRecords(t, filepath.Join(dir, "expected", "records.jsonl")) {
		if doubtful[r.Offset] = r.Error == "" && !r.Valid; doubtful[r.Offset] {
			continue
		}
		if r.Error == "" && r.EntryValid && !r.Control && r.Offset >= l.StartOffset() && r.Offset < l.EndOffset() {
			want[r.Offset] = r
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
		w, ok := want[r.Offset]
		require.True(t, ok, "record %d is not Kafka's", r.Offset)
		delete(want, r.Offset)
		require.True(t, w.Key.Equal(r.Key), "key of %d", r.Offset)
		require.True(t, w.Value.Equal(r.Value), "value of %d", r.Offset)
		require.Equal(t, w.Timestamp, r.Timestamp, "timestamp of %d", r.Offset)
	}
	require.Empty(t, want, "records are missing")
	require.NoError(t, l.Close())
}
