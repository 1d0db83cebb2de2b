package manager_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/fixture"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/manager"
)

// verifyDir is what Verify finds in a directory of the operating system, and how much it looked at.
func verifyDir(t testing.TB, dir string, o manager.VerifyOptions) ([]log.Finding, log.Counts) {
	t.Helper()
	fsys, err := fsio.OS(dir)
	require.NoError(t, err)
	defer fsys.Close()
	var findings []log.Finding
	counts := log.Counts{}
	o.Counts = &counts
	for f, err := range manager.Verify(context.Background(), fsys, o) {
		require.NoError(t, err)
		findings = append(findings, f)
	}
	return findings, counts
}

// brief is a finding by what a program branches on.
func brief(f log.Finding) string {
	return fmt.Sprintf("%s %s %s %d", f.Severity, f.Code, f.File, f.Position)
}

// problems are the errors and warnings among findings.
func problems(findings []log.Finding) (all []string) {
	for _, f := range findings {
		if f.Severity > log.SeverityInfo {
			all = append(all, brief(f))
		}
	}
	return all
}

// goldenCases are the cases of running brokers.
func goldenCases(t *testing.T) (names []string) {
	t.Helper()
	if testing.Short() {
		return []string{"4.4.0/codecs", "4.4.0/transactions", "4.4.0/epochs", "4.4.0/unclean", "4.4.0/damaged"}
	}
	for _, version := range []string{"3.9.2", "4.0.2", "4.4.0"} {
		names = append(names, fixture.Cases(t, version)...)
	}
	return names
}

// TestVerifyGolden finds nothing in what brokers left that they would not read, but what was damaged: exactly
// that, where it is.
func TestVerifyGolden(t *testing.T) {
	for _, name := range goldenCases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Golden(t, name)
			want := goldenProblems(t, dir, name)
			c := fixture.ReadCase(t, dir)
			for _, data := range logDirs(t, filepath.Join(dir, "data")) {
				findings, counts := verifyDir(t, data, manager.VerifyOptions{VerifyOptions: log.VerifyOptions{Deep: true}})
				assert.ElementsMatch(t, want, problems(findings))
				assert.Equal(t, counts.Bytes, bytesOf(c, data, dir), "bytes")
				shallow, _ := verifyDir(t, data, manager.VerifyOptions{VerifyOptions: log.VerifyOptions{Workers: 4}})
				assert.Equal(t, briefs(findings), briefs(shallow), "shallow, by four workers")
			}
		})
	}
}

// briefs are all findings, in order.
func briefs(findings []log.Finding) (all []string) {
	for _, f := range findings {
		all = append(all, brief(f))
	}
	return all
}

// bytesOf are the bytes of the .log files in a log directory, as case.json has them.
func bytesOf(c fixture.Case, data, dir string) (sum int64) {
	prefix, _ := filepath.Rel(filepath.Join(dir, "data"), data)
	for name, p := range c.OnDisk {
		if prefix == "." || strings.HasPrefix(name, prefix+"/") {
			sum += p.Bytes
		}
	}
	return sum
}

// logDirs are the log directories in data: it, or those in it.
func logDirs(t *testing.T, data string) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(data, "meta.properties")); err == nil {
		return []string{data}
	}
	dirs, err := filepath.Glob(filepath.Join(data, "*", "meta.properties"))
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	for i, name := range dirs {
		dirs[i] = filepath.Dir(name)
	}
	return dirs
}

