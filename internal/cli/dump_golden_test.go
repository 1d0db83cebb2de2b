package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stratalog/strata/internal/fixture"
)

// TestDumpGolden compares dump -o kafka with what kafka-dump-log of Kafka 4.4.0 printed for the same files:
// standard output, then standard error. Lines with paths are compared without them, and what is not imitated
// is left out: files at which Kafka's tool died, and "-1 is followed by".
func TestDumpGolden(t *testing.T) {
	compared, checked := 0, 0
	for _, name := range fixture.Cases(t, "4.4.0") {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Golden(t, name)
			t.Chdir(filepath.Join(dir, "data"))
			for _, file := range fixture.Files(t, filepath.Join(dir, "expected"), "dump-*--*.txt") {
				if compareDump(t, filepath.Join(dir, "expected", file)) {
					compared++
				}
			}
			checked += compareChecks(t, dir)
		})
	}
	if compared < 500 || checked < 500 {
		t.Errorf("compared %d dumps and %d checks, want 500 of each at least", compared, checked)
	}
}

// compareDump compares the dump in expected with ours, and reports whether there was something to compare.
func compareDump(t *testing.T, expected string) bool {
	t.Helper()
	text, err := os.ReadFile(expected)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(expected), "dump-"), ".txt")
	name = strings.ReplaceAll(name, "--", "/")
	name = strings.Replace(name, "x249", strings.Repeat("x", 249), 1)
	if strings.HasPrefix(name, "__") || strings.Contains(string(text), "Exception") {
		return false
	}
	args := []string{"dump", "-o", "kafka", "--deep-iteration", "--print-data-log", name}
	if !strings.HasSuffix(name, ".log") {
		args = []string{"dump", "-o", "kafka", name}
	}
	got := run(t, "", args...)
	if got, want := withoutPaths(got.out+got.errs), withoutPaths(string(text)); got != want {
		t.Errorf("dump of %s:\n%s", name, firstDifference(got, want))
	}
	return true
}

// headings are the lines of kafka-dump-log that hold a path, which the harness that made the expectations
// made relative.
var headings = regexp.MustCompile(`^(Non-consecutive offsets in |Mismatches in :|Found timestamp mismatch in :|` +
	`Found out of order timestamp in :|The following indexed offsets are not found in :)`)

// withoutPaths is text without the lines' paths and without what is not imitated.
func withoutPaths(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "Dumping "), strings.HasPrefix(line, "  -1 is followed by "):
			continue
		case headings.MatchString(line):
			line = headings.FindString(line) + "\n"
		}
		lines = append(lines, line)
	}
	kept := lines[:0]
	for i, line := range lines {
		if strings.HasPrefix(line, "Non-consecutive") && (i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "  ")) {
			continue // the heading alone
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "")
}

// firstDifference shows where got and want part.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "<end>", "<end>"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return "got  " + a + "\nwant " + b
		}
	}
	return ""
}

// compareChecks does the same for the two ways to check indexes without showing them, and returns the number of
// files compared.
func compareChecks(t *testing.T, dir string) (compared int) {
	t.Helper()
	for _, flag := range []string{"index-sanity-check", "verify-index-only"} {
		text, err := os.ReadFile(filepath.Join(dir, "expected", "dump-"+flag+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for section := range strings.SplitSeq(string(text), "Dumping ") {
			file, want, _ := strings.Cut(section, "\n")
			if file == "" || strings.Contains(want, "Exception") {
				continue
			}
			got := run(t, "", "dump", "-o", "kafka", "--"+flag, file)
			if got, want := withoutPaths(got.out+got.errs), withoutPaths(want); got != want {
				t.Errorf("dump --%s of %s:\n%s", flag, file, firstDifference(got, want))
			}
			compared++
		}
	}
	return compared
}
