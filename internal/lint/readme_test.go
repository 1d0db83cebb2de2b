package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// block is a code block of a Markdown file.
type block struct {
	language string
	text     string
}

// blocks are the code blocks of a Markdown file.
func blocks(t *testing.T, file string) (all []block) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split("\n"+string(text), "\n```")
	for i := 1; i < len(parts); i += 2 {
		language, code, _ := strings.Cut(parts[i], "\n")
		all = append(all, block{language, code + "\n"})
	}
	return all
}

// TestReadme runs every code block of README.md: Go programs, and shell scripts with strata at hand. The one
// that sets everything up is what runs this test, so of it only the example is run, and CI must begin with
// its test command.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs: not with -short")
	}
	dir := t.TempDir()
	build(t, "../..", filepath.Join(dir, "strata"), "./cmd/strata")
	count := map[string]int{}
	for _, b := range blocks(t, "../../README.md") {
		count[b.language]++
		switch {
		case b.language == "go":
			runProgram(t, b.text)
		case b.language == "sh" && strings.Contains(b.text, "go test ./..."):
			checkSetUp(t, b.text)
		case b.language == "sh":
			runScript(t, dir, b.text)
		default:
			t.Errorf("a code block in %q, which no test runs", b.language)
		}
	}
	if count["go"] < 2 || count["sh"] < 2 {
		t.Errorf("found blocks %v, want two programs and two scripts at least", count)
	}
}

// build builds the command pkg of the module in dir.
func build(t *testing.T, dir, binary, pkg string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", binary, pkg)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v: %s", pkg, err, out)
	}
}

// runProgram runs a Go program in an empty directory.
func runProgram(t *testing.T, source string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	build(t, "../..", filepath.Join(dir, "program"), file)
	cmd := exec.Command(filepath.Join(dir, "program"))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 {
		t.Errorf("a program of README: %v, output %q\n%s", err, out, source)
	}
}

// runScript runs a shell script in an empty directory, with what is in bin on its path.
func runScript(t *testing.T, bin, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("a script of README: %v: %s\n%s", err, out, script)
	}
}

// checkSetUp checks the block with the two commands that do all the set-up.
func checkSetUp(t *testing.T, script string) {
	t.Helper()
	const want = "go run ./examples/quickstart\ngo test ./...\n"
	if script != want {
		t.Errorf("the set-up is %q, want %q", script, want)
	}
	ci, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"lane_test() { go test ./...; }", "lanes=(test quickstart "} {
		if !strings.Contains(string(ci), line) {
			t.Errorf(".ci/run has no line %q: it begins with README's commands", line)
		}
	}
}
