package conformance_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/conformance"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/segment"
)

func TestMessageSet(t *testing.T) {
	for _, subject := range []struct {
		name  string
		newFS conformance.NewFS
		open  segment.OpenFunc
	}{
		{"mem+mmap", mem, segment.OpenMmap},
		{"mem+file", mem, segment.OpenFile},
		{"os+mmap", disk, segment.OpenMmap},
		{"os+file", disk, segment.OpenFile},
	} {
		t.Run(subject.name, func(t *testing.T) { conformance.TestMessageSet(t, subject.newFS, subject.open, nil) })
	}
}

// TestMessageSetFindsBroken runs each row of TestMessageSet on a set that breaks the rule of that row.
func TestMessageSetFindsBroken(t *testing.T) {
	findsBroken(t, "RESULT set", conformance.SetRows(), brokenSets,
		func(_ *testing.T, row string, open segment.OpenFunc) conformance.Outcome {
			return conformance.TrySet(row, aferofs.Mem(), open)
		})
}

// TestMessageSetRowsQuoteTheContract checks that each rule of the contract has a row, and each row a rule.
func TestMessageSetRowsQuoteTheContract(t *testing.T) {
	var c contract
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "segment", "set.go"), nil, parser.ParseComments)
	require.NoError(t, err)
	ast.Inspect(parsed, func(n ast.Node) bool {
		if comment, ok := n.(*ast.CommentGroup); ok {
			c.read(comment)
		}
		return true
	})
	require.GreaterOrEqual(t, len(c.bullets), 14, "the rules were not found")
	quotes(t, c, conformance.SetRows(), "One goroutine at a time may call Append, Truncate, Seal and Close.")
}
