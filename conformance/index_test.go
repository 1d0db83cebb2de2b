package conformance_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/conformance"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
)

func TestIndex(t *testing.T) {
	for _, subject := range []struct {
		name  string
		newFS conformance.NewFS
		open  index.OpenFunc
	}{
		{"mem+mmap", mem, index.OpenMmap},
		{"mem+file", mem, index.OpenFile},
		{"os+mmap", disk, index.OpenMmap},
		{"os+file", disk, index.OpenFile},
	} {
		t.Run(subject.name, func(t *testing.T) { conformance.TestIndex(t, subject.newFS, subject.open, nil) })
	}
}

// TestIndexFindsBroken runs each row of TestIndex on an index that breaks the rule of that row.
func TestIndexFindsBroken(t *testing.T) {
	broken := map[string]index.OpenFunc{}
	for _, part := range []map[string]index.OpenFunc{brokenIndexes, brokenUses, brokenOpens} {
		maps.Copy(broken, part)
	}
	findsBroken(t, "RESULT index", conformance.IndexRows(), broken,
		func(_ *testing.T, row string, open index.OpenFunc) conformance.Outcome {
			return conformance.TryIndex(row, aferofs.Mem, open)
		})
}

// TestIndexRowsQuoteTheContract checks that each rule of the contract has a row, and each row a rule.
func TestIndexRowsQuoteTheContract(t *testing.T) {
	var c contract
	for _, file := range []string{"doc.go", "index.go", "layout.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "index", file), nil, parser.ParseComments)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if comment, ok := n.(*ast.CommentGroup); ok {
				c.read(comment)
			}
			return true
		})
	}
	rows := conformance.IndexRows()
	const ofCallers = "One goroutine at a time may call Append, Truncate, Seal and Close."
	for _, bullet := range c.bullets {
		quotes := func(r conformance.Row) bool { return strings.Contains(bullet, r.Rule) }
		if bullet != ofCallers && !slices.ContainsFunc(rows, quotes) {
			t.Errorf("no row quotes the rule %q", bullet)
		}
	}
	for _, row := range rows {
		if !strings.Contains(c.text, row.Rule) {
			t.Errorf("row %q quotes what no contract says: %q", row.Name, row.Rule)
		}
	}
	require.Greater(t, len(c.bullets), 20, "the rules were not found")
}
