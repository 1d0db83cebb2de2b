package faultfs_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/conformance"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/fsio/faultfs"
)

// newMem and newOS are the two filesystems that all faults are tried on.
func newMem(testing.TB) fsio.FS { return aferofs.Mem() }

func newOS(tb testing.TB) fsio.FS {
	tb.Helper()
	fsys, err := fsio.OS(tb.TempDir())
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, fsys.Close()) })
	return fsys
}

var filesystems = []struct {
	name  string
	newFS func(testing.TB) fsio.FS
}{{"mem", newMem}, {"os", newOS}}

// TestFS: without a rule that fires, a filesystem keeps its contract.
func TestFS(t *testing.T) {
	for _, fs := range filesystems {
		for name, rules := range map[string]func() []*faultfs.Rule{
			"no rules": func() []*faultfs.Rule { return nil },
			"rules that never fire": func() []*faultfs.Rule {
				return []*faultfs.Rule{
					faultfs.On(fsio.All).Path("no/such/name").Fail(syscall.EIO),
					faultfs.On(fsio.All).Prob(0).FlipBits(1),
					faultfs.On(fsio.Writes).AfterBytes(1 << 40).Drop(),
				}
			},
		} {
			t.Run(fs.name+" with "+name, func(t *testing.T) {
				conformance.TestFS(t, func(tb testing.TB) fsio.FS {
					return fsio.Intercept(fs.newFS(tb), faultfs.New(1, rules()...).Intercept)
				}, nil)
			})
		}
	}
}
