package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	functionLines = 70
	fileLines     = 600
)

// unowned finds work that is left, unless it has a name: TODO(ann).
var unowned = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b(\([a-z]+\))?`)

func TestTidy(t *testing.T) {
	for _, complaint := range untidy(t, os.DirFS("../..")) {
		t.Error(complaint)
	}
}

// TestTidyFinds plants one violation of each kind, and finds it.
func TestTidyFinds(t *testing.T) {
	lines := strings.Repeat("\tx++\n", functionLines+1)
	for _, row := range []struct{ name, file, text, want string }{
		{"long function", "log/doc.go", "// Package log logs.\npackage log\n\nfunc f(x int) {\n" + lines + "}\n", "4: f has 71 lines"},
		{"long function of a test", "log/f_test.go", "package log\n\nfunc f(x int) {\n" + lines + "}\n", ""},
		{"comments in a function", "log/doc.go", "// Package log logs.\npackage log\n\nfunc f(x int) {\n" + strings.Replace(lines, "x++", "// x", 1) + "}\n", ""},
		{"long file", "log/doc.go", "// Package log logs.\npackage log\n" + strings.Repeat("\n", fileLines), "602 lines"},
		{"long test", "log/f_test.go", "package log\n" + strings.Repeat("\n", fileLines), "601 lines"},
		{"no package doc", "log/doc.go", "package log\n", "no package doc"},
		{"package doc of the only file", "log/f.go", "// Package log logs.\npackage log\n", ""},
		{"package doc of a command", "cmd/x/main.go", "// Command x does.\npackage main\n", ""},
		{"work left", "log/doc.go", "// Package log logs.\npackage log\n\n// TODO: more\n", "4: TODO without a name"},
		{"work left in a function", "log/f_test.go", "package log\n\nfunc f() {\n\tg() // FIXME\n}\n", "4: FIXME without a name"},
		{"work left by somebody", "log/f_test.go", "package log\n\n// TODO(ann): more\n", ""},
		{"function", "log/doc.go", "// Package log logs.\npackage log\n\nfunc F() {}\n", "4: F has no comment that begins with it"},
		{"other comment", "log/doc.go", "// Package log logs.\npackage log\n\n// Does it.\nfunc F() {}\n", "5: F has no comment that begins with it"},
		{"method", "log/doc.go", "// Package log logs.\npackage log\n\n// T is.\ntype T int\n\nfunc (*T) M() {}\n", "7: M has no comment that begins with it"},
		{"method of a generic type", "log/doc.go", "// Package log logs.\npackage log\n\n// T is.\ntype T[E any] int\n\nfunc (*T[E]) M() {}\n", "7: M has no comment that begins with it"},
		{"method of a hidden type", "log/doc.go", "// Package log logs.\npackage log\n\ntype t int\n\nfunc (t) M() {}\n", ""},
		{"type", "log/doc.go", "// Package log logs.\npackage log\n\ntype T int\n", "4: T has no comment that begins with it"},
		{"type in a group", "log/doc.go", "// Package log logs.\npackage log\n\n// Some.\ntype (\n\tT int\n)\n", "6: T has no comment that begins with it"},
		{"constant", "log/doc.go", "// Package log logs.\npackage log\n\nconst C = 1\n", "4: C has no comment"},
		{"constants of a group", "log/doc.go", "// Package log logs.\npackage log\n\n// Some.\nconst (\n\tC = 1\n)\n", ""},
		{"constant beside", "log/doc.go", "// Package log logs.\npackage log\n\nconst (\n\tC = 1 // C is one.\n)\n", ""},
		{"variable", "log/doc.go", "// Package log logs.\npackage log\n\nvar a, V int\n", "4: V has no comment"},
		{"documented", "log/doc.go", "// Package log logs.\npackage log\n\n// F does.\nfunc F() {}\n\n// T is.\ntype T int\n\n// V is.\nvar V int\n", ""},
		{"test", "log/f_test.go", "package log\n\nfunc TestF() {}\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			wantOnly(t, untidy(t, planted(row.file, row.text)), row.want)
		})
	}
	two := fstest.MapFS{
		"log/f.go": {Data: []byte("// Package log logs.\npackage log\n")},
		"log/g.go": {Data: []byte("package log\n")},
	}
	wantOnly(t, untidy(t, two), "log: no package doc")
}

// wantOnly wants one complaint, which has want in it, or none if want is empty.
func wantOnly(t *testing.T, got []string, want string) {
	t.Helper()
	if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
		t.Errorf("complaints = %q, want one with %q", got, want)
	}
}

// untidy returns the complaints about the files in tree.
func untidy(t *testing.T, tree fs.FS) (complaints []string) {
	t.Helper()
	packages := map[string][]source{}
	for _, s := range sources(t, tree) {
		for _, complaint := range slices.Concat(tooLong(s), workLeft(s), withoutDoc(s)) {
			complaints = append(complaints, s.name+": "+complaint)
		}
		if !s.isTest() {
			packages[path.Dir(s.name)] = append(packages[path.Dir(s.name)], s)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		if !slices.ContainsFunc(packages[folder], func(s source) bool {
			base := path.Base(s.name)
			return s.file.Doc != nil && (base == "doc.go" || base == "main.go" || len(packages[folder]) == 1)
		}) {
			complaints = append(complaints, folder+": no package doc in doc.go, main.go or the only file")
		}
	}
	return complaints
}

// tooLong complains about files and functions that are too long.
func tooLong(s source) (complaints []string) {
	if lines := strings.Count(s.text, "\n"); lines > fileLines {
		complaints = append(complaints, fmt.Sprintf("%d lines, at most %d", lines, fileLines))
	}
	if s.isTest() {
		return complaints
	}
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		lines := s.line(f.Body.Rbrace) - s.line(f.Body.Lbrace) - 1 - commentLines(s, f.Body)
		if lines > functionLines {
			complaints = append(complaints, fmt.Sprintf("%d: %s has %d lines, at most %d", s.line(f.Pos()), f.Name.Name, lines, functionLines))
		}
	}
	return complaints
}

// commentLines is the number of lines of a function that are nothing but comment.
func commentLines(s source, body *ast.BlockStmt) (lines int) {
	text := strings.Split(s.text, "\n")
	for line := s.line(body.Lbrace) + 1; line < s.line(body.Rbrace); line++ {
		if strings.HasPrefix(strings.TrimSpace(text[line-1]), "//") {
			lines++
		}
	}
	return lines
}

// workLeft complains about work that is nobody's.
func workLeft(s source) (complaints []string) {
	for _, group := range s.file.Comments {
		for _, comment := range group.List {
			for _, match := range unowned.FindAllStringSubmatch(comment.Text, -1) {
				if match[2] == "" && !s.below("internal/lint") {
					complaints = append(complaints, fmt.Sprintf("%d: %s without a name", s.line(comment.Pos()), match[1]))
				}
			}
		}
	}
	return complaints
}

// withoutDoc complains about exported names without a comment.
func withoutDoc(s source) (complaints []string) {
	if s.isTest() {
		return nil
	}
	complain := func(name *ast.Ident, what string) {
		complaints = append(complaints, fmt.Sprintf("%d: %s has no comment%s", s.line(name.Pos()), name.Name, what))
	}
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && exportedReceiver(d) && !beginsWith(d.Doc, d.Name.Name) {
				complain(d.Name, " that begins with it")
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				withoutDocSpec(d, spec, complain)
			}
		}
	}
	return complaints
}

// withoutDocSpec is withoutDoc for a type, a constant or a variable, alone or in a group.
func withoutDocSpec(group *ast.GenDecl, spec ast.Spec, complain func(name *ast.Ident, what string)) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		doc := spec.Doc
		if doc == nil && group.Lparen == token.NoPos {
			doc = group.Doc
		}
		if spec.Name.IsExported() && !beginsWith(doc, spec.Name.Name) {
			complain(spec.Name, " that begins with it")
		}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() && group.Doc == nil && spec.Doc == nil && spec.Comment == nil {
				complain(name, "")
			}
		}
	}
}

// exportedReceiver reports whether f is a function, or a method of an exported type.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	of := f.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr: // a generic type
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return true
		}
	}
}

// beginsWith reports whether doc begins with name.
func beginsWith(doc *ast.CommentGroup, name string) bool {
	rest, ok := strings.CutPrefix(doc.Text(), name)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], " \n.,:;'"))
}