// goldenProblems are the errors and warnings that a case has: by what was done to it, and where Kafka's own
// reader stops.
func goldenProblems(t *testing.T, dir, name string) (want []string) {
	t.Helper()
	switch filepath.Base(name) {
	case "unclean", "damaged":
	default:
		return nil
	}
	places := map[string]string{} // of damage in batches, by topic
	for _, r := range fixture.Records(t, filepath.Join(dir, "expected", "records.jsonl")) {
		topic, _, _ := strings.Cut(r.File, "-0/")
		switch {
		case places[topic] != "":
		case r.Error != "":
			places[topic] = fmt.Sprintf("%s %d", r.File, r.ValidBytes)
		case !r.Valid:
			places[topic] = fmt.Sprintf("%s %d", r.File, r.Position)
		}
	}
	for topic, kind := range map[string]string{
		"u-preallocate": "warning TRAILING_BYTES", "d-torn": "error TRAILING_BYTES", "d-garbage": "error TRAILING_BYTES",
		"d-zeros": "warning TRAILING_BYTES", "d-shortheader": "warning TRAILING_BYTES",
		"d-bitflip": "error CRC_MISMATCH", "d-bitflip-old": "error CRC_MISMATCH",
	} {
		if (topic[0] == 'u') == (filepath.Base(name) == "unclean") {
			require.NotEmpty(t, places[topic], topic)
			want = append(want, kind+" "+places[topic])
		}
	}
	if filepath.Base(name) == "unclean" {
		return want
	}
	files := func(pattern, kind string, pos int64) {
		for _, file := range fixture.Files(t, filepath.Join(dir, "data"), "*"+filepath.Ext(pattern)) {
			if strings.HasPrefix(file, filepath.Dir(pattern)+"/") {
				want = append(want, fmt.Sprintf("%s %s %d", kind, file, pos))
			}
		}
	}
	files("d-badindex-0/*.index", "warning INDEX_INVALID", 96) // 101 bytes: the last entry is not whole
	files("d-badindex-0/*.timeindex", "warning TIMEINDEX_INVALID", 96)
	files("d-badsnapshot-0/*.snapshot", "warning SNAPSHOT_INVALID", 0)
	files("d-badtxnindex-0/*.txnindex", "warning TXNINDEX_INVALID", 0)
	for _, log := range fixture.Files(t, filepath.Join(dir, "data"), "*.log") {
		if base, found := strings.CutSuffix(log, ".log"); found && strings.HasPrefix(log, "d-noindex-0/") {
			want = append(want, "warning INDEX_MISSING "+base+".index -1", "warning INDEX_MISSING "+base+".timeindex -1")
		}
	}
	return append(want,
		"warning EPOCHS_INVALID d-epochs-0/leader-epoch-checkpoint -1",
		"warning CHECKPOINT_INVALID replication-offset-checkpoint -1", // d-torn lost records below its high watermark
	)
}

// TestVerifyInfos tells what needs nobody's care, of what brokers leave.
func TestVerifyInfos(t *testing.T) {
	for _, row := range []struct {
		name string
		want []string // files that are told of, and how
	}{
		{"4.4.0/epochs", []string{
			"info LEFTOVER epochs-0/00000000000000000015.snapshot -1", "info LEFTOVER epochs-rare-0/00000000000000000002.snapshot -1",
		}},
		{"4.4.0/codecs", nil},
	} {
		findings, _ := verifyDir(t, filepath.Join(fixture.Golden(t, row.name), "data"), manager.VerifyOptions{})
		assert.Equal(t, row.want, briefs(findings), row.name)
	}
	findings, _ := verifyDir(t, filepath.Join(fixture.Golden(t, "4.4.0/unclean"), "data"), manager.VerifyOptions{})
	got := briefs(findings)
	assert.Contains(t, got, "info UNCLEAN_STOP .kafka_cleanshutdown -1")
	assert.Contains(t, got, "info INDEX_INVALID u-plain-0/00000000000000000000.index 80") // behind its 10 entries
	assert.Equal(t, 1, len(slices.DeleteFunc(got, func(s string) bool { return !strings.Contains(s, "UNCLEAN_STOP") })))
}

// TestVerifyChangesNothing compares names, sizes, times and modes before and after, in a directory that cannot
// be written.
func TestVerifyChangesNothing(t *testing.T) {
	dir := filepath.Join(fixture.Golden(t, "4.4.0/damaged"), "data")
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			t.Cleanup(func() { _ = os.Chmod(name, 0o755) })
			return os.Chmod(name, 0o555)
		}
		return os.Chmod(name, 0o444)
	}))
	before := snapshotOf(t, dir)
	findings, _ := verifyDir(t, dir, manager.VerifyOptions{VerifyOptions: log.VerifyOptions{Deep: true}})
	assert.NotEmpty(t, findings)
	assert.Equal(t, before, snapshotOf(t, dir))
}

// snapshotOf is a line for each file below dir.
func snapshotOf(t *testing.T, dir string) (lines []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			lines = append(lines, fmt.Sprint(name, info.Mode(), info.Size(), info.ModTime()))
		}
		return err
	}))
	return lines
}

