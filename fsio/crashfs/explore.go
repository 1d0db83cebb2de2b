package crashfs

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/scheduler"
)

// explorer builds images, and has them checked.
type explorer struct {
	cfg    *Config
	seed   uint64
	only   string // what CRASHFS_REPLAY says
	clock  scheduler.Clock
	began  time.Time
	seen   map[state]bool // the states that were checked; true: their recovery was crashed, too
	report Report
	failed *failure // the first
}

// state is what tells images apart that a check may tell apart.
type state struct {
	sum                      uint64
	acks, notes, unprotected int
}

// sample is an image that is to be checked.
type sample struct {
	id      CrashID
	image   *image
	history History

	fs    *FS // on which check ran, where its recovery is to be crashed
	err   error
	panic bool
}

// failure is a sample that check did not like.
type failure struct {
	sample
	loss []string // what it is without, for people
}

// recording is a workload, what it did, and who judges it.
type recording struct {
	fs       *FS
	workload func(tb testing.TB, fsys *FS) error
	check    func(tb testing.TB, image *FS, h History) error
	tb       testing.TB
}

// explore begins an exploration. It fails tb, and is not ok, where cfg contradicts itself.
func explore(tb testing.TB, cfg *Config) (*explorer, bool) {
	tb.Helper()
	if cfg.Policies == nil {
		cfg.Policies = []Policy{Kill, Lost, Strict}
	}
	x := &explorer{
		cfg: cfg, seed: cfg.Seed, only: os.Getenv("CRASHFS_REPLAY"), clock: scheduler.System(), seen: map[state]bool{},
		report: Report{PerPolicy: map[string]int{}},
	}
	x.began = x.clock.Now()
	if x.seed == 0 {
		x.seed = 1
		if s := os.Getenv("CRASHFS_SEED"); s != "" {
			var err error
			if x.seed, err = strconv.ParseUint(s, 10, 64); err != nil {
				tb.Errorf("crashfs: CRASHFS_SEED: %v", err)
				return x, false
			}
		}
	}
	if err := cfg.check(); err != nil {
		tb.Error(err)
		return x, false
	}
	return x, true
}

func (x *explorer) replaying() bool { return x.only != "" }

// record runs workload. A panic is its end; both it and an error fail tb where no faults are to be blamed,
// and the recording is nil then.
func (x *explorer) record(tb testing.TB, workload func(tb testing.TB, fsys *FS) error, faults []fsio.Interceptor) *recording {
	tb.Helper()
	opts := slices.Clone(x.cfg.Options)
	for _, i := range faults {
		opts = append(opts, WithInterceptor(i))
	}
	fsys := New(opts...)
	if fsys.disk.o.bare {
		tb.Error("crashfs: WithoutJournal leaves no image but one: nothing can be explored")
		return nil
	}
	err, panicked := attempt(tb, func(tb testing.TB) error { return workload(tb, fsys) })
	if err != nil && len(faults) == 0 {
		what := "failed"
		if panicked {
			what = "panicked"
		}
		tb.Errorf("crashfs: the workload %s at step %d: %v", what, fsys.Step(), err)
		return nil
	}
	x.report.Steps += int(fsys.Step())
	return &recording{fs: fsys, workload: workload, tb: tb}
}

// repeat runs the workload once more, and says how its journal differs.
func (x *explorer) repeat(tb testing.TB, run *recording) string {
	again := New(append(slices.Clone(x.cfg.Options), interceptors(x.cfg.faults())...)...)
	_, _ = attempt(tb, func(tb testing.TB) error { return run.workload(tb, again) }) // it is judged by its journal
	return differs(run.fs.disk.journal(), again.disk.journal())
}

func interceptors(is []fsio.Interceptor) (opts []Option) {
	for _, i := range is {
		opts = append(opts, WithInterceptor(i))
	}
	return opts
}

