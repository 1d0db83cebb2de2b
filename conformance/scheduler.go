package conformance

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stratalog/strata/scheduler"
)

// NewScheduler makes a Scheduler, and a function that lets its time pass. What has to be closed goes into
// tb.Cleanup; nothing may be reported anywhere when a task panics.
type NewScheduler func(tb testing.TB) (s scheduler.Scheduler, pass func(time.Duration))

// TestScheduler checks a Scheduler. That closing it ends all tasks it checks where it has the method
// Close(context.Context) error.
func TestScheduler(t *testing.T, newS NewScheduler, skip Skip) {
	t.Helper()
	given(t, newS != nil, "newS")
	runRows(t, schedulerRows, func(tb testing.TB) schedule {
		s, pass := newS(tb)
		return schedule{s, pass}
	}, skip)
}

// schedule is what a row of TestScheduler runs on.
type schedule struct {
	scheduler.Scheduler
	pass func(time.Duration)
}

// tick is the time that passes at a time. A Scheduler on real time may be late by any number of them.
const tick = time.Millisecond

// patience is how many ticks a row waits for what has to come.
const patience = 10_000

// until lets time pass until what is awaited is so.
func (s schedule) until(c *check, is func() bool) {
	for range patience {
		if is() {
			return
		}
		s.pass(tick)
		runtime.Gosched()
	}
	c.fatalf("what has to come did not within %v", patience*tick)
}

// counter is a task that counts its runs.
type counter struct{ atomic.Int64 }

func (n *counter) run(context.Context) { n.Add(1) }

// reaches is a condition for until.
func (n *counter) reaches(want int64) func() bool {
	return func() bool { return n.Load() >= want }
}

// lingers lets other goroutines go on a number of times. It looks at its context meanwhile, as tasks do.
func lingers(ctx context.Context, times int) {
	for range times {
		_ = ctx.Err() // the task goes on all the same
		runtime.Gosched()
	}
}

