package scheduler_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/scheduler"
)

// inBubble runs fn with a Pool on the time of a bubble, which fails where the Pool leaves a goroutine.
func inBubble(t *testing.T, o scheduler.PoolOptions, fn func(t *testing.T, p *scheduler.Pool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := scheduler.NewPool(o)
		defer func() { assert.NoError(t, p.Close(context.Background())) }()
		fn(t, p)
	})
}

// pass lets d go by, and all that is due then run.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func counting(n *atomic.Int64) func(context.Context) {
	return func(context.Context) { n.Add(1) }
}

// O4 testNonPeriodicTask, testNonPeriodicTaskWhenPeriodIsZero.
func TestPoolOnce(t *testing.T) {
	inBubble(t, scheduler.PoolOptions{}, func(t *testing.T, p *scheduler.Pool) {
		var soon, late atomic.Int64
		p.Schedule("soon", -ms, 0, counting(&soon))
		p.Schedule("late", 10*ms, -ms, counting(&late))
		synctest.Wait()
		assert.Equal(t, int64(1), soon.Load())
		pass(9 * ms)
		assert.Equal(t, int64(0), late.Load())
		pass(ms)
		assert.Equal(t, int64(1), late.Load())
		pass(time.Hour)
		assert.Equal(t, int64(1), soon.Load())
		assert.Equal(t, int64(1), late.Load())
	})
}

// O5 testPeriodicTask.
func TestPoolPeriod(t *testing.T) {
	inBubble(t, scheduler.PoolOptions{Workers: 1}, func(t *testing.T, p *scheduler.Pool) {
		var n atomic.Int64
		p.Schedule("often", 5*ms, 5*ms, counting(&n))
		pass(100 * ms)
		assert.Equal(t, int64(20), n.Load())
	})
}

// Runs of one task never overlap, and the delay is fixed: the period is counted from the end of a run.
func TestPoolFixedDelay(t *testing.T) {
	inBubble(t, scheduler.PoolOptions{}, func(t *testing.T, p *scheduler.Pool) {
		start := time.Now()
		var began []time.Duration
		cancel := p.Schedule("slow", 0, 10*ms, func(context.Context) {
			began = append(began, time.Since(start))
			time.Sleep(25 * ms)
		})
		time.Sleep(100 * ms)
		cancel()
		assert.Equal(t, []time.Duration{0, 35 * ms, 70 * ms}, began)
	})
}

// At most Workers tasks run at a time; the others wait in the order in which they fell due.
func TestPoolWorkers(t *testing.T) {
	inBubble(t, scheduler.PoolOptions{Workers: 2}, func(t *testing.T, p *scheduler.Pool) {
		var (
			mu           sync.Mutex
			order        []string
			running, max int
		)
		slow := func(name string) func(context.Context) {
			return func(context.Context) {
				mu.Lock()
				order = append(order, name)
				running++
				if running > max {
					max = running
				}
				mu.Unlock()
				time.Sleep(10 * ms)
				mu.Lock()
				running--
				mu.Unlock()
			}
		}
		for _, row := range []struct {
			name  string
			delay time.Duration
		}{{"e", 5 * ms}, {"d", 4 * ms}, {"c", 3 * ms}, {"b", 2 * ms}, {"a", ms}, {"f", 5 * ms}} {
			p.Schedule(row.name, row.delay, 0, slow(row.name))
		}
		pass(100 * ms)
		assert.Equal(t, []string{"a", "b", "c", "d", "e", "f"}, order)
		assert.Equal(t, 2, max)
	})
}

// O7: cancel stops further runs and waits for one in progress.
func TestPoolCancel(t *testing.T) {
	inBubble(t, scheduler.PoolOptions{}, func(t *testing.T, p *scheduler.Pool) {
		var queued atomic.Int64
		cancel := p.Schedule("queued", ms, 0, counting(&queued))
		cancel()
		cancel()

		ended := false
		cancel = p.Schedule("running", 0, ms, func(ctx context.Context) {
			<-ctx.Done()
			time.Sleep(10 * ms)
			ended = true
		})
		synctest.Wait()
		for range 2 {
			go func() {
				cancel()
				assert.True(t, ended)
			}()
		}
		cancel()
		assert.True(t, ended)
		pass(time.Hour)
		assert.Equal(t, int64(0), queued.Load())
	})
}

// A task may schedule and cancel others.
func TestPoolReentrant(t *testing.T) {
	inBubble(t, scheduler.PoolOptions{Workers: 1}, func(t *testing.T, p *scheduler.Pool) {
		var inner, other atomic.Int64
		cancelOther := p.Schedule("other", ms, 0, counting(&other))
		p.Schedule("outer", 0, 0, func(context.Context) {
			p.Schedule("inner", 0, 0, counting(&inner))
			cancelOther()
		})
		pass(time.Second)
		assert.Equal(t, int64(1), inner.Load())
		assert.Equal(t, int64(0), other.Load())
	})
}

