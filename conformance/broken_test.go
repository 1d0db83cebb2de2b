package conformance_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/conformance"
)

// TestFSFindsBroken runs each row of TestFS on a filesystem that breaks the rule of that row.
func TestFSFindsBroken(t *testing.T) {
	rows := conformance.FSRows()
	broken := map[string]breakage{}
	for _, part := range []map[string]breakage{brokenTrees, brokenLocks, brokenFiles, brokenWrites, brokenDisks, brokenMaps} {
		maps.Copy(broken, part)
	}
	for name := range broken {
		if !slices.ContainsFunc(rows, func(r conformance.Row) bool { return r.Name == name }) {
			t.Errorf("a filesystem breaks %q, which is no row", name)
		}
	}
	var caught atomic.Int64
	t.Cleanup(func() { fmt.Printf("RESULT rows=%d broken_caught=%d/%d\n", len(rows), caught.Load(), len(rows)) })
	for _, r := range rows {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			make, ok := broken[r.Name]
			if !ok {
				t.Fatal("no filesystem breaks this row's rule")
			}
			failures, skipped := conformance.TryFS(r.Name, make(t), 20*time.Second)
			if skipped != "" {
				t.Fatalf("the row was skipped: %s", skipped)
			}
			if len(failures) == 0 {
				t.Fatalf("the row accepts a filesystem that breaks its rule: %q", r.Rule)
			}
			caught.Add(1)
			t.Logf("%s", failures[0][:min(len(failures[0]), 200)])
		})
	}
}

// TestToldFailures: a part that fails at each step of a row tells of the first, and how many there are.
func TestToldFailures(t *testing.T) {
	few := strings.Fields("a b c d e f g h i j")
	require.Equal(t, few, conformance.Told(few))
	require.Equal(t, append(slices.Clone(few), "and 2 more failures"), conformance.Told(append(slices.Clone(few), "k", "l")))
}