// schedulerRows are the rows of TestScheduler.
var schedulerRows = []row[schedule]{
	{
		name: "a task runs again and again",
		rule: "Schedule runs task after delay and then, if period > 0, every period after the last run ended.",
		run: func(c *check, s schedule) {
			var often, seldom counter
			s.Schedule("often", tick, tick, often.run)
			s.Schedule("seldom", 3*tick, 20*tick, seldom.run)
			s.until(c, often.reaches(10))
			s.until(c, seldom.reaches(3))
		},
	},
	{
		name: "a task waits for its time",
		rule: "Schedule runs task after delay and then, if period > 0, every period after the last run ended.",
		run: func(c *check, s schedule) {
			var late, rare, often counter
			s.Schedule("late", time.Hour, tick, late.run)
			s.Schedule("rare", 0, time.Hour, rare.run)
			s.Schedule("often", 0, tick, often.run)
			s.until(c, often.reaches(20))
			s.until(c, rare.reaches(1))
			equal(c, late.Load(), 0, "runs before an hour's delay")
			equal(c, rare.Load(), 1, "runs within an hour's period")
		},
	},
	{
		name: "runs do not overlap",
		rule: "Runs of one task never overlap.",
		run: func(c *check, s schedule) {
			var runs counter
			var running atomic.Int64
			s.Schedule("slow", 0, 10*time.Microsecond, func(ctx context.Context) {
				if n := running.Add(1); n > 1 {
					c.errorf("%d runs of one task at a time", n)
				}
				lingers(ctx, 100)
				running.Add(-1)
				runs.Add(1)
			})
			s.until(c, runs.reaches(100))
		},
	},
	{
		name: "nothing runs inside Schedule",
		rule: "A delay of 0 or less is as soon as possible, but not inside Schedule.",
		run: func(c *check, s schedule) {
			for _, delay := range []time.Duration{0, -1, -time.Hour} {
				var runs counter
				var returned atomic.Bool
				after := make(chan struct{}) // closed when Schedule has returned
				caller := goroutine()
				s.Schedule("soon", delay, 0, func(context.Context) {
					if goroutine() == caller && !returned.Load() {
						c.fatalf("a task runs inside Schedule")
					}
					<-after // or for ever, where Schedule waits for another goroutine that runs it
					runs.Add(1)
				})
				returned.Store(true)
				close(after)
				s.until(c, runs.reaches(1))
			}
		},
	},
	{
		name: "without a period it runs once",
		rule: "With a period of 0 or less task runs once.",
		run: func(c *check, s schedule) {
			var zero, negative, often counter
			s.Schedule("zero", 0, 0, zero.run)
			s.Schedule("negative", 0, -tick, negative.run)
			s.Schedule("often", 0, tick, often.run)
			s.until(c, often.reaches(20))
			s.until(c, zero.reaches(1))
			s.until(c, negative.reaches(1))
			s.until(c, often.reaches(often.Load()+20))
			equal(c, zero.Load(), 1, "runs with a period of 0")
			equal(c, negative.Load(), 1, "runs with a negative period")
		},
	},
	{
		name: "a panic ends one run",
		rule: "A panic of task is recovered and reported, as the maker of the Scheduler asked; the run has ended " +
			"with it, and the next one comes as after any other.",
		run: func(c *check, s schedule) {
			var runs, others counter
			cancel := s.Schedule("bad", 0, tick, func(context.Context) {
				runs.Add(1)
				panic("conformance: a task that panics")
			})
			s.Schedule("other", 0, tick, others.run)
			s.until(c, runs.reaches(3))
			s.until(c, others.reaches(3))
			cancel()
		},
	},
	{
		name: "cancel stops and waits",
		rule: "cancel stops further runs and waits for one in progress; a second call does nothing but wait.",
		run:  cancelStops,
	},
	{
		name: "a task ends by its context",
		rule: "The context given to task is done when cancel is called, the Scheduler is closed, or the last run " +
			"has ended.",
		run: func(c *check, s schedule) {
			var contexts [2]atomic.Pointer[context.Context]
			var cancelling atomic.Bool
			keep := func(i int) func(context.Context) {
				return func(ctx context.Context) {
					if err := ctx.Err(); !cancelling.Load() { // a run may begin while cancel is called
						c.ok(err, "the context of a run")
					}
					contexts[i].Store(&ctx)
				}
			}
			cancel := s.Schedule("often", 0, tick, keep(0))
			s.Schedule("once", 0, 0, keep(1))
			s.until(c, func() bool { return contexts[0].Load() != nil && contexts[1].Load() != nil })
			s.until(c, func() bool { return (*contexts[1].Load()).Err() != nil })
			c.ok((*contexts[0].Load()).Err(), "the context between two runs")
			cancelling.Store(true)
			cancel()
			c.is((*contexts[0].Load()).Err(), context.Canceled, "the context after cancel")
		},
	},
	{
		name: "a closed scheduler does nothing",
		rule: "When the Scheduler is closed, Schedule does nothing and returns a cancel that does nothing.",
		run: func(c *check, s schedule) {
			closer, ok := s.Scheduler.(interface {
				Close(ctx context.Context) error
			})
			if !ok {
				c.skip("it has no method Close(context.Context) error")
			}
			var before, after counter
			s.Schedule("before", time.Hour, tick, before.run)
			c.ok(closer.Close(context.Background()), "Close")
			cancel := s.Schedule("after", 0, tick, after.run)
			for range 20 {
				s.pass(tick)
			}
			cancel()
			cancel()
			equal(c, before.Load()+after.Load(), 0, "runs after Close")
		},
	},
	{
		name: "tasks may schedule and cancel",
		rule: "All methods may be called concurrently, also by tasks.",
		run: func(c *check, s schedule) {
			var inner, outer, dropped counter
			cancel := s.Schedule("dropped", time.Hour, 0, dropped.run)
			s.Schedule("outer", 0, 0, func(context.Context) {
				cancel()
				s.Schedule("inner", 0, 0, inner.run)
				outer.Add(1)
			})
			s.until(c, outer.reaches(1))
			s.until(c, inner.reaches(1))
			c.together(4, func(int) {
				for range 50 {
					s.Schedule("brief", time.Hour, tick, dropped.run)()
				}
			})
			equal(c, dropped.Load(), 0, "runs of what was cancelled")
		},
	},
}

// cancelStops runs a task that goes on for a while after its context has ended.
func cancelStops(c *check, s schedule) {
	var waiting, often counter
	s.Schedule("waiting", time.Hour, 0, waiting.run)() // before its first run
	s.Schedule("often", 0, tick, often.run)

	var began, ended atomic.Int64
	cancel := s.Schedule("slow", 0, tick, func(ctx context.Context) {
		if began.Add(1) == 3 {
			<-ctx.Done()
			lingers(ctx, 1000)
		}
		ended.Add(1)
	})
	passing := make(chan struct{})
	go func() { // time passes only while somebody lets it, and this task keeps that somebody
		defer close(passing)
		s.until(c, func() bool { return began.Load() == 3 })
	}()
	for began.Load() < 3 {
		runtime.Gosched()
	}
	c.together(3, func(int) {
		for range 2 {
			cancel()
			equal(c, ended.Load(), 3, "runs that have ended when cancel returns")
		}
	})
	<-passing
	seen := often.Load()
	s.until(c, often.reaches(seen+20))
	equal(c, began.Load(), 3, "runs after cancel")
	equal(c, waiting.Load(), 0, "runs of a task that was cancelled before its first")
}
