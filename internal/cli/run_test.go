package cli_test

import (
	"strings"
	"testing"

	"github.com/stratalog/strata/internal/cli"
)

// result is what a run of the command did.
type result struct {
	status    int
	out, errs string
}

// run runs the command with args and standard input in.
func run(t *testing.T, in string, args ...string) result {
	t.Helper()
	var out, errs strings.Builder
	status := cli.Main(args, strings.NewReader(in), &out, &errs)
	return result{status, out.String(), errs.String()}
}
