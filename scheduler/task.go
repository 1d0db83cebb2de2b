package scheduler

import (
	"container/heap"
	"context"
	"runtime/debug"
	"time"
)

// task is what Schedule was given. Its scheduler guards the fields that change.
type task struct {
	name   string
	period time.Duration
	fn     func(context.Context) // nil once ended: a cancel that is kept keeps nothing else alive
	ctx    context.Context
	stop   context.CancelFunc
	ended  chan struct{} // closed when no run is in progress and none will follow

	due       time.Time
	seq       uint64 // the order of the Schedule calls
	place     int    // in the queue; −1 outside
	cancelled bool
}

// newTask makes a task whose context ends with parent.
func newTask(parent context.Context, name string, period time.Duration, fn func(context.Context)) *task {
	t := &task{name: name, period: period, fn: fn, ended: make(chan struct{}), place: -1}
	t.ctx, t.stop = context.WithCancel(parent)
	return t
}

// run calls the task once and reports its panic.
func (t *task) run(panicked PanicFunc) {
	defer func() {
		if v := recover(); v != nil {
			panicked(t.name, v, debug.Stack())
		}
	}()
	t.fn(t.ctx)
}

// repeats reports whether another run follows the one that ended.
func (t *task) repeats() bool { return t.period > 0 && !t.cancelled }

// end says that no run follows. It must not be called twice, nor while a run is in progress.
func (t *task) end() {
	t.fn = nil
	t.stop()
	close(t.ended)
}

// queue holds the tasks that wait for their time: by due, then by seq.
type queue struct{ tasks taskHeap }

// push adds t, to fall due at the time due.
func (q *queue) push(t *task, due time.Time) {
	t.due = due
	heap.Push(&q.tasks, t)
}

// first is the task that falls due first, or nil.
func (q *queue) first() *task {
	if len(q.tasks) == 0 {
		return nil
	}
	return q.tasks[0]
}

// remove takes t out, and reports whether it was in.
func (q *queue) remove(t *task) bool {
	if t.place < 0 {
		return false
	}
	heap.Remove(&q.tasks, t.place)
	return true
}

// endAll takes all tasks out and ends them.
func (q *queue) endAll() {
	for _, t := range q.tasks {
		t.place = -1
		t.end()
	}
	q.tasks = nil
}

// taskHeap is container/heap's view of a queue.
type taskHeap []*task

func (h taskHeap) Len() int { return len(h) }

func (h taskHeap) Less(i, j int) bool {
	if order := h[i].due.Compare(h[j].due); order != 0 {
		return order < 0
	}
	return h[i].seq < h[j].seq
}

func (h taskHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *taskHeap) Push(x any) {
	t := x.(*task)
	t.place = len(*h)
	*h = append(*h, t)
}

func (h *taskHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.place = -1
	return t
}
