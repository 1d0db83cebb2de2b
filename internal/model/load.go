package model

import (
	"github.com/stratalog/strata/segment"
)

// Stored is what somebody keeps of a log that is not open.
type Stored struct {
	Clean                      bool
	RecoveryPoint, Start, High int64
}

// Close closes the log, and returns what is known of it then (UnifiedLog.close).
func (m *Log) Close() Stored {
	m.active().seal()
	m.snapshot()
	m.RecoveryPoint = m.End
	return m.Kill().clean()
}

func (s Stored) clean() Stored {
	s.Clean = true
	return s
}

// Kill is what is known of the log when its process dies: in Kafka the start is kept only where it is not
// that of the first segment.
func (m *Log) Kill() Stored {
	s := Stored{RecoveryPoint: m.RecoveryPoint, Start: m.Start, High: m.High}
	if !m.Alone && m.Start <= m.Segments[0].Base {
		s.Start = 0
	}
	return s
}

// Load opens the log anew (LogLoader.load).
func (m *Log) Load(s Stored) {
	from := len(m.Segments)
	if !s.Clean {
		from = m.floor(s.RecoveryPoint)
	}
	for i, seg := range m.Segments {
		if i >= from {
			m.recover(seg, s)
			for _, b := range seg.Batches {
				if n := len(m.Epochs); n == 0 || b.Epoch > m.Epochs[n-1].Epoch {
					m.assign(b.Epoch, b.Base)
				}
			}
		}
		seg.load(m.Now, m.IndexIntervalBytes, m.IndexBytes)
	}
	m.touched = !s.Clean
	if m.End = m.active().end(); m.End < s.Start {
		m.touched = true
		m.Segments, m.Epochs, m.End = []*Segment{m.create(s.Start)}, nil, s.Start
		clear(m.snapshots)
	}
	m.Start = min(max(s.Start, m.Segments[0].Base), m.End)
	m.cutEpochsFrom(m.End)
	m.cutEpochsBelow(s.Start)
	m.RecoveryPoint = max(min(s.RecoveryPoint, m.End), m.Start)
	if s.Clean || m.Alone { // alone it syncs what it has recovered
		m.RecoveryPoint = m.End
	}
	m.promised = 0
	m.High, m.aligned = m.Start, false
	if !m.Alone {
		m.High = min(max(m.Start, s.High), m.End)
	}
	snapshots := m.snapshots
	m.Producers = noProducers(0)
	m.snapshots = snapshots
	m.touched = m.removeStray(m.Segments) || m.touched
	m.rebuild(m, m.Start, m.End, s.Clean)
	if m.Producers.settle(m); !m.Replicated {
		m.settle()
	}
}

// recover verifies a segment (LogSegment.recover): its indexes are built anew, and the producers are brought
// behind it for that.
func (m *Log) recover(s *Segment, from Stored) {
	s.reindex()
	s.Aborted = nil
	p := Producers{known: map[int64]segment.Producer{}, snapshots: m.snapshots}
	p.rebuild(m, from.Start, s.Base, false)
	for _, b := range s.Batches {
		p.replay(b, s)
		p.upTo = b.Last + 1
	}
	p.snapshot()
}
