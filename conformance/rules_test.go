package conformance_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/conformance"
)

// contract is what the comments of some interfaces say.
type contract struct {
	bullets []string // each rule of a list
	text    string   // all of it
}

// read adds a comment.
func (c *contract) read(comment *ast.CommentGroup) {
	inBullet := false
	for line := range strings.SplitSeq(comment.Text(), "\n") {
		rule, begins := strings.CutPrefix(line, "  - ")
		switch {
		case begins:
			c.bullets = append(c.bullets, rule)
		case inBullet && strings.HasPrefix(line, "    "):
			c.bullets[len(c.bullets)-1] += " " + strings.TrimSpace(line)
		default:
			begins = inBullet && line == "" // a blank line may stand between two
		}
		inBullet = begins || inBullet && strings.HasPrefix(line, "    ")
		c.text += strings.TrimSpace(strings.TrimPrefix(line, "  - ")) + " "
	}
}

// readInterfaces adds the comments of the interfaces named, and of their methods.
func (c *contract) readInterfaces(t *testing.T, file string, names ...string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	require.NoError(t, err)
	if parsed.Doc != nil {
		doc := contract{}
		doc.read(parsed.Doc)
		c.text += doc.text // the package's own rules may be quoted, too
	}
	for _, name := range names {
		found := false
		for _, decl := range parsed.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			spec := gen.Specs[0].(*ast.TypeSpec)
			if spec.Name.Name != name {
				continue
			}
			found = true
			c.read(gen.Doc)
			for _, method := range spec.Type.(*ast.InterfaceType).Methods.List {
				if method.Doc != nil {
					c.read(method.Doc)
				}
			}
		}
		require.True(t, found, "%s has no interface %s", file, name)
	}
}

// TestFSRowsQuoteTheContract checks that each rule of the contract has a row, and each row a rule.
func TestFSRowsQuoteTheContract(t *testing.T) {
	var c contract
	for file, names := range map[string][]string{
		"fs.go": {"FS"}, "file.go": {"File"}, "map.go": {"Map"}, "doc.go": nil,
	} {
		at := filepath.Join("..", "fsio", file)
		_, err := os.Stat(at)
		require.NoError(t, err)
		c.readInterfaces(t, at, names...)
	}
	rows := conformance.FSRows()
	quoted := 0
	for _, bullet := range c.bullets {
		found := false
		for _, row := range rows {
			found = found || strings.Contains(bullet, row.Rule)
		}
		if !found {
			t.Errorf("no row quotes the rule %q", bullet)
			continue
		}
		quoted++
	}
	for _, row := range rows {
		if !strings.Contains(c.text, row.Rule) {
			t.Errorf("row %q quotes what no contract says: %q", row.Name, row.Rule)
		}
	}
	t.Logf("%d rules, %d of them with a row, %d rows", len(c.bullets), quoted, len(rows))
	require.Greater(t, len(c.bullets), 90, "the rules were not found")
}
