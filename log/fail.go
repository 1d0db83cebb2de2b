package log

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/segment"
)

// failure is why a log is read-only.
type failure struct{ err error }

// errOpenedReadOnly is what a log that was opened with Options.ReadOnly answers to changes.
var errOpenedReadOnly = fmt.Errorf("%w: opened so: %w", ErrReadOnly, fs.ErrPermission)

// errNoCause is the reason where Fail was given none.
var errNoCause = errors.New("log: failed without a cause")

// Fail makes the log read-only, with cause as the reason. manager does so to all logs of a directory that
// failed.
func (l *Log) Fail(cause error) {
	if l.closed.Load() {
		return
	}
	if cause == nil {
		cause = errNoCause
	}
	_ = l.fail(cause)
	l.wait.wake()
	l.news.deliver()
}

// fail makes the log read-only, unless it is so already, and returns what every change is answered with from
// now on. The event goes out with the next delivery.
func (l *Log) fail(cause error) error {
	f := &failure{fmt.Errorf("%w after a failure, until it is opened again: %w", ErrReadOnly, cause)}
	if l.failed.CompareAndSwap(nil, f) {
		l.warn("log is read-only", cause)
		if tell := l.o.Events.Failed; tell != nil {
			l.news.add(func() { tell(cause) })
		}
	}
	return l.failed.Load().err
}

// failWrite is fail for an error of a write, unless there was no room and what was written is cut away
// again: then the log goes on.
func (l *Log) failWrite(err error) error {
	if fsio.NoRoom(err) && !errors.Is(err, segment.ErrBroken) {
		return err
	}
	return l.fail(err)
}

// news are the events that wait until no lock is held.
type news struct {
	mu    sync.Mutex
	queue []func()
	some  atomic.Bool
}

// add queues a call.
func (n *news) add(call func()) {
	n.mu.Lock()
	n.queue = append(n.queue, call)
	n.some.Store(true)
	n.mu.Unlock()
}

// deliver makes the calls that are queued.
func (n *news) deliver() {
	if !n.some.Load() {
		return
	}
	n.mu.Lock()
	queue := n.queue
	n.queue = nil
	n.some.Store(false)
	n.mu.Unlock()
	for _, call := range queue {
		call()
	}
}
