package log_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/crashfs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// TestFailAnywhere fails each call that changes something, once and for ever, goes on, and holds every image
// of what is left then against what was acknowledged.
func TestFailAnywhere(t *testing.T) {
	parts := segment.Parts{OpenIndex: index.OpenFile}
	strict := crashfs.Strict
	strict.ExhaustUpTo, strict.Random = 0, 2
	var errs []error
	if powerDepth() == 1 {
		strict.Systematic, errs = false, []error{syscall.EIO}
	}
	var total crashfs.Report
	for _, row := range powerCuts {
		t.Run(row.name, func(t *testing.T) {
			if testing.Short() && row.name != "append and sync" {
				t.Skip("not in short mode")
			}
			report := crashfs.FailEverywhere(t, crashfs.Config{Policies: []crashfs.Policy{crashfs.Lost, strict}}, fsio.Mutates, errs,
				func(_ testing.TB, fsys *crashfs.FS) error {
					l, err := openPowered(fsys, parts)
					if err != nil {
						return err
					}
					return row.run(&powered{Log: l, fsys: fsys, parts: parts})
				},
				func(_ testing.TB, image *crashfs.FS, h crashfs.History, _ fsio.Op) error {
					return judge(image, parts, h, false)
				})
			total.Unique += report.Unique
			total.Failures += report.Failures
		})
	}
	fmt.Printf("RESULT log failed_calls images=%d failures=%d\n", total.Unique, total.Failures)
}
