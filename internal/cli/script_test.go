package cli_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stratalog/strata/internal/cli"
	"github.com/stratalog/strata/internal/fixture"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"strata": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs testdata/script: each is a story of what somebody types, and what comes of it.
//
//   - `golden NAME` unpacks a golden case into the working directory, as data/ and expected/.
//   - `status N COMMAND…` runs a command that has to exit with N.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"golden": func(ts *testscript.TestScript, _ bool, args []string) {
				dir := fixture.Golden(t, args[0])
				ts.Check(os.CopyFS(ts.Getenv("WORK"), os.DirFS(dir)))
			},
			"status": status,
			"cut":    cut,
		},
	})
}

// status runs a command and compares its exit status.
func status(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// cut takes so many bytes from the end of a file.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	name := filepath.Join(ts.Getenv("WORK"), args[0])
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	info, err := os.Stat(name)
	ts.Check(err)
	ts.Check(os.Truncate(name, info.Size()-n))
}
