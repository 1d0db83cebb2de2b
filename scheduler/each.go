package scheduler

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls fn for each i of [0, n), on workers goroutines at most, and returns when all calls have ended.
//
//   - The errors are joined in the order of i; the first lets no further call begin and ends the context.
//   - A panic of fn goes on on the caller's goroutine, once the other calls have ended.
//   - With one worker or less it calls on the caller's goroutine, in order: what a simulation wants.
//
// It is here so that loading directories in parallel needs no goroutine elsewhere.
func Each(ctx context.Context, workers, n int, fn func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if workers <= 1 {
		for i := range n {
			if err := fn(ctx, i); err != nil {
				return errors.Join(err)
			}
		}
		return nil
	}
	e := &each{fn: fn, n: int64(n), stop: stop, ends: make([]ending, max(n, 0))}
	var running sync.WaitGroup
	for range min(workers, n) {
		running.Go(func() { e.serve(ctx) })
	}
	running.Wait()
	return e.join()
}

// each is one parallel Each.
type each struct {
	fn      func(ctx context.Context, i int) error
	n       int64
	next    atomic.Int64 // the first i that nobody took
	stopped atomic.Bool
	stop    context.CancelFunc
	ends    []ending // how call i ended; written by who made it
}

// ending is how a call ended. The zero value is well.
type ending struct {
	err      error
	panicked any  // with what
	exited   bool // by runtime.Goexit, as a test's FailNow does
}

// serve makes calls until there is no more, or one went wrong.
func (e *each) serve(ctx context.Context) {
	for !e.stopped.Load() {
		i := e.next.Add(1) - 1
		if i >= e.n {
			return
		}
		e.call(ctx, int(i))
	}
}

func (e *each) call(ctx context.Context, i int) {
	returned := false
	defer func() {
		if !returned {
			e.ends[i].panicked = recover()
			e.ends[i].exited = e.ends[i].panicked == nil
			e.halt()
		}
	}()
	err := e.fn(ctx, i)
	returned = true
	if err != nil {
		e.ends[i].err = err
		e.halt()
	}
}

// halt lets no further call begin.
func (e *each) halt() {
	e.stopped.Store(true)
	e.stop()
}

// join goes on as the calls ended.
func (e *each) join() error {
	errs := make([]error, 0, len(e.ends))
	for _, end := range e.ends {
		switch {
		case end.panicked != nil:
			panic(end.panicked)
		case end.exited:
			runtime.Goexit()
		}
		errs = append(errs, end.err)
	}
	return errors.Join(errs...)
}
