package log_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/internal/fixture"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/scheduler"
	"github.com/stratalog/strata/segment"
)

// goldenPartition is a partition that a broker left.
type goldenPartition struct {
	root string // the log directory
	dir  string // below it
	key  string // the name of both below data, as case.json has it
	o    log.Options
}

// topic is the partition's topic.
func (p goldenPartition) topic() string { return p.dir[:strings.LastIndexByte(p.dir, '-')] }

// goldenPartitions are the partitions of a case, with what the checkpoints say of them.
func goldenPartitions(t *testing.T, dir string, c fixture.Case) []goldenPartition {
	t.Helper()
	var all []goldenPartition
	for _, d := range dirsWith(t, filepath.Join(dir, "data"), segment.LogExt) {
		p := goldenPartition{root: filepath.Dir(d), dir: filepath.Base(d)}
		key, err := filepath.Rel(filepath.Join(dir, "data"), d)
		require.NoError(t, err)
		p.key = filepath.ToSlash(key)
		if strings.HasSuffix(p.dir, "-delete") || strings.HasSuffix(p.dir, "-stray") {
			continue
		}
		// At the beginning of time no producer is expired.
		clock := scheduler.NewManual(scheduler.ManualOptions{Start: time.UnixMilli(0)})
		p.o = log.Options{FS: osFS(t, p.root), Resume: resumeOf(t, p), Clock: clock}
		p.o.Config, err = log.ParseConfig(c.TopicConfigs[p.topic()])
		require.NoError(t, err)
		all = append(all, p)
	}
	return all
}

// dirsWith are the directories below root that hold a file with the extension.
func dirsWith(t *testing.T, root, extension string) []string {
	t.Helper()
	dirs := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(file) == extension && !d.IsDir() {
			dirs[filepath.Dir(file)] = true
		}
		return err
	}))
	return slices.Sorted(maps.Keys(dirs))
}

// osFS is the filesystem below dir.
func osFS(t *testing.T, dir string) fsio.FS {
	t.Helper()
	fsys, err := fsio.OS(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fsys.Close()) })
	return fsys
}

// resumeOf is what a manager would hand over.
func resumeOf(t *testing.T, p goldenPartition) *log.Resume {
	t.Helper()
	fsys := osFS(t, p.root)
	id, err := strconv.ParseInt(p.dir[strings.LastIndexByte(p.dir, '-')+1:], 10, 32)
	require.NoError(t, err)
	of := func(name string) int64 {
		offsets, err := checkpoint.ReadOffsets(fsys, name)
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		return offsets[checkpoint.Partition{Topic: p.topic(), ID: int32(id)}]
	}
	_, err = checkpoint.ReadClean(fsys, checkpoint.CleanShutdown)
	return &log.Resume{
		Clean:         err == nil,
		RecoveryPoint: of(checkpoint.RecoveryPoints),
		StartOffset:   of(checkpoint.StartOffsets),
		HighWatermark: of(checkpoint.HighWatermarks),
	}
}

// TestGolden opens what brokers left, clean, killed and damaged, and finds Kafka's start, end, high watermark and
// stable offset, its epochs, producers and aborted transactions, and the records that its own reader found. Where the
// broker started once more, the files are then those that it made of them.
func TestGolden(t *testing.T) {
	versions := []string{"4.4.0", "4.0.2", "3.9.2"}
	if testing.Short() {
		versions = versions[:1]
	}
	for _, version := range versions {
		for _, name := range fixture.Cases(t, version) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := fixture.Golden(t, name)
				c := fixture.ReadCase(t, dir)
				records := goldenRecords(t, filepath.Join(dir, "expected", "records.jsonl"))
				for _, p := range goldenPartitions(t, dir, c) {
					t.Run(p.key, func(t *testing.T) { openGolden(t, dir, c, p, records[p.key]) })
				}
			})
		}
	}
}

// goldenRecords are the data records of a case that can be read, by partition.
func goldenRecords(t *testing.T, file string) map[string][]fixture.Record {
	t.Helper()
	all := map[string][]fixture.Record{}
	for _, r := range fixture.Records(t, file) {
		if path.Ext(r.File) == segment.LogExt && r.Error == "" && r.Valid && !r.EmptyBatch && !r.Control {
			key := path.Dir(r.File)
			all[key] = append(all[key], r)
		}
	}
	return all
}

func openGolden(t *testing.T, dir string, c fixture.Case, p goldenPartition, records []fixture.Record) {
	before := contentsOf(t, filepath.Join(p.root, p.dir))
	want := goldenWant(t, dir, c, p, records)

	l, err := log.Open(context.Background(), p.dir, p.o)
	require.NoError(t, err)
	defer l.Close()
	want.hold(t, l)
	compareRecords(t, l, records)
	require.NoError(t, l.Close())

	after := contentsOf(t, filepath.Join(p.root, p.dir))
	switch recovered, ok := p.recovered(dir); {
	case ok:
		compareFiles(t, contentsOf(t, recovered), after)
	case p.o.Resume.Clean && p.dir != "__cluster_metadata-0":
		compareFiles(t, before, after)
	}
}

// recovered is the partition as the broker left it when it had recovered it. ok is false where it did not start
// once more.
func (p goldenPartition) recovered(dir string) (recovered string, ok bool) {
	recovered = filepath.Join(dir, "after-recovery", filepath.FromSlash(p.key))
	_, err := os.Stat(recovered)
	return recovered, err == nil
}

// compareRecords sees that l has the records that Kafka has, from its start on.
func compareRecords(t *testing.T, l *log.Log, records []fixture.Record) {
	t.Helper()
	start, end, i := l.StartOffset(), l.EndOffset(), 0
	next := func() *fixture.Record {
		for ; i < len(records); i++ {
			if r := &records[i]; r.Offset >= start && r.Offset < end {
				i++
				return r
			}
		}
		return nil
	}
	for r, err := range l.Records(context.Background(), start) {
		require.NoError(t, err)
		want := next()
		require.NotNil(t, want, "record %d is not Kafka's", r.Offset)
		require.Equal(t, want.Offset, r.Offset)
		require.Equal(t, want.Timestamp, r.Timestamp, "timestamp of %d", r.Offset)
		require.True(t, want.Key.Equal(r.Key), "key of %d: %q, want %s", r.Offset, r.Key, want.Key)
		require.True(t, want.Value.Equal(r.Value), "value of %d: %q, want %s", r.Offset, r.Value, want.Value)
		require.True(t, slices.EqualFunc(want.Headers, r.Headers, func(w fixture.Header, h codec.RecordHeader) bool {
			return w.Key == string(h.Key) && w.Value.Equal(h.Value)
		}), "headers of %d", r.Offset)
	}
	if left := next(); left != nil {
		t.Errorf("record %d is missing", left.Offset)
	}
}

// contentsOf are the files of a directory by name.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	files := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		files[e.Name()] = string(b)
	}
	return files
}

// compareFiles compares the files of segments.
func compareFiles(t *testing.T, want, got map[string]string) {
	t.Helper()
	for _, ext := range []string{segment.LogExt, segment.IndexExt, segment.TimeIndexExt, segment.TxnIndexExt} {
		for name, content := range got {
			if _, ok := want[name]; !ok && strings.HasSuffix(name, ext) {
				t.Errorf("%s is not Kafka's (%d bytes)", name, len(content))
			}
		}
		for name, content := range want {
			if !strings.HasSuffix(name, ext) {
				continue
			}
			if mine, ok := got[name]; !ok || mine != content {
				t.Errorf("%s differs: %d bytes, want %d; there: %v", name, len(mine), len(content), ok)
			}
		}
	}
}
