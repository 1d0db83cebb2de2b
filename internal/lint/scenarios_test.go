package lint

import (
	"bufio"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// scenarioID is the id of a scenario of Kafka's own tests.
var scenarioID = regexp.MustCompile(`\b[B-JQ][1-9][0-9]*\b`)

// TestScenarios: each scenario that testdata/scenarios.txt lists is named in the comment of a test, or excused in
// DESIGN.md by a row of a table that begins with its id.
func TestScenarios(t *testing.T) {
	tree := os.DirFS("../..")
	for _, complaint := range missedScenarios(t, tree) {
		t.Error(complaint)
	}
}

// TestScenariosFind plants one violation of each kind, and finds it.
func TestScenariosFind(t *testing.T) {
	for _, row := range []struct{ name, test, design, want string }{
		{"named", "// E1 and F2: both.\nfunc f() {}\n", "", ""},
		{"named inside of a test", "// E1: one.\nfunc f() {\n\t// F2\n}\n", "", ""},
		{"excused", "// E1: one.\nfunc f() {}\n", "| F2 | not ours |\n", ""},
		{"several excused", "", "| E1, F2 | not ours |\n", ""},
		{"missing", "// F2: two.\nfunc f() {}\n", "", "E1 randomLookupTest: no test names it"},
		{"a part of a word", "// E1: one, in F21 and F2x.\nfunc f() {}\n", "", "F2 testReadOnEmptySegment: no test"},
		{"not in a comment", "// E1: one.\nfunc f() { _ = \"F2\" }\n", "", "F2 testReadOnEmptySegment: no test"},
		{"excused elsewhere", "// E1: one.\nfunc f() {}\n", "F2 | not ours\n| not ours | F2 |\n", "F2 testReadOnEmptySegment: no test"},
		{"excused, and unknown", "// E1, F2\nfunc f() {}\n", "| E9 | not ours |\n", "E9: excused, and not in the list"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tree := fstest.MapFS{
				"log/f_test.go":     {Data: []byte("package log\n\n" + row.test)},
				"log/f.go":          {Data: []byte("package log\n\n// E1, F2: not a test.\n")},
				"DESIGN.md":         {Data: []byte(row.design)},
				scenarios:           {Data: []byte("# Some.\nE1 randomLookupTest\n\nF2 testReadOnEmptySegment\n")},
				"log/testdata/x.go": {Data: []byte("package x\n\n// E1, F2\n")},
			}
			wantOnly(t, missedScenarios(t, tree), row.want)
		})
	}
}

const scenarios = "internal/lint/testdata/scenarios.txt"

// missedScenarios returns the complaints about scenarios in tree.
func missedScenarios(t *testing.T, tree fs.FS) (complaints []string) {
	t.Helper()
	titles, named, excuses := listedScenarios(t, tree), namedScenarios(t, tree), excusedScenarios(t, tree)
	for _, id := range slices.Sorted(maps.Keys(titles)) {
		if !named[id] && !slices.Contains(excuses, id) {
			complaints = append(complaints, id+" "+titles[id]+": no test names it, and DESIGN.md does not excuse it")
		}
	}
	for _, id := range excuses {
		if _, ok := titles[id]; !ok {
			complaints = append(complaints, id+": excused, and not in the list")
		}
	}
	return complaints
}

// listedScenarios maps the ids in the list to what is behind them.
func listedScenarios(t *testing.T, tree fs.FS) map[string]string {
	t.Helper()
	text, err := fs.ReadFile(tree, scenarios)
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if id, title, ok := strings.Cut(strings.TrimSpace(line), " "); ok && id != "#" {
			titles[id] = title
		}
	}
	return titles
}

// namedScenarios are the ids in the comments of tests.
func namedScenarios(t *testing.T, tree fs.FS) map[string]bool {
	t.Helper()
	named := map[string]bool{}
	for _, s := range sources(t, tree) {
		if !s.isTest() || s.below("internal/lint") {
			continue
		}
		for _, group := range s.file.Comments {
			for _, id := range scenarioID.FindAllString(group.Text(), -1) {
				named[id] = true
			}
		}
	}
	return named
}

// excusedScenarios are the ids in the first cells of the tables in DESIGN.md.
func excusedScenarios(t *testing.T, tree fs.FS) (ids []string) {
	t.Helper()
	design, err := tree.Open("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	defer design.Close()
	for lines := bufio.NewScanner(design); lines.Scan(); {
		if row, ok := strings.CutPrefix(lines.Text(), "| "); ok {
			cell, _, _ := strings.Cut(row, " |")
			ids = append(ids, scenarioID.FindAllString(cell, -1)...)
		}
	}
	return ids
}
