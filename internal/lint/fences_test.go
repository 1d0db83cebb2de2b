package lint

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// threads are the folders that may start goroutines. Below manager, all work in parallel goes through
// scheduler, which may run it in order: so one seed replays a whole run.
var threads = []string{"scheduler", "cmd", "examples", "conformance", "internal/cli", "internal/cmd"}

// fences are the rules of forbidigo in .golangci.yml, which has the folders and the names once for both.
type fences struct {
	forbidden []fence
	files     *regexp.Regexp // where the rules about fsio do not hold
	anything  *regexp.Regexp // where no rule holds
}

// fence forbids names such as os.Open.
type fence struct {
	names *regexp.Regexp
	why   string
}

func TestFences(t *testing.T) {
	tree := os.DirFS("../..")
	for _, complaint := range trespasses(t, tree, readFences(t, tree)) {
		t.Error(complaint)
	}
}

// TestFencesFind plants one violation of each kind, and finds it.
func TestFencesFind(t *testing.T) {
	rules := readFences(t, os.DirFS("../.."))
	for _, row := range []struct{ name, file, imports, body, want string }{
		{"a file", "log/x.go", `"os"`, `os.Remove("x")`, "3: os.Remove: files go through fsio"},
		{"a file under another name", "log/x.go", `sys "os"`, `sys.ReadFile("x")`, "os.ReadFile"},
		{"a file as a value", "log/x.go", `"os"`, `_ = os.Open`, "os.Open"},
		{"a file in fsio", "fsio/crashfs/x.go", `"os"`, `os.Remove("x")`, ""},
		{"a file in the command", "internal/cli/x.go", `"os"`, `os.Open("x")`, ""},
		{"a file of a test", "log/x_test.go", `"os"`, `os.Open("x")`, ""},
		{"no file", "log/x.go", `"os"`, `os.Getpid()`, ""},
		{"the time", "log/x.go", `"time"`, `time.Now()`, "time.Now: time goes through scheduler"},
		{"the time in fsio", "fsio/x.go", `"time"`, `time.Now()`, "time.Now"},
		{"the time for a reason", "fsio/x.go", `"time"`, `time.Now() //nolint:forbidigo // why`, ""},
		{"a sleep", "codec/x.go", `"time"`, `time.Sleep(1)`, "time.Sleep"},
		{"a timer", "manager/x.go", `"time"`, `time.AfterFunc(1, nil)`, "time.AfterFunc"},
		{"the time in scheduler", "scheduler/x.go", `"time"`, `time.Now()`, ""},
		{"no time", "log/x.go", `"time"`, `_ = time.Second`, ""},
		{"a goroutine", "log/x.go", `"os"`, `go func() {}()`, "starts a goroutine"},
		{"a goroutine of a group", "manager/x.go", `"sync"`, `new(sync.WaitGroup).Go(nil)`, "starts a goroutine"},
		{"a goroutine in scheduler", "scheduler/x.go", `"os"`, `go func() {}()`, ""},
		{"a goroutine of a test", "log/x_test.go", `"os"`, `go func() {}()`, ""},
		{"unsafe", "index/x.go", `"unsafe"`, `_ = unsafe.Sizeof(1)`, "imports unsafe"},
		{"unsafe in a test", "index/x_test.go", `"unsafe"`, `_ = unsafe.Sizeof(1)`, "imports unsafe"},
		{"unsafe in fsio", "fsio/x.go", `"unsafe"`, `_ = unsafe.Sizeof(1)`, ""},
		{"a system call", "log/x.go", `"syscall"`, `syscall.Sync()`, "syscall.Sync: system calls go through fsio"},
		{"a system call of x/sys", "log/x.go", `"golang.org/x/sys/unix"`, `unix.Sync()`, "unix.Sync"},
		{"an errno", "log/x.go", `"syscall"`, `_ = syscall.ENOSPC`, ""},
		{"an errno from a number", "log/x.go", `"syscall"`, `_ = syscall.Errno(5)`, ""},
		{"a sleeping test", "log/x_test.go", `"time"`, `time.Sleep(1)`, "a test sleeps"},
		{"a test that sleeps in a bubble", "log/x_test.go", `"testing/synctest"; import "time"`, `_ = synctest.Test; time.Sleep(1)`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := fmt.Sprintf("package p; import %s\nfunc f() {\n%s\n}\n", row.imports, row.body)
			wantOnly(t, trespasses(t, planted(row.file, text), rules), row.want)
		})
	}
	for _, file := range []string{"log/x.go", "log/x_test.go", "scheduler/x.go"} {
		wantOnly(t, trespasses(t, planted(file, "package p\nfunc init() {}\n"), rules), "2: init function")
	}
	wantOnly(t, trespasses(t, planted("log/x.go", "package p\ntype t int\nfunc (t) init() {}\n"), rules), "")
}