// differs says where two journals part, or nothing.
func differs(a, b []event) string {
	for i := range min(len(a), len(b)) {
		if x, y := a[i].String(), b[i].String(); x != y {
			return fmt.Sprintf("step %d was %q, and is %q in a second run", i+1, x, y)
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("it made %d steps, and %d in a second run", len(a), len(b))
	}
	return ""
}

// batchSize is how many images are built before they are checked in parallel.
const batchSize = 512

// all explores every step by every policy.
func (x *explorer) all(run *recording) {
	for i := range x.cfg.Policies {
		before := x.report.Images
		x.steps(run, x.cfg.Policies[i], nil, x.cfg.Depth == 2)
		x.report.PerPolicy[x.cfg.Policies[i].Name] += x.report.Images - before
	}
}

// steps explores the steps of one journal. outer is the sample whose recovery it is, or nil.
func (x *explorer) steps(run *recording, policy Policy, outer *sample, crashAgain bool) {
	d := run.fs.disk
	if outer != nil {
		d = outer.fs.disk
	}
	events := d.journal()
	c := newCursor(d.o, d.base, policy)
	var batch []*sample
	for step := 0; step <= len(events); step++ {
		c.advance(events, step)
		if n := policy.EveryNth; n > 1 && step%n != 0 && step != len(events) {
			continue
		}
		batch = x.step(c, outer, batch)
		if len(batch) >= batchSize {
			x.judge(run, policy, batch, outer, crashAgain)
			batch = batch[:0]
		}
	}
	x.judge(run, policy, batch, outer, crashAgain)
}

// step adds to batch the images of one step that were not seen yet.
func (x *explorer) step(c *cursor, outer *sample, batch []*sample) []*sample {
	c.plan.make()
	history := c.history()
	if outer != nil {
		history = outer.history
	}
	k := c.plan.newPick()
	late := x.cfg.Budget > 0 && x.clock.Now().Sub(x.began) > x.cfg.Budget
	for choice, seed := range c.plan.choices(x.seed) {
		if late && choice.how == drawn {
			break
		}
		if err := c.plan.set(k, choice, seed); err != nil {
			panic(err) // choices yields what set reads
		}
		x.report.Images++
		if x.repeated(c.plan.sum(k), &history, outer != nil) {
			continue
		}
		id := CrashID{Policy: c.policy.Name, Step: uint64(c.step), Choice: choice.String(), Seed: seed}
		batch = append(batch, &sample{id: within(outer, id), image: c.plan.image(k), history: history})
	}
	return batch
}

// within is the id of an image that a crash of outer's recovery left.
func within(outer *sample, id CrashID) CrashID {
	if outer == nil {
		return id
	}
	full := outer.id
	full.Inner = &id
	return full
}

// repeated reports whether such an image was checked already, and notes that it is now.
func (x *explorer) repeated(sum uint64, h *History, inner bool) bool {
	if x.cfg.Repeats {
		return false
	}
	s := state{sum: sum, acks: len(h.Acks), notes: len(h.Notes), unprotected: len(h.Unprotected)}
	whole, ok := x.seen[s]
	if ok && (inner || whole) {
		return true
	}
	x.seen[s] = !inner
	return false
}

// judge has a batch checked, in parallel, and crashes the recoveries.
func (x *explorer) judge(run *recording, policy Policy, batch []*sample, outer *sample, crashAgain bool) {
	workers := x.cfg.Parallel
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	_ = scheduler.Each(context.Background(), workers, len(batch), func(_ context.Context, i int) error {
		x.try(run, batch[i])
		return nil
	})
	x.report.Unique += len(batch)
	if outer != nil {
		x.report.Nested += len(batch)
	}
	for _, s := range batch {
		if s.err == nil {
			continue
		}
		x.report.Failures++
		if x.failed == nil {
			x.failed = &failure{sample: *s}
		}
	}
	for _, s := range batch {
		if crashAgain && s.err == nil {
			x.steps(run, policy, s, false)
		}
		*s = sample{}
	}
}

// try has s checked.
func (x *explorer) try(run *recording, s *sample) {
	s.fs = newFS(run.fs.disk.o, s.image)
	s.err, s.panic = attempt(run.tb, func(tb testing.TB) error { return run.check(tb, s.fs, s.history) })
}

// finish is the report.
func (x *explorer) finish() Report {
	x.report.Elapsed = x.clock.Now().Sub(x.began)
	return x.report
}
