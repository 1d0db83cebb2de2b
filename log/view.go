package log

import (
	"sort"
	"sync"
	"sync/atomic"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

// view is one moment of a log, as readers see it. It is never changed: a writer puts another in its place.
// That end offset and size of the active segment belong together is what keeps a reader from bytes that are
// not appended yet (KAFKA-2477).
type view struct {
	segs     []*segment.Segment // by rising base offset, the last one active; shared between views
	size     int64              // of the active segment
	start    int64
	end      int64
	hw       int64
	aligned  bool  // hw is the first offset of a batch, or the end
	unstable int64 // the first offset of an undecided transaction, not below the batch of start, or codec.NoOffset
}

// active is the segment that is appended to.
func (v *view) active() *segment.Segment { return v.segs[len(v.segs)-1] }

// floor is the index of the segment that offset lies in: the last one that does not begin above it, or the
// first.
func (v *view) floor(offset int64) int {
	return max(0, sort.Search(len(v.segs), func(i int) bool { return v.segs[i].BaseOffset() > offset })-1)
}

// next is the base offset of the segment behind the i-th, or the end.
func (v *view) next(i int) int64 {
	if i+1 < len(v.segs) {
		return v.segs[i+1].BaseOffset()
	}
	return v.end
}

// sizeOf is the size of the i-th segment.
func (v *view) sizeOf(i int) int64 {
	if i == len(v.segs)-1 {
		return v.size
	}
	return v.segs[i].Size()
}

// stable is the last stable offset.
func (v *view) stable() int64 {
	if v.unstable != codec.NoOffset && v.unstable < v.hw {
		return v.unstable
	}
	return v.hw
}

// limit is the offset at which a read ends.
func (v *view) limit(i Isolation) int64 {
	switch i {
	case ReadToEnd:
		return v.end
	case ReadCommitted:
		return v.stable()
	default:
		return v.hw
	}
}

// bases are the base offsets of all segments.
func (v *view) bases() []int64 {
	bases := make([]int64, len(v.segs))
	for i, s := range v.segs {
		bases[i] = s.BaseOffset()
	}
	return bases
}

// publish puts v in the place of the current view, with a high watermark that is not above the end, and
// follows it where nobody else says where it is. As in Kafka, what is undecided is looked for where the high
// watermark is at the end; otherwise it stays as it was, also where a truncation has taken a decision back.
func (l *Log) publish(v view) {
	if !l.o.Replicated || v.hw >= v.end {
		l.publishTxns(v)
		return
	}
	l.show(v)
}

// publishTxns is publish where transactions may have been opened or decided, or the high watermark, which
// decisions wait for, or the start has moved.
func (l *Log) publishTxns(v view) {
	if !l.o.Replicated || v.hw >= v.end {
		v.hw, v.aligned = v.end, true
		l.prod.SetHighWatermark(v.hw)
	}
	l.txnsOf(&v)
	l.show(v)
}

// txnsOf finds the first unstable offset of v.
func (l *Log) txnsOf(v *view) {
	if v.unstable = l.prod.FirstUnstable(); v.unstable != codec.NoOffset && v.unstable < v.start {
		if v.unstable = v.start; v.start < v.end {
			if first, ok, err := v.firstOfBatch(v.start); err == nil && ok { // as Kafka has it
				v.unstable = first
			} else if err == nil { // a hole before the end
				v.unstable = v.end
			}
		}
	}
}

// show makes v the current view.
func (l *Log) show(v view) {
	l.view.Store(&v)
	l.wait.wake()
}

// waiters are those who wait for a new view.
type waiters struct {
	count   atomic.Int32
	mu      sync.Mutex
	changed chan struct{} // closed with the next view; nil while nobody waits
}

// wake wakes all who wait.
func (w *waiters) wake() {
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// next is closed with the next view. A caller that is counted, and looks at the view behind the call, misses
// none.
func (w *waiters) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}