// readFences takes the rules out of .golangci.yml.
func readFences(t *testing.T, tree fs.FS) (rules fences) {
	t.Helper()
	text, err := fs.ReadFile(tree, ".golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\{pattern: '(.*)', msg: "(.*)"\}`).FindAllStringSubmatch(string(text), -1) {
		rules.forbidden = append(rules.forbidden, fence{regexp.MustCompile(m[1]), m[2]})
	}
	for _, m := range regexp.MustCompile(`\{path: '(\^.*/)', linters: \[forbidigo\](, text: "fsio")?\}`).FindAllStringSubmatch(string(text), -1) {
		if m[2] != "" {
			rules.files = regexp.MustCompile(m[1])
		} else {
			rules.anything = regexp.MustCompile(m[1])
		}
	}
	if len(rules.forbidden) != 2 || rules.files == nil || rules.anything == nil {
		t.Fatalf("the rules of forbidigo in .golangci.yml = %v, want two and two exceptions", rules)
	}
	return rules
}

// trespasses returns the complaints about the files in tree.
func trespasses(t *testing.T, tree fs.FS, rules fences) (complaints []string) {
	t.Helper()
	for _, s := range sources(t, tree) {
		packages := s.packages()
		if packages["unsafe"] != "" && !s.below("fsio") {
			complaints = append(complaints, s.name+": imports unsafe, which only fsio may")
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			complaint := trespass(s, packages, rules, n)
			if complaint != "" && !s.excused(n) {
				complaints = append(complaints, fmt.Sprintf("%s:%d: %s", s.name, s.line(n.Pos()), complaint))
			}
			return true
		})
	}
	return complaints
}

// excused reports whether the line of n has a reason for forbidigo to look away.
func (s source) excused(n ast.Node) bool {
	line := strings.Split(s.text, "\n")[s.line(n.Pos())-1]
	return strings.Contains(line, "//nolint:forbidigo // ")
}

// trespass says what is wrong with a node, or nothing.
func trespass(s source, packages map[string]string, rules fences, n ast.Node) string {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Name.Name == "init" && n.Recv == nil {
			return "init function"
		}
	case *ast.GoStmt:
		return startsGoroutine(s)
	case *ast.CallExpr:
		return badCall(s, packages, n)
	case *ast.SelectorExpr:
		return badName(s, packages, rules, n)
	}
	return ""
}

// startsGoroutine complains about a goroutine in s.
func startsGoroutine(s source) string {
	if s.isTest() || s.below(threads...) {
		return ""
	}
	return "starts a goroutine, which goes through scheduler"
}

// badCall complains about calls of Go methods, as sync.WaitGroup has one, and about system calls.
func badCall(s source, packages map[string]string, call *ast.CallExpr) string {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if selector.Sel.Name == "Go" {
		return startsGoroutine(s)
	}
	of := packageOf(packages, selector)
	system := of == "syscall" || strings.HasPrefix(of, "golang.org/x/sys/")
	if system && selector.Sel.Name != "Errno" && !s.isTest() && !s.below("fsio") {
		return fmt.Sprintf("%s.%s: system calls go through fsio", selector.X, selector.Sel.Name)
	}
	return ""
}

// badName complains about what forbidigo forbids, and about tests that sleep in real time.
func badName(s source, packages map[string]string, rules fences, selector *ast.SelectorExpr) string {
	name := packageOf(packages, selector) + "." + selector.Sel.Name
	if s.isTest() {
		if name == "time.Sleep" && packages["synctest"] != "testing/synctest" {
			return "a test sleeps"
		}
		return ""
	}
	if rules.anything.MatchString(s.name) {
		return ""
	}
	for _, rule := range rules.forbidden {
		if !rule.names.MatchString(name) || strings.Contains(rule.why, "fsio") && rules.files.MatchString(s.name) {
			continue
		}
		return name + ": " + rule.why
	}
	return ""
}

// packageOf is the path of the package that a selector selects from, or nothing.
func packageOf(packages map[string]string, selector *ast.SelectorExpr) string {
	if name, ok := selector.X.(*ast.Ident); ok {
		return packages[name.Name]
	}
	return ""
}