// O9, D-03: a panic is reported, and the next run comes.
func TestPoolPanic(t *testing.T) {
	var reports atomic.Int64
	o := scheduler.PoolOptions{Workers: 1, Panicked: func(task string, v any, stack []byte) {
		assert.Equal(t, "bad", task)
		assert.Equal(t, "at the disco", v)
		assert.Contains(t, string(stack), "TestPoolPanic")
		reports.Add(1)
	}}
	inBubble(t, o, func(t *testing.T, p *scheduler.Pool) {
		var good atomic.Int64
		p.Schedule("bad", ms, ms, func(context.Context) { panic("at the disco") })
		p.Schedule("good", ms, ms, counting(&good))
		pass(10 * ms)
		assert.Equal(t, int64(10), reports.Load())
		assert.Equal(t, int64(10), good.Load())
	})
}

func TestNilPanicFunc(t *testing.T) {
	var text bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil)))
	defer slog.SetDefault(old)
	m := scheduler.NewManual(scheduler.ManualOptions{})
	m.Schedule("bad", 0, 0, func(context.Context) { panic("at the disco") })
	m.Advance(0)
	assert.Contains(t, text.String(), `level=ERROR msg="task panicked" task=bad panic="at the disco" stack=`)
}

// K23, D-06: closing drops what waits, however long it would have waited.
func TestPoolClose(t *testing.T) {
	inBubble(t, scheduler.PoolOptions{}, func(t *testing.T, p *scheduler.Pool) {
		start := time.Now()
		var n atomic.Int64
		cancel := p.Schedule("queued", time.Hour, time.Hour, counting(&n))
		var ended atomic.Bool
		p.Schedule("running", 0, ms, func(ctx context.Context) {
			<-ctx.Done()
			time.Sleep(10 * ms)
			ended.Store(true)
		})
		synctest.Wait()
		require.NoError(t, p.Close(context.Background()))
		assert.True(t, ended.Load())
		assert.Equal(t, 10*ms, time.Since(start))
		require.NoError(t, p.Close(context.Background()))
		over, stop := context.WithCancel(context.Background())
		stop()
		require.NoError(t, p.Close(over), "a Close of a closed Pool")

		cancel()
		p.Schedule("late", 0, 0, counting(&n))()
		pass(2 * time.Hour)
		assert.Equal(t, int64(0), n.Load())
	})
}

// A Close waits no longer than for its context, and another one goes on waiting.
func TestPoolCloseGivesUp(t *testing.T) {
	inBubble(t, scheduler.PoolOptions{Workers: 1}, func(t *testing.T, p *scheduler.Pool) {
		start := time.Now()
		var n atomic.Int64
		cancel := p.Schedule("stubborn", 0, ms, func(context.Context) { time.Sleep(time.Second) })
		p.Schedule("queued", 0, 0, counting(&n))
		synctest.Wait()
		ctx, stop := context.WithTimeout(context.Background(), 10*ms)
		defer stop()
		assert.ErrorIs(t, p.Close(ctx), context.DeadlineExceeded)
		assert.Equal(t, 10*ms, time.Since(start))
		p.Schedule("late", 0, 0, counting(&n))()
		cancel()
		assert.Equal(t, time.Second, time.Since(start), "cancel waits for the run, in a closed Pool, too")
		require.NoError(t, p.Close(context.Background()))
		assert.Equal(t, int64(0), n.Load())
	})
}

// Schedule, cancel and Close at once, on real time: for the race detector.
func TestPoolStress(t *testing.T) {
	before := runtime.NumGoroutine()
	p := scheduler.NewPool(scheduler.PoolOptions{Workers: 3})
	var wg sync.WaitGroup
	var n atomic.Int64
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				cancel := p.Schedule("task", time.Duration(j%3)*time.Microsecond, time.Microsecond, counting(&n))
				if i%2 == 0 || j%2 == 0 {
					cancel()
				}
			}
		})
	}
	wg.Go(func() {
		for n.Load() < 1000 {
			runtime.Gosched()
		}
		assert.NoError(t, p.Close(context.Background()))
	})
	wg.Wait()
	require.NoError(t, p.Close(context.Background()))
	after := n.Load()
	p.Schedule("late", 0, 0, counting(&n))()
	assert.Equal(t, after, n.Load())
	for runtime.NumGoroutine() > before { // the dispatcher has said its last word, and returns
		runtime.Gosched()
	}
}
