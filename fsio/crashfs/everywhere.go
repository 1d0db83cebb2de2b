package crashfs

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stratalog/strata/fsio"
)

// Config is what CrashEverywhere, FailEverywhere and Replay are to do. The zero value is good.
type Config struct {
	Policies []Policy                // none means Kill, Lost and Strict
	Options  []Option                // of the FS that the workload runs on
	Faults   func() fsio.Interceptor // makes the faults of one run; nil, also of what it returns, means none
	Seed     uint64                  // 0 means the environment's CRASHFS_SEED, or 1
	Budget   time.Duration           // stop drawing images then; systematic ones are always built; 0 means no limit
	Limit    time.Duration           // of one call of a workload or a check; 0 means five minutes, negative none
	Steps    int                     // that one call may make; 0 means 1,048,576
	Depth    int                     // 2 crashes the recovery of each image, too; 0 means 1
	Parallel int                     // checks that run at a time; 0 means as many as there are processors
	Repeats  bool                    // also check images whose content and History were checked already
}

// Report counts what was done. A caller that counts on coverage asserts it.
type Report struct {
	Steps     int // events of the journal, each a crash point
	Images    int // built
	Unique    int // of those checked, without repeats
	Nested    int // of those, in crashes of a recovery
	Failures  int
	First     CrashID // of the first failure, reduced
	PerPolicy map[string]int
	Elapsed   time.Duration
}

// CrashEverywhere runs workload once, builds the crash images of every step of its journal, and gives each
// to check.
//
// check opens what is in image and compares it with h: all of h.Acks must be there, and nothing that was
// never written. With Depth 2 check's own run is recorded and crashed in the same way, against the same h:
// recovery must be idempotent.
//
// An error of check fails tb, and so do a panic of it, and a skip. It is printed with the lost effects, reduced
// to the fewest that still fail ("lost: rename p-0/0.log.cleaned → p-0/0.log.swap (step 457)"), and with the
// command that runs that image only, by its CrashID: CRASHFS_REPLAY=id go test -run … . Then workload is run
// once more, and so is check: if the one writes another journal, or the other does not fail, the failure cannot
// be replayed, and that is said, too. An error of workload fails tb, and so does a panic, unless Faults are set:
// then only a panic of the Go runtime does, such as that of an index out of range. A workload that is skipped
// skips tb.
//
// A call of workload or check that takes longer than Config.Limit fails tb, with the image or the step, and the
// stacks of all goroutines. It is left behind, on a filesystem that no longer changes, and the exploration ends.
// One that makes more than Config.Steps changes, or writes more than a GiB, gets fsio.ErrPowerOff from then on, and
// fails: so an endless loop that writes is told before it has taken all memory.
//
// check may be called concurrently. Each call of workload and check has a goroutine and a tb of its own. What
// is said there is said of that call, and printed if it fails; what the last run of a workload said is logged,
// too. Its Cleanup is done at the end of the call.
func CrashEverywhere(tb testing.TB, cfg Config,
	workload func(tb testing.TB, fsys *FS) error,
	check func(tb testing.TB, image *FS, h History) error,
) Report {
	tb.Helper()
	x, ok := explore(tb, &cfg, workload != nil, check != nil)
	if !ok {
		return x.report
	}
	run := x.record(tb, workload, cfg.faults(), nil)
	if run == nil {
		return x.report
	}
	run.check = check
	if x.replaying() {
		x.replay(tb, run)
	} else {
		x.all(run)
		x.tell(tb, run)
	}
	return x.finish()
}

// FailEverywhere runs workload twice for each of its calls of the given kinds and each of errs: in one run
// that call fails with the error, in the other it and every later one of those kinds. It then gives to
// check the FS as it is, free of faults and locks, and each of its crash images, with the call that failed.
//
// It ends at the first n for which the workload makes no n-th call; one that makes none at all fails tb. errs of nil means syscall.EIO and
// syscall.ENOSPC. The error that workload returns is not judged: check decides. Judged are a panic of the Go
// runtime, and a call of workload that does not return (Config.Limit): it tries the failed call for ever, it
// seems.
//
// At first workload is run twice without a failed call, and must do the same both times.
//
// A failure is printed like those of CrashEverywhere, its id being that of an image after the last step,
// behind the number of the failed call: CRASHFS_REPLAY takes that, too.
func FailEverywhere(tb testing.TB, cfg Config, kinds fsio.Kind, errs []error,
	workload func(tb testing.TB, fsys *FS) error,
	check func(tb testing.TB, image *FS, h History, failed fsio.Op) error,
) Report {
	tb.Helper()
	if errs == nil {
		errs = []error{syscall.EIO, syscall.ENOSPC}
	}
	x, ok := explore(tb, &cfg, workload != nil, check != nil)
	if !ok {
		return x.report
	}
	switch {
	case kinds&fsio.All == 0:
		tb.Error("crashfs: no kind of call is to be failed")
		return x.report
	case len(errs) == 0 || slices.Contains(errs, nil):
		tb.Errorf("crashfs: calls cannot be failed with the errors %v", errs)
		return x.report
	}
	f := &failing{explorer: x, tb: tb, kinds: kinds, errs: errs, workload: workload, check: check}
	if x.replaying() {
		f.replay()
	} else {
		f.all()
	}
	return x.finish()
}

// Replay runs workload and builds the image named by id, for a look at it.
//
// An id that the journal does not have fails tb, and so does a workload that writes another journal when it
// is run again.
func Replay(tb testing.TB, cfg Config, id CrashID, workload func(tb testing.TB, fsys *FS) error) (*FS, History) {
	tb.Helper()
	x, ok := explore(tb, &cfg, workload != nil, true)
	if !ok {
		tb.FailNow()
	}
	if id.Inner != nil {
		tb.Fatalf("crashfs: %s is an image of a recovery, which check makes: set CRASHFS_REPLAY and run CrashEverywhere", id)
	}
	run := x.record(tb, workload, cfg.faults(), nil)
	if run == nil {
		tb.FailNow()
	}
	if differs := x.repeat(tb, run, cfg.faults()); differs != "" {
		tb.Fatalf("crashfs: the workload is not deterministic: %s", differs)
	}
	s, err := x.build(run.fs.disk, id)
	if err != nil {
		tb.Fatal(err)
	}
	return newFS(run.fs.disk.o, s.image), s.history
}

// faults makes the interceptors of a run.
func (cfg *Config) faults() []fsio.Interceptor {
	if cfg.Faults == nil {
		return nil
	}
	if faults := cfg.Faults(); faults != nil {
		return []fsio.Interceptor{faults}
	}
	return nil
}

// check is nil where cfg can be done.
func (cfg *Config) check() error {
	names := map[string]bool{}
	for i := range cfg.Policies {
		p := &cfg.Policies[i]
		err := p.check()
		if p.Name == "" {
			err = errors.New("it has no name")
		}
		if err != nil {
			return fmt.Errorf("crashfs: policy %q: %w", p.Name, err)
		}
		if names[p.Name] {
			return fmt.Errorf("crashfs: two policies are named %q, so that no id could tell them apart", p.Name)
		}
		names[p.Name] = true
	}
	if cfg.Steps < 0 {
		return fmt.Errorf("crashfs: %d steps are none", cfg.Steps)
	}
	if cfg.Depth < 0 || cfg.Depth > 2 {
		return fmt.Errorf("crashfs: depth %d, want 1 or 2", cfg.Depth)
	}
	return nil
}