// TestVerifyDirectory looks at what lies in a log directory besides its partitions.
func TestVerifyDirectory(t *testing.T) {
	for _, row := range []struct {
		name    string
		content string // "/" makes a directory
		want    string
	}{
		{"lost+found", "/", "warning PARTITION_NAME lost+found -1"},
		{"codec-none-00", "/", "warning PARTITION_NAME codec-none-00 -1"},
		{"README", "x", "info FOREIGN_FILE README -1"},
		{"remote-log-index-cache", "/", ""},
		{"bootstrap.checkpoint", "", ""},
		{"cleaner-offset-checkpoint.tmp", "x", "info LEFTOVER cleaner-offset-checkpoint.tmp -1"},
		{"cleaner-offset-checkpoint", "x\n", "warning CHECKPOINT_INVALID cleaner-offset-checkpoint 0"},
		{"recovery-point-offset-checkpoint", "0\n1\nt 0\n", "warning CHECKPOINT_INVALID recovery-point-offset-checkpoint 4"},
		{"meta.properties", "version=7\n", "warning METADATA_INVALID meta.properties 0"},
		{".kafka_cleanshutdown", "{", "warning CHECKPOINT_INVALID .kafka_cleanshutdown 0"},
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".kafka_cleanshutdown"), nil, 0o644))
		if name := filepath.Join(dir, row.name); row.content == "/" {
			require.NoError(t, os.Mkdir(name, 0o755))
		} else {
			require.NoError(t, os.WriteFile(name, []byte(row.content), 0o644))
		}
		findings, _ := verifyDir(t, dir, manager.VerifyOptions{})
		var want []string
		if row.want != "" {
			want = []string{row.want}
		}
		assert.Equal(t, want, briefs(findings), row.name)
	}
}

// TestVerifyIdentities compares partitions with each other.
func TestVerifyIdentities(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	put(".kafka_cleanshutdown", "")
	put("meta.properties", "version=1\nnode.id=1\ncluster.id=c\n")
	const id = "version: 0\ntopic_id: 3vjzY2tVQbuGPVKrbnxYiw"
	put("a-0/partition.metadata", id)
	put("a-1/partition.metadata", id)
	put("a-2/partition.metadata", "version: 0\ntopic_id: 4vjzY2tVQbuGPVKrbnxYiw")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "b-0"), 0o755))
	put("a-0.131d091d1c14421fa24f76acf770a0ed-future/partition.metadata", id)
	put("a-0.231d091d1c14421fa24f76acf770a0ed-future/partition.metadata", id)
	put("a-0.331d091d1c14421fa24f76acf770a0ed-delete/partition.metadata", "version: 0\ntopic_id: 5vjzY2tVQbuGPVKrbnxYiw")
	findings, _ := verifyDir(t, dir, manager.VerifyOptions{})
	assert.Equal(t, []string{
		"warning DUPLICATE a-0.231d091d1c14421fa24f76acf770a0ed-future -1",
		"info LEFTOVER a-0.331d091d1c14421fa24f76acf770a0ed-delete -1",
		"warning METADATA_INVALID a-2/partition.metadata -1",
		"warning METADATA_INVALID b-0/partition.metadata -1",
	}, briefs(findings))
	only, _ := verifyDir(t, dir, manager.VerifyOptions{Only: func(p manager.PartitionView) bool { return p.Topic == "b" }})
	assert.Empty(t, only)
}

func TestDuplicates(t *testing.T) {
	var views []*manager.View
	for _, names := range [][]string{{"a-0", "b-0"}, {"a-1"}, {"a-0", "a-1", "b-0.131d091d1c14421fa24f76acf770a0ed-future"}} {
		dir := t.TempDir()
		for _, name := range names {
			require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		}
		fsys, err := fsio.OS(dir)
		require.NoError(t, err)
		defer fsys.Close()
		v, err := manager.OpenView(t.Context(), fsys)
		require.NoError(t, err)
		views = append(views, v)
	}
	assert.Equal(t, []manager.Duplicate{
		{Partition: manager.Partition{Topic: "a", ID: 0}, Views: []int{0, 2}},
		{Partition: manager.Partition{Topic: "a", ID: 1}, Views: []int{1, 2}},
	}, manager.Duplicates(views...))
}
