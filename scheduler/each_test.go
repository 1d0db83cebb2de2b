package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/stratalog/strata/scheduler"
)

func TestEachCallsAll(t *testing.T) {
	for _, workers := range []int{-1, 0, 1, 2, 3, 100} {
		for _, n := range []int{-1, 0, 1, 2, 50} {
			t.Run(fmt.Sprintf("%d workers, %d calls", workers, n), func(t *testing.T) {
				calls := make([]atomic.Int64, max(n, 0))
				err := scheduler.Each(context.Background(), workers, n, func(_ context.Context, i int) error {
					calls[i].Add(1)
					return nil
				})
				assert.NoError(t, err)
				for i := range calls {
					assert.Equal(t, int64(1), calls[i].Load(), "call %d", i)
				}
			})
		}
	}
}

func TestEachInOrder(t *testing.T) {
	var order []int // no lock: on the caller's goroutine
	boom := errors.New("boom")
	err := scheduler.Each(context.Background(), 1, 10, func(_ context.Context, i int) error {
		order = append(order, i)
		if i == 3 {
			return boom
		}
		return nil
	})
	assert.ErrorIs(t, err, boom)
	assert.Equal(t, []int{0, 1, 2, 3}, order)
}

func TestEachParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var running, most atomic.Int64
		err := scheduler.Each(context.Background(), 3, 9, func(context.Context, int) error {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(ms)
			running.Add(-1)
			return nil
		})
		assert.NoError(t, err)
		assert.Equal(t, int64(3), most.Load())
		assert.Equal(t, 3*ms, time.Since(start))
	})
}

// The errors are joined in the order of i; the first ends the context and lets no further call begin.
func TestEachErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := errors.New("first"), errors.New("second")
		var calls atomic.Int64
		err := scheduler.Each(context.Background(), 3, 100, func(ctx context.Context, i int) error {
			calls.Add(1)
			switch i {
			case 0:
				<-ctx.Done()
				return first
			case 1:
				time.Sleep(ms)
				return second
			default:
				<-ctx.Done()
				return nil
			}
		})
		assert.ErrorIs(t, err, first)
		assert.ErrorIs(t, err, second)
		assert.EqualError(t, err, "first\nsecond")
		assert.Equal(t, int64(3), calls.Load())
	})
}

func TestEachContext(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	for _, workers := range []int{1, 2} {
		err := scheduler.Each(ctx, workers, 5, func(ctx context.Context, _ int) error { return ctx.Err() })
		assert.ErrorIs(t, err, context.Canceled)
	}
}

// A panic goes on on the caller's goroutine, once the other calls have ended.
func TestEachPanic(t *testing.T) {
	for _, workers := range []int{1, 3} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls, ended atomic.Int64
				assert.PanicsWithValue(t, "at the disco", func() {
					_ = scheduler.Each(context.Background(), workers, 100, func(ctx context.Context, i int) error {
						calls.Add(1)
						defer ended.Add(1)
						if i == 0 {
							time.Sleep(ms)
							panic("at the disco")
						}
						<-ctx.Done()
						time.Sleep(ms)
						return nil
					})
				})
				assert.Equal(t, int64(workers), calls.Load())
				assert.Equal(t, calls.Load(), ended.Load())
			})
		})
	}
}

// So does the end of a goroutine, by which a test fails.
func TestEachGoexit(t *testing.T) {
	for _, workers := range []int{1, 3} {
		returned, done := false, make(chan struct{})
		go func() {
			defer close(done)
			_ = scheduler.Each(context.Background(), workers, 10, func(context.Context, int) error {
				runtime.Goexit()
				return nil
			})
			returned = true
		}()
		<-done
		assert.False(t, returned, "Each with %d workers returned", workers)
	}
}
