package model

import (
	"io/fs"
	"math"

	"github.com/stratalog/strata/log"
)

// Log is a partition as lists. Its methods do what those of log.Log with their names do. The names in
// parentheses are those of Kafka's methods that have the rule.
type Log struct {
	log.Config      // filled
	Replicated bool // the high watermark is moved by calls
	Alone      bool // it keeps its own checkpoint
	Scheduled  bool // what a call leaves to be done is done behind it
	Verify     bool // the first batch of a transaction needs a guard

	Now           int64 // ms
	Start, End    int64
	High          int64 // the high watermark
	RecoveryPoint int64
	Epochs        []log.Epoch
	Segments      []*Segment // rising, the last one active

	aligned  bool  // High is where a batch begins
	promised int64 // what is below will be synced
	touched  bool  // something was changed since it was loaded
	Producers
}

// active is the segment that is appended to.
func (m *Log) active() *Segment { return m.Segments[len(m.Segments)-1] }

// floor is the number of the segment that offset lies in.
func (m *Log) floor(offset int64) int {
	at := 0
	for i, s := range m.Segments {
		if s.Base <= offset {
			at = i
		}
	}
	return at
}

// next is where the segment behind the i-th begins, or the end.
func (m *Log) next(i int) int64 {
	if i+1 < len(m.Segments) {
		return m.Segments[i+1].Base
	}
	return m.End
}

// settle brings the offsets in order behind a change of transactions, of the start or of the high watermark.
func (m *Log) settle() {
	m.follow()
	m.Producers.settle(m)
}

// follow is settle behind other changes: what is undecided is looked for only where the high watermark, not
// being below the end, follows that.
func (m *Log) follow() {
	if !m.Replicated || m.High >= m.End {
		m.High, m.aligned = m.End, true
		m.decide(m.High)
		m.Producers.settle(m)
	}
}

// create begins a segment.
func (m *Log) create(base int64) *Segment {
	return &Segment{Base: base, created: m.Now, interval: m.IndexIntervalBytes, bytes: m.IndexBytes, largest: noStamp}
}

// Roll begins a new segment at first or at the end, whichever is larger (UnifiedLog.roll).
func (m *Log) Roll(first int64) (base int64) {
	m.touched = true
	old := m.active()
	base = max(first, m.End)
	if base == old.Base && old.Size() == 0 {
		m.Segments[len(m.Segments)-1] = m.create(base)
	} else {
		old.seal()
		if m.Alone && old.end() != base { // or a recovery would take the gap for a loss
			m.RecoveryPoint = max(m.RecoveryPoint, base)
		}
		m.Segments = append(m.Segments, m.create(base))
		m.upTo = base
		m.snapshot()
	}
	if m.Scheduled {
		m.promised = base
	}
	m.follow()
	return base
}

// Settle is what is done behind a call that left it to be done: what lies before a new segment is synced.
func (m *Log) Settle() { m.Sync(m.promised) }

// mustRoll reports whether n bytes up to the offset last must not go into the active segment (LogSegment.shouldRoll).
func (m *Log) mustRoll(n, last, stamp int64) bool {
	s := m.active()
	if s.Size() > m.SegmentBytes-n || s.full() || last-s.Base > math.MaxInt32 {
		return true
	}
	if s.Size() == 0 {
		return false
	}
	waited := m.Now - s.created
	if first := s.Batches[0].Max; first >= 0 {
		waited = stamp - first
	}
	return waited > m.SegmentAge.Milliseconds()
}

// Sync makes what is below offset durable (UnifiedLog.flush).
func (m *Log) Sync(offset int64) { m.RecoveryPoint = max(m.RecoveryPoint, min(offset, m.End)) }

// SetHighWatermark moves the high watermark to offset, as far as the log goes (UnifiedLog.updateHighWatermark). The
// end has a place; where the start lies, for an offset below it, is looked up later.
func (m *Log) SetHighWatermark(offset int64) (at int64, moved bool) {
	was := m.High
	if m.Replicated {
		m.High = min(max(offset, m.Start), m.End)
		m.decide(m.High)
		m.settle()
		m.aligned = offset >= m.End
	}
	return m.High, m.High != was
}

// RaiseHighWatermark moves it up to where the batch with offset begins.
func (m *Log) RaiseHighWatermark(offset int64) (was int64, moved bool, err error) {
	if offset > m.End {
		return m.High, false, fs.ErrInvalid
	}
	m.align()
	if was = m.High; !m.Replicated {
		return was, false, nil
	}
	at, aligned := offset, false
	if offset >= max(m.Start, m.Segments[0].Base) {
		at, aligned = m.batchStart(offset), true
	}
	if at <= was {
		return was, false, nil
	}
	m.High, m.aligned = at, aligned
	m.decide(at)
	m.settle()
	return was, true, nil
}

// align moves a high watermark in the middle of a batch to where that begins, as looking for its place in a
// file does.
func (m *Log) align() {
	if m.aligned || m.High < max(m.Start, m.Segments[0].Base) {
		return
	}
	m.High, m.aligned = m.batchStart(m.High), true
	m.decide(m.High)
	m.Producers.settle(m)
}

// batchStart is where the batch begins that has offset, or the next one, or the end.
func (m *Log) batchStart(offset int64) int64 {
	if offset < m.Start {
		return m.End
	}
	for _, s := range m.Segments[m.floor(offset):] {
		for _, b := range s.Batches {
			if b.Last >= offset {
				return b.Base
			}
		}
	}
	return m.End
}

// NewLog is the log of an empty directory.
func NewLog(c log.Config, now int64) *Log {
	m := &Log{Config: c.WithDefaults(), Now: now}
	m.Segments, m.Producers = []*Segment{m.create(0)}, noProducers(0)
	m.settle()
	return m
}
