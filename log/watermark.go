package log

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

// HighWatermark is where ReadUncommitted ends. It is in [StartOffset, EndOffset].
//
// Where it was put into the middle of a batch, the first read that ends there moves it to the batch's first
// offset, as in Kafka, also where that is below StartOffset.
func (l *Log) HighWatermark() int64 { return l.view.Load().hw }

// SetHighWatermark moves the high watermark, up or down, to offset, or to the nearer of StartOffset and
// EndOffset. It returns where it is then, and whether it moved. Unless the log is Replicated it does
// nothing.
func (l *Log) SetHighWatermark(offset int64) (at int64, moved bool) {
	l.mu.Lock()
	defer l.unlock()
	v := *l.view.Load()
	was := v.hw
	if !l.o.Replicated || l.closed.Load() {
		return was, false
	}
	v.hw, v.aligned = min(offset, v.end), offset >= v.end
	if offset < v.start { // its place is looked up later, at the end, too: what comes next may lie behind a gap
		v.hw, v.aligned = v.start, false
	}
	l.prod.SetHighWatermark(v.hw)
	l.txnsOf(&v)
	l.show(v)
	return v.hw, v.hw != was
}

// RaiseHighWatermark moves the high watermark up to the first offset of the batch that has offset, or of the
// next one, as in Kafka, which moves it from one place in a file to another. It returns where it was, and
// whether it moved: where that place is not above it, it stays. Above EndOffset the error is fs.ErrInvalid.
// Unless the log is Replicated it does nothing.
func (l *Log) RaiseHighWatermark(offset int64) (was int64, moved bool, err error) {
	l.mu.Lock()
	defer l.unlock()
	v := *l.view.Load()
	switch {
	case l.closed.Load():
		return v.hw, false, ErrClosed
	case offset > v.end:
		return v.hw, false, fmt.Errorf("high watermark %d is above the end %d: %w", offset, v.end, fs.ErrInvalid)
	}
	if next, ok := v.alignment(); ok {
		v = next
		l.prod.SetHighWatermark(v.hw)
		l.publishTxns(v)
	}
	if was = v.hw; !l.o.Replicated {
		return was, false, nil
	}
	first, ok, err := v.firstOfBatch(offset)
	inFile := err == nil && offset >= max(v.start, v.segs[0].BaseOffset())
	switch v.aligned = inFile; {
	case !inFile: // the next read tries again
		v.hw = offset
	case ok:
		v.hw = first
	default: // the end, or a hole before it
		v.hw = v.end
	}
	if v.hw <= was {
		return was, false, nil
	}
	l.prod.SetHighWatermark(v.hw)
	l.publishTxns(v)
	return was, true, nil
}

// align moves a high watermark in the middle of a batch to where that begins, and returns the view to go on
// with. Kafka does so when it looks up where in a file the high watermark lies: readers never see more for
// it. It waits for no writer: the view of one who comes in between counts.
func (l *Log) align(v *view) *view {
	next, ok := v.alignment()
	if !ok {
		return v
	}
	// A writer that is at work looks at the transactions itself, when it publishes.
	if l.mu.TryLock() {
		defer l.mu.Unlock()
		if l.view.Load() == v {
			l.prod.SetHighWatermark(next.hw)
			l.txnsOf(&next)
		}
	}
	if !l.view.CompareAndSwap(v, &next) {
		return l.view.Load()
	}
	return &next
}

// alignment is v with a high watermark that lies where a batch begins. ok is false where it does already, or
// lies in no file.
func (v *view) alignment() (next view, ok bool) {
	if v.aligned || v.hw < max(v.start, v.segs[0].BaseOffset()) {
		return view{}, false
	}
	first, there, err := v.firstOfBatch(v.hw)
	if err != nil {
		return view{}, false
	}
	if !there { // the end, or a hole before it
		first = v.end
	}
	next = *v
	next.hw, next.aligned = first, true
	return next, true
}

// firstOfBatch is the first offset of the batch that has offset, or of the next one.
func (v *view) firstOfBatch(offset int64) (first int64, ok bool, err error) {
	if offset < v.start {
		return 0, false, nil
	}
	for i := v.floor(offset); i < len(v.segs) && offset < v.end; i++ {
		s := v.segs[i]
		if !s.Acquire() {
			return 0, false, errGone
		}
		b, ok, err := s.Find(offset)
		if err == nil && ok && b.BaseOffset == codec.NoOffset {
			b.BaseOffset, err = firstOfWrapper(s, b)
		}
		s.Release()
		if err != nil || ok {
			return b.BaseOffset, ok, err
		}
	}
	return 0, false, nil
}

// firstOfWrapper is the first offset of a wrapper, which only its records tell.
func firstOfWrapper(s *segment.Segment, b segment.Batch) (int64, error) {
	bytes, err := s.ReadBatch(nil, b)
	if err != nil {
		return 0, err
	}
	for r, err := range s.Codec().Records(bytes) {
		return r.Offset, err
	}
	return 0, errors.New("log: wrapper without records")
}
