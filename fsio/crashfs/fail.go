package crashfs

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stratalog/strata/fsio"
)

// site is the call that is failed, and with which of the errors.
type site struct {
	n       int // of the calls of some kinds, from 1
	forever bool
	err     int
}

// String is the beginning of the ids of its images: "3:once:0/".
func (s site) String() string {
	return fmt.Sprintf("%d:%s:%d/", s.n, map[bool]string{false: "once", true: "forever"}[s.forever], s.err)
}

// cutSite splits the id of an image of FailEverywhere.
func cutSite(id string) (s site, rest string, ok bool) {
	name, rest, _ := strings.Cut(id, "/")
	var word string
	if _, err := fmt.Sscanf(strings.ReplaceAll(name, ":", " "), "%d %s %d", &s.n, &word, &s.err); err != nil {
		return site{}, "", false
	}
	s.forever = word == "forever"
	return s, rest, s.String() == name+"/"
}

// breakpoint fails the call of a site.
type breakpoint struct {
	site
	kinds fsio.Kind
	err   error

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

// failed is the call that failed; ok is false where the workload made no n-th.
func (b *breakpoint) failed() (op fsio.Op, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.op, b.calls >= b.n
}

// where says which call failed, for people. A nil breakpoint fails none.
func (b *breakpoint) where() string {
	if b == nil {
		return ""
	}
	op, ok := b.failed()
	if !ok {
		return ""
	}
	later := ""
	if b.forever {
		later = " and all later ones"
	}
	return fmt.Sprintf(" where call %d, %s of %s,%s failed with %q", b.n, op.Kind, op.Path, later, b.err)
}

// failing is a FailEverywhere.
type failing struct {
	*explorer
	tb       testing.TB
	kinds    fsio.Kind
	errs     []error
	workload func(tb testing.TB, fsys *FS) error
	check    func(tb testing.TB, image *FS, h History, failed fsio.Op) error
}

// all fails every call.
func (x *failing) all() {
	x.tb.Helper()
	if !x.steady() {
		return
	}
	for n := 1; ; n++ {
		for i := range x.errs {
			for _, forever := range []bool{false, true} {
				if !x.fail(site{n, forever, i}, x.last) || x.over {
					return
				}
			}
		}
	}
}

// steady reports whether the workload does the same twice where nothing fails. Otherwise no number names a call.
func (x *failing) steady() bool {
	x.tb.Helper()
	fsys, v := x.run(x.tb, x.workload, x.cfg.faults(), nil)
	if v.how == hung {
		x.tb.Errorf("crashfs: the workload did not return; it was at step %d%s\n%v", fsys.Step(), fsys.lastEvent(), v.err)
		return false
	}
	if v.how == flooded {
		x.tb.Errorf("crashfs: the workload %s at step %d: %v", v.how, fsys.Step(), v.err)
		return false
	}
	if v.how == skipped {
		x.tb.Skipf("crashfs: the workload was skipped at step %d: %v", fsys.Step(), v.err)
	}
	differs := x.repeat(x.tb, &recording{fs: fsys, workload: x.workload}, x.cfg.faults())
	if differs != "" {
		x.tb.Errorf("crashfs: the workload is not deterministic: %s", differs)
	}
	return differs == ""
}

// replay runs the image that the environment names.
func (x *failing) replay() {
	x.tb.Helper()
	s, rest, ok := cutSite(x.only)
	if !ok {
		if _, err := ParseCrashID(x.only); err != nil {
			x.tb.Error(err)
			return
		}
		x.tb.Logf("crashfs: CRASHFS_REPLAY=%s is an image of CrashEverywhere: nothing was failed", x.only)
		return
	}
	id, err := ParseCrashID(rest)
	switch {
	case err != nil:
		x.tb.Error(err)
	case s.n < 1 || s.err < 0 || s.err >= len(x.errs):
		x.tb.Errorf("crashfs: image %s: there are errors 0 to %d, for calls from 1", x.only, len(x.errs)-1)
	case !x.fail(s, func(run *recording) { x.replayLast(run, id) }) && !x.over && !x.tb.Failed():
		x.tb.Errorf("crashfs: image %s: the workload makes no call %d", x.only, s.n)
	}
}

// fail makes one run, and has what it left judged. It is false where the workload made no such call, or did not
// return.
func (x *failing) fail(s site, judge func(run *recording)) bool {
	x.tb.Helper()
	b := &breakpoint{site: s, kinds: x.kinds, err: x.errs[s.err]}
	run := x.record(x.tb, x.workload, append(x.cfg.faults(), b.intercept), b)
	if run == nil {
		return false
	}
	op, ok := b.failed()
	if !ok {
		if s.n == 1 && !x.replaying() {
			x.tb.Errorf("crashfs: the workload makes no call of %v: nothing was failed", x.kinds)
		}
		return false
	}
	run.check = func(tb testing.TB, image *FS, h History) error { return x.check(tb, image, h, op) }
	failures := x.report.Failures
	x.failed, x.seen = nil, map[state]bool{}
	judge(run)
	if f := x.hung; f != nil {
		x.tb.Errorf("crashfs: check did not return on an image%s, and the exploration ended there\n%s\n%v",
			b.where(), rerun(x.tb, s.String()+f.id.String()), f.err)
	}
	if x.failed != nil {
		again := &breakpoint{site: s, kinds: x.kinds, err: b.err}
		note := x.reduce(x.tb, run, x.failed, append(x.cfg.faults(), again.intercept))
		x.tb.Errorf("crashfs: check %s%s: %v\n%s\n%s%s",
			x.failed.how, b.where(), x.failed.err, x.failed.lost(), rerun(x.tb, s.String()+x.failed.id.String()), note)
	}
	if first := cmp.Or(x.failed, x.hung); first != nil && failures == 0 {
		x.report.First = first.id
	}
	return true
}

// last has the final state and its images checked.
func (x *explorer) last(run *recording) {
	events := run.fs.disk.journal()
	x.judge(run, Kill, []*sample{asItIs(run)}, nil, false)
	for _, p := range x.cfg.Policies {
		if x.over {
			return
		}
		c := newCursor(run.fs.disk.o, run.fs.disk.base, p)
		c.advance(events, len(events))
		before := x.report.Images
		x.judge(run, p, x.step(c, nil, nil), nil, x.cfg.Depth == 2)
		x.report.PerPolicy[p.Name] += x.report.Images - before
	}
}

// asItIs is the FS as the next process finds it: with all that the system has in its cache, whether the
// disk has it or not.
func asItIs(run *recording) *sample {
	end := run.fs.Step()
	c := newCursor(run.fs.disk.o, run.fs.disk.base, Kill)
	c.advance(run.fs.disk.journal(), int(end))
	return &sample{id: idAsItIs(end), image: run.fs.snapshot(), history: c.history()}
}

// choiceNow is the Choice of what is no image of a crash.
const choiceNow = "now"

func idAsItIs(step uint64) CrashID { return CrashID{Policy: Kill.Name, Step: step, Choice: choiceNow} }

// replayLast has the image id of a run checked.
func (x *explorer) replayLast(run *recording, id CrashID) {
	run.tb.Helper()
	s, err := x.again(run, id)
	if err != nil {
		run.tb.Error(err)
		return
	}
	if s.err != nil {
		x.report.Failures++
		x.failed = &failure{sample: *s}
		x.failed.id = id
	}
}
