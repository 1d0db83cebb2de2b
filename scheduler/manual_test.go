package scheduler_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/scheduler"
)

const ms = time.Millisecond

// diary notes what ran when, in milliseconds since 1970.
type diary struct {
	clock scheduler.Clock
	lines []string
}

func (d *diary) task(name string) func(context.Context) {
	return func(context.Context) { d.note(name) }
}

func (d *diary) note(name string) {
	d.lines = append(d.lines, fmt.Sprintf("%s@%d", name, d.clock.Now().UnixMilli()))
}

// count is how often name is noted.
func (d *diary) count(name string) int {
	n := 0
	for _, line := range d.lines {
		if strings.HasPrefix(line, name+"@") {
			n++
		}
	}
	return n
}

func newManual(t *testing.T) (*scheduler.Manual, *diary) {
	t.Helper()
	m := scheduler.NewManual(scheduler.ManualOptions{})
	t.Cleanup(func() { assert.NoError(t, m.Close(context.Background())) })
	return m, &diary{clock: m}
}

func TestManualStart(t *testing.T) {
	m, _ := newManual(t)
	assert.Equal(t, time.Unix(0, 0).UTC(), m.Now())

	start := time.Date(2011, 1, 11, 0, 0, 0, 0, time.UTC)
	m = scheduler.NewManual(scheduler.ManualOptions{Start: start})
	m.Advance(5 * ms)
	assert.Equal(t, start.Add(5*ms), m.Now())
	m.Advance(-ms)
	assert.Equal(t, start.Add(5*ms), m.Now(), "a negative d is taken as 0")
}

// O1 testMockSchedulerNonPeriodicTask.
func TestManualOnce(t *testing.T) {
	m, d := newManual(t)
	m.Schedule("one", ms, 0, d.task("one"))
	m.Schedule("two", 100*ms, -ms, d.task("two"))
	m.Advance(ms)
	assert.Equal(t, []string{"one@1"}, d.lines)
	m.Advance(100 * ms)
	assert.Equal(t, []string{"one@1", "two@100"}, d.lines)
	m.Advance(1000 * ms)
	assert.Len(t, d.lines, 2, "without a period a task runs once")
}

// O2 testMockSchedulerPeriodicTask.
func TestManualPeriod(t *testing.T) {
	m, d := newManual(t)
	m.Schedule("one", ms, ms, d.task("one"))
	m.Schedule("two", 100*ms, 100*ms, d.task("two"))
	m.Advance(ms)
	assert.Equal(t, 1, d.count("one"))
	assert.Equal(t, 0, d.count("two"))
	m.Advance(100 * ms)
	assert.Equal(t, 101, d.count("one"))
	assert.Equal(t, 1, d.count("two"))
}

// O3 testReentrantTaskInMockScheduler.
func TestManualReentrant(t *testing.T) {
	m, d := newManual(t)
	m.Schedule("outer", 0, 0, func(context.Context) {
		d.note("outer")
		m.Schedule("inner", 0, 0, d.task("inner"))
		m.Schedule("later", ms, 0, d.task("later"))
	})
	assert.Empty(t, d.lines, "nothing runs inside Schedule")
	m.Advance(0)
	assert.Equal(t, []string{"outer@0", "inner@0"}, d.lines)
	m.Advance(ms)
	assert.Equal(t, []string{"outer@0", "inner@0", "later@1"}, d.lines)
}

// D-05: the order is by time, then by the order of the Schedule calls.
func TestManualOrder(t *testing.T) {
	m, d := newManual(t)
	m.Schedule("a", 2*ms, 2*ms, d.task("a"))
	m.Schedule("b", 4*ms, 0, d.task("b"))
	m.Schedule("c", ms, 3*ms, d.task("c"))
	m.Schedule("d", -ms, 0, d.task("d"))
	m.Advance(4 * ms)
	assert.Equal(t, []string{"d@0", "c@1", "a@2", "a@4", "b@4", "c@4"}, d.lines)
	assert.Equal(t, int64(4), m.Now().UnixMilli())
}

// The delay is fixed, not the rate: the next run is a period after the last one ended.
func TestManualNext(t *testing.T) {
	m, d := newManual(t)
	_, ok := m.Next()
	assert.False(t, ok)
	cancel := m.Schedule("a", 3*ms, 10*ms, d.task("a"))
	at, ok := m.Next()
	assert.True(t, ok)
	assert.Equal(t, int64(3), at.UnixMilli())
	m.Advance(at.Sub(m.Now()))
	at, _ = m.Next()
	assert.Equal(t, int64(13), at.UnixMilli())
	cancel()
	_, ok = m.Next()
	assert.False(t, ok)
}

