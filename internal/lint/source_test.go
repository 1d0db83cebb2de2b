package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// source is one Go file of the module.
type source struct {
	name string // slash-separated, from the root of the module
	text string
	file *ast.File
	set  *token.FileSet
}

// isTest reports whether s is part of a test.
func (s source) isTest() bool { return strings.HasSuffix(s.name, "_test.go") }

// line is the line of a position.
func (s source) line(at token.Pos) int { return s.set.Position(at).Line }

// below reports whether s is in one of the folders, or below.
func (s source) below(folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(s.name, folder+"/") })
}

// packages maps the names under which s imports packages to their paths.
func (s source) packages() map[string]string {
	named := map[string]string{}
	for _, spec := range s.file.Imports {
		target, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		named[name] = target
	}
	return named
}

// sources parses the Go files in tree, without testdata and modules of their own.
func sources(t *testing.T, tree fs.FS) (all []source) {
	t.Helper()
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && skipped(tree, name):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		s := source{name: name, text: string(text), set: token.NewFileSet()}
		s.file, err = parser.ParseFile(s.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// planted is a tree of one file.
func planted(name, text string) fs.FS { return fstest.MapFS{name: {Data: []byte(text)}} }
