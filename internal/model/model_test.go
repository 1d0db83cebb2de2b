package model_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/internal/model"
	"github.com/stratalog/strata/internal/trace"
)

// number is the environment's, or otherwise.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

// TestScripts runs seeded scripts on the model and on a log of each composition, which must not differ. They
// are other ones for each, unless STRATA_SCRIPTS says how many each is to run, from the seed STRATA_SEED on.
func TestScripts(t *testing.T) {
	asked, first := number(t, "STRATA_SCRIPTS", 0), number(t, "STRATA_SEED", 0)
	compositions, err := trace.Compositions("os+mmap,os+file,mem+mmap,mem+file,os+mmapset")
	require.NoError(t, err)
	for i, c := range compositions {
		first, n := first, asked
		if asked == 0 {
			first, n = i*1000, usual(c)
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s, closeStore, err := c.Store(t.TempDir())
			require.NoError(t, err)
			differences := 0
			for seed := first; seed < first+n; seed++ {
				if !agrees(t, seed, model.Store{FS: withoutSync(s.FS), Parts: s.Parts}) {
					differences++
				}
			}
			assert.NoError(t, closeStore())
			if asked > 0 {
				fmt.Printf("RESULT scripts=%d differences=%d parts=%s\n", n, differences, c.Name)
			}
		})
	}
}

// usual is how many scripts a composition runs in a usual test: fewer on the disk, which they wait for.
func usual(c trace.Composition) int {
	n := 120
	if strings.HasPrefix(c.Name, "os") {
		n = 30
	}
	if testing.Short() {
		n /= 4
	}
	return n
}

// withoutSync leaves syncs out. No script cuts the power, and on a disk they would take most of the time.
func withoutSync(fsys fsio.FS) fsio.FS {
	syncs := fsio.OpSync | fsio.OpSyncDir | fsio.OpMapFlush
	return fsio.Intercept(fsys, func(op *fsio.Op, do func() error) error {
		if syncs.Has(op.Kind) {
			return nil
		}
		return do()
	})
}

// agrees runs a seed's script, and shrinks it where log and model differ.
func agrees(t *testing.T, seed int, s model.Store) bool {
	t.Helper()
	script := model.Script(uint64(seed))
	d, err := model.Run(t.Context(), script, s)
	require.NoError(t, err, "seed %d", seed)
	if d == nil {
		return true
	}
	short := model.Shrink(script, func(script []byte) bool {
		d, err := model.Run(t.Context(), script, s)
		return err == nil && d != nil
	})
	again, err := model.Run(t.Context(), short, s)
	require.NoError(t, err)
	t.Errorf("%s\nSTRATA_SCRIPTS=1 STRATA_SEED=%d repeats it. Shrunk:\n%s%s\n"+
		"To keep it, in testdata/fuzz/FuzzOps/NAME:\ngo test fuzz v1\n[]byte(%q)", d, seed, model.Text(short), again, short)
	return false
}

// FuzzOps runs scripts that the fuzzer finds. The seeds in testdata are those that found the planted bugs, shrunk,
// and a few as long as they come.
func FuzzOps(f *testing.F) {
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 500 {
			t.Skip("longer than a script that finds something")
		}
		d, err := model.Run(t.Context(), script, model.Store{FS: aferofs.Mem()})
		require.NoError(t, err)
		if d != nil {
			t.Errorf("%s\n%s", model.Text(script), d)
		}
	})
}
