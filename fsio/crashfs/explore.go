package crashfs

import (
	"context"
	"errors"
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
	hung   *failure // the one that did not return, if any
	over   bool     // a call was left behind: no other is made, each could take as long
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

	fs *FS // on which check ran, where its recovery is to be crashed
	verdict
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

// explore begins an exploration. It fails tb, and is not ok, where cfg contradicts itself, or a function is missing.
func explore(tb testing.TB, cfg *Config, hasWorkload, hasCheck bool) (*explorer, bool) {
	tb.Helper()
	if len(cfg.Policies) == 0 {
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
	if cfg.Limit == 0 {
		cfg.Limit = 5 * time.Minute
	}
	if cfg.Steps == 0 {
		cfg.Steps = 1 << 20
	}
	err := cfg.check()
	switch {
	case !hasWorkload:
		err = errors.New("crashfs: there is no workload")
	case !hasCheck:
		err = errors.New("crashfs: there is no check")
	}
	if err != nil {
		tb.Error(err)
	}
	return x, err == nil
}

func (x *explorer) replaying() bool { return x.only != "" }

// record runs workload, and returns nil where there is nothing to explore: tb is told why. An error, and a
// panic that is none of the Go runtime's, may be what faults were to lead to: they are not judged then. b is the
// fault of a FailEverywhere, or nil.
func (x *explorer) record(tb testing.TB, workload func(tb testing.TB, fsys *FS) error, faults []fsio.Interceptor, b *breakpoint) *recording {
	tb.Helper()
	fsys, v := x.run(tb, workload, faults, tb.Log)
	again := ""
	if b != nil {
		again = "\n" + rerun(tb, b.site.String()+idAsItIs(fsys.Step()).String())
	}
	switch {
	case fsys.disk.o.bare:
		tb.Error("crashfs: WithoutJournal leaves no image but one: nothing can be explored")
		return nil
	case v.how == hung:
		x.over = true
		tb.Errorf("crashfs: the workload did not return%s; it was at step %d%s%s\n%v", b.where(), fsys.Step(), fsys.lastEvent(), again, v.err)
		return nil
	case v.how == skipped && b == nil:
		tb.Skipf("crashfs: the workload was skipped at step %d: %v", fsys.Step(), v.err)
	case v.err == nil:
	case len(faults) == 0, v.how == flooded:
		tb.Errorf("crashfs: the workload %s%s at step %d: %v", v.how, b.where(), fsys.Step(), v.err)
		return nil
	case v.slip():
		tb.Errorf("crashfs: the workload %s%s at step %d%s\n%v", v.how, b.where(), fsys.Step(), again, v.err)
	}
	x.report.Steps += int(fsys.Step())
	return &recording{fs: fsys, workload: workload, tb: tb}
}

// run runs workload once. What it said goes to log; where that is nil, to nobody.
func (x *explorer) run(tb testing.TB, workload func(tb testing.TB, fsys *FS) error, faults []fsio.Interceptor, log func(...any)) (*FS, verdict) {
	fsys := New(append(slices.Clone(x.cfg.Options), interceptors(faults)...)...)
	v := x.attempt(tb, fsys, func(tb testing.TB) error { return workload(tb, fsys) })
	if log != nil && v.err == nil && v.said != "" {
		log(v.said)
	}
	return fsys, v
}

// lastEvent is ", after "sync of inode 3"", for people.
func (f *FS) lastEvent() string {
	events := f.disk.journal()
	if len(events) == 0 {
		return ""
	}
	return fmt.Sprintf(", after %q", events[len(events)-1].String())
}

// repeat runs the workload once more, and says how its journal differs.
func (x *explorer) repeat(tb testing.TB, run *recording, faults []fsio.Interceptor) string {
	again, v := x.run(tb, run.workload, faults, nil)
	if v.how == hung { // otherwise it is judged by its journal
		return fmt.Sprintf("a second run did not return within %v", x.cfg.Limit)
	}
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
		if x.over {
			return
		}
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
		if x.over {
			return
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

// judge has a batch checked, in parallel, and crashes the recoveries. A check that does not return is the last
// one.
func (x *explorer) judge(run *recording, policy Policy, batch []*sample, outer *sample, crashAgain bool) {
	workers := x.cfg.Parallel
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	x.over = scheduler.Each(context.Background(), workers, len(batch), func(_ context.Context, i int) error {
		x.try(run, batch[i])
		if batch[i].how == hung {
			return errHung
		}
		return nil
	}) != nil
	for _, s := range batch {
		if s.fs == nil { // its turn did not come
			continue
		}
		x.report.Unique++
		if outer != nil {
			x.report.Nested++
		}
		if s.err == nil {
			continue
		}
		x.report.Failures++
		switch {
		case s.how == hung:
			x.hung = &failure{sample: *s}
		case x.failed == nil:
			x.failed = &failure{sample: *s}
		}
	}
	for _, s := range batch {
		if crashAgain && !x.over && s.err == nil {
			x.steps(run, policy, s, false)
		}
		*s = sample{}
	}
}

// errHung ends a batch.
var errHung = errors.New("a check did not return")

// try has s checked.
func (x *explorer) try(run *recording, s *sample) {
	fsys, history := newFS(run.fs.disk.o, s.image), s.history // s is no business of who is left behind
	s.fs = fsys
	s.verdict = x.attempt(run.tb, fsys, func(tb testing.TB) error { return run.check(tb, fsys, history) })
}

// attempt calls f, which works on fsys, within the limits.
func (x *explorer) attempt(tb testing.TB, fsys *FS, f func(tb testing.TB) error) verdict {
	fsys.disk.limit(x.cfg.Steps)
	v := attempt(tb, x.cfg.Limit, f)
	if v.how == hung {
		fsys.disk.switchOff()
	} else if err := fsys.disk.flood(); err != nil {
		v.how, v.err = flooded, errors.Join(err, v.err)
	}
	return v
}

// finish is the report.
func (x *explorer) finish() Report {
	x.report.Elapsed = x.clock.Now().Sub(x.began)
	return x.report
}
