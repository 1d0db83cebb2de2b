package conformance_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/stratalog/strata/conformance"
	"github.com/stratalog/strata/scheduler"
)

// quiet reports no panic.
func quiet(string, any, []byte) {}

func newManual(tb testing.TB) (scheduler.Scheduler, func(time.Duration)) {
	m := scheduler.NewManual(scheduler.ManualOptions{Panicked: quiet})
	tb.Cleanup(func() { assert.NoError(tb, m.Close(context.Background())) })
	return m, m.Advance
}

func newPool(tb testing.TB) (scheduler.Scheduler, func(time.Duration)) {
	p := scheduler.NewPool(scheduler.PoolOptions{Panicked: quiet})
	tb.Cleanup(func() { assert.NoError(tb, p.Close(context.Background())) })
	return p, func(d time.Duration) { <-time.After(d) } // real time passes by itself
}

func TestScheduler(t *testing.T) {
	t.Run("manual", func(t *testing.T) { conformance.TestScheduler(t, newManual, nil) })
	t.Run("pool", func(t *testing.T) { conformance.TestScheduler(t, newPool, nil) })
}

// TestSchedulerFindsBroken runs each row of TestScheduler on a scheduler that breaks the rule of that row.
func TestSchedulerFindsBroken(t *testing.T) {
	findsBroken(t, "RESULT scheduler", conformance.SchedulerRows(), brokenSchedulers, trySchedules)
}

func trySchedules(t *testing.T, row string, twist func(m *scheduler.Manual) schedules) conformance.Outcome {
	t.Helper()
	return conformance.TryScheduler(t, row, func(testing.TB) (scheduler.Scheduler, func(time.Duration)) {
		m := scheduler.NewManual(scheduler.ManualOptions{Panicked: quiet})
		return &twistScheduler{m, twist(m)}, m.Advance
	})
}

// TestSchedulerRowsQuoteTheContract checks that each rule of the contract has a row, and each row a rule.
func TestSchedulerRowsQuoteTheContract(t *testing.T) {
	var c contract
	c.readInterfaces(t, filepath.Join("..", "scheduler", "scheduler.go"), "Scheduler")
	rows := conformance.SchedulerRows()
	for _, bullet := range c.bullets {
		if !slices.ContainsFunc(rows, func(r conformance.Row) bool { return strings.Contains(bullet, r.Rule) }) {
			t.Errorf("no row quotes the rule %q", bullet)
		}
	}
	for _, row := range rows {
		if !strings.Contains(c.text, row.Rule) {
			t.Errorf("row %q quotes what no contract says: %q", row.Name, row.Rule)
		}
	}
	assert.Greater(t, len(c.bullets), 5, "the rules were not found")
}

// task and schedules are what Schedule takes, and what it is.
type (
	task      = func(context.Context)
	schedules = func(name string, delay, period time.Duration, fn task) (cancel func())
)

// looked is a context that has something done when its task looks at it.
type looked struct {
	context.Context

	do func()
}

func (l looked) Err() error {
	l.do()
	return l.Context.Err()
}

// twistScheduler is a Manual with another Schedule, and a Close that closes nothing.
type twistScheduler struct {
	*scheduler.Manual
	schedule schedules
}

func (s *twistScheduler) Schedule(name string, delay, period time.Duration, fn task) (cancel func()) {
	return s.schedule(name, delay, period, fn)
}

func (s *twistScheduler) Close(context.Context) error { return nil }

// brokenSchedulers break the rule of one row each.
var brokenSchedulers = map[string]func(m *scheduler.Manual) schedules{
	"a closed scheduler does nothing": func(m *scheduler.Manual) schedules { return m.Schedule },
	"a task runs again and again": func(m *scheduler.Manual) schedules {
		return func(name string, delay, _ time.Duration, fn task) func() { return m.Schedule(name, delay, 0, fn) }
	},
	"a task waits for its time": func(m *scheduler.Manual) schedules {
		return func(name string, delay, period time.Duration, fn task) func() {
			return m.Schedule(name, min(delay, time.Millisecond), period, fn)
		}
	},
	"without a period it runs once": func(m *scheduler.Manual) schedules {
		return func(name string, delay, period time.Duration, fn task) func() {
			return m.Schedule(name, delay, max(period, time.Millisecond), fn)
		}
	},
	"runs do not overlap": func(m *scheduler.Manual) schedules {
		return func(name string, delay, period time.Duration, fn task) func() {
			both := newMeeting()
			return m.Schedule(name, delay, period, func(ctx context.Context) {
				ctx = looked{ctx, both.wait}
				var runs sync.WaitGroup
				runs.Go(func() { fn(ctx) })
				runs.Go(func() { fn(ctx) })
				runs.Wait()
			})
		}
	},
	"nothing runs inside Schedule": func(m *scheduler.Manual) schedules {
		return func(name string, delay, period time.Duration, fn task) func() {
			if delay <= 0 {
				fn(context.Background())
				return func() {}
			}
			return m.Schedule(name, delay, period, fn)
		}
	},
	"a panic ends one run": func(m *scheduler.Manual) schedules {
		return func(name string, delay, period time.Duration, fn task) func() {
			dead := false
			return m.Schedule(name, delay, period, func(ctx context.Context) {
				if !dead {
					dead = true
					fn(ctx)
					dead = false
				}
			})
		}
	},
	"cancel stops and waits": func(m *scheduler.Manual) schedules {
		return func(name string, delay, period time.Duration, fn task) func() {
			// The task goes on until somebody has called cancel twice: of three who do, one at the fourth call.
			var calls atomic.Int64
			again := make(chan struct{})
			cancel := m.Schedule(name, delay, period, func(ctx context.Context) { fn(looked{ctx, func() { <-again }}) })
			return func() {
				go cancel()
				if calls.Add(1) == 4 {
					close(again)
				}
			}
		}
	},
	"a task ends by its context": func(m *scheduler.Manual) schedules {
		return func(name string, delay, period time.Duration, fn task) func() {
			return m.Schedule(name, delay, period, func(context.Context) { fn(context.Background()) })
		}
	},
	"tasks may schedule and cancel": func(m *scheduler.Manual) schedules {
		var running atomic.Bool
		return func(name string, delay, period time.Duration, fn task) func() {
			if running.Load() {
				return func() {}
			}
			return m.Schedule(name, delay, period, func(ctx context.Context) {
				running.Store(true)
				defer running.Store(false)
				fn(ctx)
			})
		}
	},
}
