package conformance_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/conformance"
)

// TestFSFindsBroken runs each row of TestFS on a filesystem that breaks the rule of that row.
func TestFSFindsBroken(t *testing.T) {
	broken := map[string]breakage{}
	for _, part := range []map[string]breakage{brokenTrees, brokenLocks, brokenFiles, brokenWrites, brokenDisks, brokenMaps} {
		maps.Copy(broken, part)
	}
	findsBroken(t, "RESULT", conformance.FSRows(), broken,
		func(t *testing.T, row string, make breakage) conformance.Outcome {
			return conformance.TryFS(row, make(t))
		})
}

// findsBroken tries each row on what breaks its rule.
func findsBroken[S any](t *testing.T, result string, rows []conformance.Row, broken map[string]S,
	try func(t *testing.T, row string, subject S) conformance.Outcome,
) {
	t.Helper()
	for name := range broken {
		if !slices.ContainsFunc(rows, func(r conformance.Row) bool { return r.Name == name }) {
			t.Errorf("a subject breaks %q, which is no row", name)
		}
	}
	var caught atomic.Int64
	t.Cleanup(func() { fmt.Printf("%s rows=%d broken_caught=%d/%d\n", result, len(rows), caught.Load(), len(rows)) })
	for _, r := range rows {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			subject, ok := broken[r.Name]
			if !ok {
				t.Fatal("nothing breaks this row's rule")
			}
			found := try(t, r.Name, subject)
			switch {
			case found.Skipped != "":
				t.Fatalf("the row was skipped: %s", found.Skipped)
			case found.Hung:
				t.Fatalf("the row found nothing: %s", found.Failures[0])
			case len(found.Failures) == 0:
				t.Fatalf("the row accepts what breaks its rule: %q", r.Rule)
			}
			caught.Add(1)
			t.Logf("%s", found.Failures[0][:min(len(found.Failures[0]), 200)])
		})
	}
}

// TestToldFailures: a part that fails at each step of a row tells of the first, and how many there are.
func TestToldFailures(t *testing.T) {
	few := strings.Fields("a b c d e f g h i j")
	require.Equal(t, few, conformance.Told(few))
	require.Equal(t, append(slices.Clone(few), "and 2 more failures"), conformance.Told(append(slices.Clone(few), "k", "l")))
}
