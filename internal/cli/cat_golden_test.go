package cli_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stratalog/strata/internal/fixture"
)

// record is a line of cat -o json.
type record struct {
	Type          string
	Topic         *string
	Partition     *int32
	Offset        int64
	Timestamp     int64
	TimestampType string
	Key           *string
	KeyEncoding   string
	Value         *string
	ValueEncoding string
	Headers       []struct {
		Key      string
		Value    *string
		Encoding string
	}
	ProducerID    int64 `json:"producerId"`
	ProducerEpoch int16
	Sequence      int32
	LeaderEpoch   int32
	Control       *struct {
		Type             string
		CoordinatorEpoch int32
	}
}

// records reads the lines of cat -o json.
func records(t *testing.T, out string) (all []record) {
	t.Helper()
	for line := range strings.Lines(out) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, r)
	}
	return all
}

// plain are the bytes that a JSON string stands for in the given encoding.
func plain(t *testing.T, s *string, encoding string) []byte {
	t.Helper()
	switch {
	case s == nil && encoding == "null":
		return nil
	case s != nil && encoding == "utf8":
		return []byte(*s)
	case s != nil && encoding == "base64":
		b, err := base64.StdEncoding.DecodeString(*s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	t.Fatalf("a string %v with the encoding %q", s, encoding)
	return nil
}

// TestCatGolden compares cat --all -o json of every partition of the golden cases with what Kafka's
// FileRecords read in them. What is not valid there must be named here, and makes the exit status 3.
func TestCatGolden(t *testing.T) {
	versions := []string{"3.9.2", "4.0.2", "4.4.0"}
	if testing.Short() {
		versions = versions[2:]
	}
	for _, version := range versions {
		for _, name := range fixture.Cases(t, version) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := fixture.Golden(t, name)
				for partition, want := range byPartition(t, filepath.Join(dir, "expected", "records.jsonl")) {
					compareCat(t, filepath.Join(dir, "data", partition), want)
				}
			})
		}
	}
}

// TestCatLegacy compares cat --all -o json of the legacy cases with what their own version's reader read. A
// record counts where the checksum of its entry in the file fits: recovery looks no deeper, and neither does
// a reader of wrappers.
func TestCatLegacy(t *testing.T) {
	versions := fixture.Versions()[:5]
	if testing.Short() {
		versions = versions[4:]
	}
	for _, version := range versions {
		for _, name := range fixture.Cases(t, version) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := fixture.Golden(t, name)
				var want []fixture.LegacyRecord
				for _, r := range fixture.LegacyRecords(t, filepath.Join(dir, "expected", "records.jsonl")) {
					if r.EntryValid && r.Error == "" {
						want = append(want, r)
					}
				}
				got := run(t, "", "cat", "--all", "-o", "json", filepath.Join(dir, "data"))
				lines := records(t, got.out)
				if len(lines) != len(want) {
					t.Fatalf("%d records, want %d: %s", len(lines), len(want), got.errs)
				}
				for i, r := range lines {
					w := want[i]
					if r.Offset != w.Offset || r.Timestamp != w.Timestamp || !w.Key.Equal(plain(t, r.Key, r.KeyEncoding)) ||
						!w.Value.Equal(plain(t, r.Value, r.ValueEncoding)) {
						t.Errorf("record %d: %+v, want %+v", i, r, w)
					}
				}
			})
		}
	}
}

// expected is what records.jsonl has of a partition.
type expected struct {
	records []fixture.Record
	damaged map[string]bool // files that are not whole
}

// byPartition reads records.jsonl.
func byPartition(t *testing.T, file string) map[string]*expected {
	t.Helper()
	all := map[string]*expected{}
	for _, r := range fixture.Records(t, file) {
		if path.Ext(r.File) != ".log" {
			continue
		}
		e := all[path.Dir(r.File)]
		if e == nil {
			e = &expected{damaged: map[string]bool{}}
			all[path.Dir(r.File)] = e
		}
		switch {
		case r.Error != "" || !r.Valid:
			e.damaged[path.Base(r.File)] = true
		case !r.EmptyBatch:
			e.records = append(e.records, r)
		}
	}
	return all
}

// compareCat compares cat of the partition in dir with want.
func compareCat(t *testing.T, dir string, want *expected) {
	t.Helper()
	before := snapshot(t, dir)
	got := run(t, "", "cat", "--all", "-o", "json", dir)
	status := 0
	if len(want.damaged) > 0 {
		status = 3
	}
	if got.status != status {
		t.Errorf("cat %s: status %d, want %d: %s", dir, got.status, status, got.errs)
	}
	for file := range want.damaged {
		if !strings.Contains(got.errs, file+" at ") {
			t.Errorf("cat %s does not name the damage in %s: %s", dir, file, got.errs)
		}
	}
	lines := records(t, got.out)
	for i := range max(len(lines), len(want.records)) {
		if i >= len(lines) || i >= len(want.records) {
			t.Errorf("cat %s: %d records, want %d", dir, len(lines), len(want.records))
			return
		}
		if !compareRecord(t, lines[i], want.records[i]) {
			t.Errorf("cat %s, record %d: %+v, want %+v", dir, i, lines[i], want.records[i])
			return
		}
	}
	if after := snapshot(t, dir); after != before {
		t.Errorf("cat changed the directory:\n%s\nwas\n%s", after, before)
	}
}

// compareRecord reports whether got is want.
func compareRecord(t *testing.T, got record, want fixture.Record) bool {
	t.Helper()
	same := got.Type == "record" && got.Offset == want.Offset && got.Timestamp == want.Timestamp &&
		got.TimestampType == want.TimestampType && got.ProducerID == want.ProducerID &&
		got.ProducerEpoch == want.ProducerEpoch && got.Sequence == want.Sequence && got.LeaderEpoch == want.LeaderEpoch &&
		want.Key.Equal(plain(t, got.Key, got.KeyEncoding)) && want.Value.Equal(plain(t, got.Value, got.ValueEncoding)) &&
		len(got.Headers) == len(want.Headers) && (got.Control != nil) == want.Control
	if same && got.Control != nil && (got.Control.Type == "COMMIT" || got.Control.Type == "ABORT") {
		same = got.Control.Type == want.ControlType && got.Control.CoordinatorEpoch == want.CoordinatorEpoch
	}
	for i := range want.Headers {
		same = same && got.Headers[i].Key == want.Headers[i].Key &&
			want.Headers[i].Value.Equal(plain(t, got.Headers[i].Value, got.Headers[i].Encoding))
	}
	return same
}

// snapshot tells the names, sizes and times of the files in dir and in the one above.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	for _, d := range []string{filepath.Dir(dir), dir} {
		entries, err := os.ReadDir(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(e.Name() + " " + info.ModTime().String() + " ")
			if !e.IsDir() {
				b.WriteString(info.Mode().String())
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
