package model

import (
	"io/fs"

	"github.com/stratalog/strata/log"
)

// DeleteBefore moves the start up (UnifiedLog.maybeIncrementLogStartOffset).
func (m *Log) DeleteBefore(offset int64) (moved bool, err error) {
	switch {
	case offset > m.High:
		return false, log.ErrOffsetOutOfRange
	case offset <= m.Start:
		return false, nil
	}
	m.moveStart(offset)
	return true, nil
}

func (m *Log) moveStart(offset int64) {
	m.touched = true
	m.Start = offset
	if m.High < offset {
		m.High, m.aligned = offset, false
		m.decide(offset)
	}
	m.RecoveryPoint = max(m.RecoveryPoint, offset)
	m.cutEpochsBelow(offset)
	m.setStart(offset)
	m.settle()
}

// Retain takes the oldest segments out, and returns how many (UnifiedLog.deleteOldSegments).
func (m *Log) Retain() (deleted int) {
	over := -m.RetainBytes
	rules := []func(i int) bool{
		func(i int) bool { return i+1 < len(m.Segments) && m.next(i) <= m.Start },
		func(i int) bool {
			over -= m.Segments[i].Size()
			return m.Cleanup&log.Delete != 0 && m.RetainBytes >= 0 && over >= 0
		},
		func(i int) bool {
			return m.Cleanup&log.Delete != 0 && m.RetainAge >= 0 && m.Now-m.Segments[i].newest() > m.RetainAge.Milliseconds()
		},
	}
	for number, rule := range rules {
		if number == 1 {
			for _, s := range m.Segments {
				over += s.Size()
			}
		}
		deleted += m.retain(rule)
	}
	return deleted
}

func (m *Log) retain(rule func(i int) bool) (n int) {
	for n < len(m.Segments) && m.High >= m.next(n) && (n+1 < len(m.Segments) || m.active().Size() > 0) && rule(n) {
		n++
	}
	if n == 0 {
		return 0
	}
	m.touched = true
	if n == len(m.Segments) {
		m.Roll(0)
	}
	if base := m.Segments[n].Base; base > m.Start {
		m.moveStart(base)
	}
	for _, s := range m.Segments[:n] {
		delete(m.snapshots, s.Base)
	}
	m.Segments = m.Segments[n:]
	return n
}

// Truncate drops all batches with records at offset or above (UnifiedLog.truncateTo).
func (m *Log) Truncate(offset int64) (truncated bool, err error) {
	switch {
	case offset < 0:
		return false, fs.ErrInvalid
	case offset >= m.End:
		m.cutEpochsFrom(m.End)
		return false, nil
	case offset < m.Segments[0].Base:
		return true, m.Reset(offset, offset)
	}
	m.touched = true
	keep := m.floor(offset) + 1
	for _, s := range m.Segments[keep:] {
		delete(m.snapshots, s.Base)
	}
	m.Segments = m.Segments[:keep]
	m.active().truncate(offset, m.Now)
	m.End, m.Start = offset, min(m.Start, offset)
	m.RecoveryPoint, m.promised = min(m.RecoveryPoint, offset), min(m.promised, offset)
	m.cutEpochsFrom(offset)
	m.rebuild(m, m.Start, m.End, false)
	m.follow()
	return true, nil
}

// Reset drops everything and goes on at offset (UnifiedLog.truncateFullyAndStartAt).
func (m *Log) Reset(offset, start int64) error {
	if offset < 0 || start < 0 || start > offset {
		return fs.ErrInvalid
	}
	m.touched = true
	m.Segments = []*Segment{m.create(offset)}
	m.Start, m.End, m.High = start, offset, offset
	m.RecoveryPoint, m.promised = min(m.RecoveryPoint, offset), min(m.promised, offset)
	asked, guards := m.asked, m.guards // their coordinators will answer
	m.Epochs, m.Producers = nil, noProducers(offset)
	m.asked, m.guards = asked, guards
	m.rebuild(m, m.Start, m.End, false)
	m.follow()
	return nil
}