// O8 testMockSchedulerLocking, D-05: no lock is held while a task runs, so all methods go on.
func TestManualLocksNothingInTasks(t *testing.T) {
	m, d := newManual(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	cancelSlow := m.Schedule("slow", 0, ms, func(ctx context.Context) {
		d.note("slow")
		close(entered)
		<-ctx.Done()
		<-leave
	})
	advanced := make(chan struct{})
	go func() {
		defer close(advanced)
		m.Advance(10 * ms)
	}()
	<-entered
	m.Schedule("other", ms, 0, d.task("other"))
	m.Schedule("dropped", ms, 0, d.task("dropped"))()
	assert.Equal(t, int64(0), m.Now().UnixMilli(), "the time at which the running task was due")
	cancelled := make(chan struct{})
	go func() {
		defer close(cancelled)
		cancelSlow()
	}()
	select {
	case <-cancelled:
		t.Error("cancel returned while the task runs")
	default:
	}
	close(leave)
	<-cancelled
	<-advanced
	cancelSlow() // a second call does nothing
	assert.Equal(t, []string{"slow@0", "other@1"}, d.lines)
}

func TestManualAdvanceInsideAdvance(t *testing.T) {
	var value any
	m := scheduler.NewManual(scheduler.ManualOptions{
		Panicked: func(_ string, v any, _ []byte) { value = v },
	})
	m.Schedule("nested", 0, 0, func(context.Context) { m.Advance(ms) })
	m.Advance(ms)
	assert.Equal(t, "scheduler: Advance inside Advance", value)
}

// O9, D-03: a panic is reported, and the next run comes.
func TestManualPanic(t *testing.T) {
	var reports []string
	m := scheduler.NewManual(scheduler.ManualOptions{
		Panicked: func(task string, v any, stack []byte) {
			assert.Contains(t, string(stack), "TestManualPanic")
			reports = append(reports, fmt.Sprint(task, ": ", v))
		},
	})
	d := &diary{clock: m}
	m.Schedule("bad", ms, 2*ms, func(context.Context) {
		d.note("bad")
		if len(d.lines) == 1 {
			panic("at the disco")
		}
	})
	m.Schedule("good", ms, 2*ms, d.task("good"))
	m.Advance(3 * ms)
	assert.Equal(t, []string{"bad: at the disco"}, reports)
	assert.Equal(t, []string{"bad@1", "good@1", "bad@3", "good@3"}, d.lines)
}

// A task that ends the goroutine, as FailNow of a test does, has ended its run, too.
func TestManualGoexit(t *testing.T) {
	m, d := newManual(t)
	cancel := m.Schedule("exit", ms, ms, func(context.Context) {
		d.note("exit")
		if len(d.lines) == 1 {
			runtime.Goexit()
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Advance(5 * ms)
	}()
	<-done
	assert.Equal(t, []string{"exit@1"}, d.lines)
	m.Advance(ms)
	assert.Equal(t, []string{"exit@1", "exit@2"}, d.lines)
	cancel()
}

func TestManualContext(t *testing.T) {
	m, _ := newManual(t)
	var cancelled, closed, once context.Context
	cancel := m.Schedule("cancelled", 0, ms, func(ctx context.Context) { cancelled = ctx })
	m.Schedule("closed", 0, ms, func(ctx context.Context) { closed = ctx })
	m.Schedule("once", 0, 0, func(ctx context.Context) {
		assert.NoError(t, ctx.Err())
		once = ctx
	})
	m.Advance(0)
	assert.NoError(t, cancelled.Err())
	assert.ErrorIs(t, once.Err(), context.Canceled)
	cancel()
	assert.ErrorIs(t, cancelled.Err(), context.Canceled)
	assert.NoError(t, closed.Err())
	require.NoError(t, m.Close(context.Background()))
	assert.ErrorIs(t, closed.Err(), context.Canceled)
}

func TestManualClose(t *testing.T) {
	m, d := newManual(t)
	cancel := m.Schedule("dropped", ms, ms, d.task("dropped"))
	require.NoError(t, m.Close(context.Background()))
	require.NoError(t, m.Close(context.Background()))
	m.Schedule("late", 0, 0, d.task("late"))()
	m.Advance(10 * ms)
	assert.Empty(t, d.lines)
	assert.Equal(t, int64(10), m.Now().UnixMilli())
	cancel()
}

func TestManualCloseWaits(t *testing.T) {
	m, _ := newManual(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	m.Schedule("slow", 0, ms, func(ctx context.Context) {
		close(entered)
		<-ctx.Done() // Close ends it
		<-leave
	})
	advanced := make(chan struct{})
	go func() {
		defer close(advanced)
		m.Advance(0)
	}()
	<-entered
	over, stop := context.WithCancel(context.Background())
	stop()
	assert.ErrorIs(t, m.Close(over), context.Canceled)
	close(leave)
	assert.NoError(t, m.Close(context.Background()))
	<-advanced
	_, ok := m.Next()
	assert.False(t, ok, "a closed Manual repeats nothing")
}

// D-02 (KAFKA-8448, KAFKA-9265): what was cancelled, or ran for the last time, keeps nothing alive, also
// while its cancel function is kept.
func TestManualKeepsNothing(t *testing.T) {
	m, _ := newManual(t)
	var cancels []func()
	schedule := func(delay time.Duration) weak.Pointer[[1 << 10]byte] {
		owner := new([1 << 10]byte)
		cancels = append(cancels, m.Schedule("task", delay, 0, func(context.Context) { owner[0]++ }))
		return weak.Make(owner)
	}
	ran, cancelled := schedule(0), schedule(ms)
	m.Advance(0)
	cancels[1]()
	runtime.GC()
	assert.Nil(t, ran.Value())
	assert.Nil(t, cancelled.Value())
	for _, cancel := range cancels {
		cancel()
	}
}

func TestSystem(t *testing.T) {
	before := time.Now()
	now := scheduler.System().Now()
	assert.False(t, now.Before(before))
	assert.False(t, time.Now().Before(now))
}
