package conformance_test

import (
	"context"
	"fmt"
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
	rows := conformance.SchedulerRows()
	for name := range brokenSchedulers {
		if !slices.ContainsFunc(rows, func(r conformance.Row) bool { return r.Name == name }) {
			t.Errorf("a scheduler breaks %q, which is no row", name)
		}
	}
	var caught atomic.Int64
	t.Cleanup(func() {
		fmt.Printf("RESULT scheduler rows=%d broken_caught=%d/%d\n", len(rows), caught.Load(), len(rows))
	})
	for _, r := range rows {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			twist, ok := brokenSchedulers[r.Name]
			if !ok {
				t.Fatal("no scheduler breaks this row's rule")
			}
			newS := func(tb testing.TB) (scheduler.Scheduler, func(time.Duration)) {
				m := scheduler.NewManual(scheduler.ManualOptions{Panicked: quiet})
				return &twistScheduler{m, twist(m)}, m.Advance
			}
			failures := conformance.TryScheduler(t, r.Name, newS, 20*time.Second)
			if len(failures) == 0 {
				t.Fatalf("the row accepts a scheduler that breaks its rule: %q", r.Rule)
			}
			caught.Add(1)
			t.Logf("%s", failures[0][:min(len(failures[0]), 200)])
		})
	}
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
			return m.Schedule(name, delay, period, func(ctx context.Context) {
				var both sync.WaitGroup
				both.Go(func() { fn(ctx) })
				both.Go(func() { fn(ctx) })
				both.Wait()
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
			cancel := m.Schedule(name, delay, period, fn)
			return func() { go cancel() }
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
