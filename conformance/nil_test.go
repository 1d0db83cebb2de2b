package conformance_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/conformance"
)

// nilSuites are the suites without what they are to check, and what that is.
var nilSuites = map[string]struct {
	run  func(t *testing.T)
	what string
}{
	"fs":          {func(t *testing.T) { conformance.TestFS(t, nil, nil) }, "newFS"},
	"codec":       {func(t *testing.T) { conformance.TestCodec(t, nil, nil) }, "the Codec"},
	"compressor":  {func(t *testing.T) { conformance.TestCompressor(t, nil, nil) }, "the Compressor"},
	"index":       {func(t *testing.T) { conformance.TestIndex(t, mem, nil, nil) }, "open"},
	"index fs":    {func(t *testing.T) { conformance.TestIndex(t, nil, nil, nil) }, "newFS"},
	"message set": {func(t *testing.T) { conformance.TestMessageSet(t, mem, nil, nil) }, "open"},
	"scheduler":   {func(t *testing.T) { conformance.TestScheduler(t, nil, nil) }, "newS"},
}

// TestNil gives the suites nothing to check: each fails once, and says what is missing. They run in a process of
// their own, since what fails in a subtest fails the test.
func TestNil(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, suite := range nilSuites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(self, "-test.run=^TestNilSuite$")
			cmd.Env = append(os.Environ(), nilSuiteVar+"="+name)
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			assert.Regexp(t, `^--- FAIL: TestNilSuite .*\n    nil_test\.go:\d+: `+suite.what+" is nil: .*\nFAIL\n", string(out))
		})
	}
}

// nilSuiteVar names the suite that TestNilSuite is to run.
const nilSuiteVar = "CONFORMANCE_NIL_SUITE"

// TestNilSuite is what TestNil runs.
func TestNilSuite(t *testing.T) {
	suite, ok := nilSuites[os.Getenv(nilSuiteVar)]
	if !ok {
		t.Skip("it is run by TestNil")
	}
	suite.run(t)
}
