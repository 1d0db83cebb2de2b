package crashfs

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stratalog/strata/fsio"
)

// breakpoint fails the n-th call of some kinds.
type breakpoint struct {
	kinds   fsio.Kind
	n       int
	forever bool
	err     error

	mu    sync.Mutex
	calls int
	op    fsio.Op // the one that failed
}

// intercept is an fsio.Interceptor.
func (b *breakpoint) intercept(op *fsio.Op, do func() error) error {
	if b.kinds&op.Kind == 0 || !b.hit(op) {
		return do()
	}
	return b.err
}

func (b *breakpoint) hit(op *fsio.Op) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.calls == b.n {
		b.op = *op
		b.op.Data = nil // it is the caller's
	}
	return b.calls == b.n || b.forever && b.calls > b.n
}

// name is the beginning of the ids of its images: "3:once:0/".
func (b *breakpoint) name(errIndex int) string {
	return fmt.Sprintf("%d:%s:%d/", b.n, map[bool]string{false: "once", true: "forever"}[b.forever], errIndex)
}

// failEverywhere is FailEverywhere.
func failEverywhere(tb testing.TB, cfg *Config, kinds fsio.Kind, errs []error,
	workload func(tb testing.TB, fsys *FS) error,
	check func(tb testing.TB, image *FS, h History, failed fsio.Op) error,
) Report {
	tb.Helper()
	x, ok := explore(tb, cfg)
	if !ok {
		return x.report
	}
	replay := x.only
	for n := 1; ; n++ {
		for i, err := range errs {
			for _, forever := range []bool{false, true} {
				b := &breakpoint{kinds: kinds, n: n, forever: forever, err: err}
				id, mine := strings.CutPrefix(replay, b.name(i))
				if replay != "" && !mine {
					if n > callOf(replay) {
						return x.finish()
					}
					continue
				}
				x.only = id
				if !x.fail(tb, b, b.name(i), workload, check) {
					return x.finish()
				}
			}
		}
	}
}

// callOf is the number of the call in the id of an image of FailEverywhere; 0 where it is none.
func callOf(id string) int {
	number, _, _ := strings.Cut(id, ":")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n
}

// fail makes one run, and is false where the workload made no n-th call.
func (x *explorer) fail(tb testing.TB, b *breakpoint, name string,
	workload func(tb testing.TB, fsys *FS) error,
	check func(tb testing.TB, image *FS, h History, failed fsio.Op) error,
) bool {
	tb.Helper()
	run := x.record(tb, workload, append(x.cfg.faults(), b.intercept))
	if run == nil || b.calls < b.n {
		return false
	}
	run.workload = workload
	run.check = func(tb testing.TB, image *FS, h History) error { return check(tb, image, h, b.op) }
	failures := x.report.Failures
	x.failed, x.seen = nil, map[state]bool{}
	if x.replaying() {
		x.replayLast(tb, run)
	} else {
		x.last(run)
	}
	if x.failed == nil {
		return true
	}
	x.reduce(run, x.failed)
	if failures == 0 {
		x.report.First = x.failed.id
	}
	tb.Errorf("crashfs: check failed where call %d, %s of %s, failed with %q: %v\n%s\nCRASHFS_REPLAY=%s%s",
		b.n, b.op.Kind, b.op.Path, b.err, x.failed.err, strings.Join(x.failed.loss, "\n"), name, x.failed.id)
	return true
}

// last has the final state and its images checked.
func (x *explorer) last(run *recording) {
	end := run.fs.Step()
	events := run.fs.disk.journal()
	x.judge(run, Kill, []*sample{asItIs(run, end)}, nil, false)
	for _, p := range x.cfg.Policies {
		c := newCursor(run.fs.disk.o, run.fs.disk.base, p)
		c.advance(events, len(events))
		before := x.report.Images
		x.judge(run, p, x.step(c, nil, nil), nil, x.cfg.Depth == 2)
		x.report.PerPolicy[p.Name] += x.report.Images - before
	}
}

// asItIs is the FS as the next process finds it: with all that the system has in its cache, whether the
// disk has it or not.
func asItIs(run *recording, end uint64) *sample {
	c := newCursor(run.fs.disk.o, run.fs.disk.base, Kill)
	c.advance(run.fs.disk.journal(), int(end))
	return &sample{
		id:    CrashID{Policy: Kill.Name, Step: end, Choice: choiceNow},
		image: run.fs.snapshot(), history: c.history(),
	}
}

// choiceNow is the Choice of what is no image of a crash.
const choiceNow = "now"

// replayLast runs the image that the environment names.
func (x *explorer) replayLast(tb testing.TB, run *recording) {
	tb.Helper()
	id, err := ParseCrashID(x.only)
	if err != nil {
		tb.Error(err)
		return
	}
	s := asItIs(run, run.fs.Step())
	if id.Choice == choiceNow {
		x.try(run, s)
	} else if s, err = x.again(run, id); err != nil {
		tb.Error(err)
		return
	}
	if s.err != nil {
		x.report.Failures++
		x.failed = &failure{sample: *s}
		x.failed.id = id
	}
}
