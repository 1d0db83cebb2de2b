package conformance

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stratalog/strata/scheduler"
)

// rowLimit is how long a row may take. The longest takes about a second: only what hangs comes to the limit, however
// busy the machine is.
const rowLimit = 5 * time.Minute

// lull is how long a call that has to wait is watched not returning. One that does not wait returns in a
// fraction of it.
const lull = 20 * time.Millisecond

// row is one rule of a contract, and what shows that a subject keeps it.
type row[S any] struct {
	name string
	rule string // a sentence of the contract, word for word
	run  func(c *check, subject S)
}

// runRows runs each row as a subtest on a subject of its own.
func runRows[S any](t *testing.T, rows []row[S], fresh func(testing.TB) S, skip Skip) {
	t.Helper()
	for name := range skip {
		if !slices.ContainsFunc(rows, func(r row[S]) bool { return r.name == name }) {
			t.Errorf("Skip names %q, which is no row", name)
		}
	}
	before := census()
	t.Cleanup(func() { before.compare(t) }) // when all rows are done
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if reason, ok := skip[r.name]; ok {
				t.Skip(reason)
			}
			r.try(fresh(t), &check{lull: lull}).report(t, r.rule)
		})
	}
}

// given ends the suite where it was not given what it is to check, rather than have each of its rows fail of that.
func given(t *testing.T, there bool, what string) {
	t.Helper()
	if !there {
		t.Fatalf("%s is nil: give the suite what it is to check", what)
	}
}

// try runs r on a subject, in a goroutine of its own: so a row that never ends fails like any other. It is
// left behind then.
func (r row[S]) try(subject S, c *check) outcome {
	if !scheduler.Within(rowLimit, func() {
		c.guard(func() { r.run(c, subject) })
		c.finish()
	}) {
		stacks := make([]byte, 256<<10)
		stacks = stacks[:runtime.Stack(stacks, true)]
		c.hangs(fmt.Sprintf("not done after %v; all goroutines:\n%s", rowLimit, stacks))
	}
	return c.result()
}

// outcome is what a row found.
type outcome struct {
	failures []string
	skipped  string // the reason, where it could not run
	hung     bool   // it did not end, and failed of nothing else
}

func (o outcome) report(t *testing.T, rule string) {
	t.Helper()
	for _, failure := range o.told() {
		t.Error(failure)
	}
	if len(o.failures) > 0 {
		t.Errorf("the rule is: %q", rule)
	}
	if o.skipped != "" {
		t.Skip(o.skipped)
	}
}

// mostTold is how many failures of a row are told: what breaks one rule may do so at each of thousands of steps.
const mostTold = 10

// told are the failures to tell.
func (o outcome) told() []string {
	if more := len(o.failures) - mostTold; more > 0 {
		return append(o.failures[:mostTold:mostTold], fmt.Sprintf("and %d more failures", more))
	}
	return o.failures
}

// check is what a row reports to. It is no testing.TB, so that this package's own tests can see a row
// fail.
type check struct {
	lull time.Duration // how long a call that has to wait is watched

	mu      sync.Mutex
	undo    []func()
	outcome outcome
}

// errorf notes a failure. Goroutines of a row may call it.
func (c *check) errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcome.failures = append(c.outcome.failures, fmt.Sprintf(format, args...))
}

// hangs notes that the row did not end.
func (c *check) hangs(failure string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcome.hung = len(c.outcome.failures) == 0
	c.outcome.failures = append(c.outcome.failures, failure)
}

// fatalf notes a failure and ends the calling goroutine.
func (c *check) fatalf(format string, args ...any) {
	c.errorf(format, args...)
	runtime.Goexit()
}

// skip ends the row, which needs something that the subject does not have.
func (c *check) skip(reason string) {
	c.mu.Lock()
	c.outcome.skipped = reason
	c.mu.Unlock()
	runtime.Goexit()
}

// after has f called when the row is done, the last one first.
func (c *check) after(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.undo = append(c.undo, f)
}

// guard runs f. A panic is a failure, and fatalf ends f only.
func (c *check) guard(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				c.errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		f()
	}()
	<-done
}

// finish does what after was given.
func (c *check) finish() {
	for {
		c.mu.Lock()
		last := len(c.undo) - 1
		if last < 0 {
			c.mu.Unlock()
			return
		}
		f := c.undo[last]
		c.undo = c.undo[:last]
		c.mu.Unlock()
		c.guard(f)
	}
}

func (c *check) result() outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.outcome
	o.failures = slices.Clone(o.failures)
	return o
}

// together runs f n times at once, and returns when all are done. A failure of one is the row's.
func (c *check) together(n int, f func(i int)) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			c.guard(func() { f(i) })
		})
	}
	close(start)
	all.Wait()
}

// looks is how often each reader of beside looks at least.
const looks = 100

// beside does something over and over while readers look, each of them over and over, too: times times at least, and
// until each reader has looked often enough. So there is no reader that came too early or too late, however the
// goroutines are scheduled. A reader that ends itself is not waited for.
func (c *check) beside(times int, do func(round int), readers ...func(round int)) {
	var done atomic.Bool
	var late atomic.Int64 // readers that have to look again
	late.Store(int64(len(readers)))
	c.together(len(readers)+1, func(who int) {
		if who == len(readers) {
			defer done.Store(true)
			for round := 0; round < times || late.Load() > 0; round++ {
				do(round)
				runtime.Gosched()
			}
			return
		}
		enough := sync.OnceFunc(func() { late.Add(-1) })
		defer enough()
		for round := 0; !done.Load(); round++ {
			if round == looks {
				enough()
			}
			readers[who](round)
			runtime.Gosched()
		}
	})
}
