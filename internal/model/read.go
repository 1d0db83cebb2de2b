package model

import (
	"slices"

	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/log"
)

// Read is what a read answers.
type Read struct {
	Batches   []Batch
	Base, Pos int64 // where it lies
	Aborted   []index.AbortedTxn
}

// Limit is where reads end.
func (m *Log) Limit(i log.Isolation) int64 {
	switch i {
	case log.ReadToEnd:
		return m.End
	case log.ReadCommitted:
		return m.stable()
	default:
		return m.High
	}
}

// Read reads a run of batches from offset on (LocalLog.read).
func (m *Log) Read(offset int64, o log.ReadOptions) (r Read, err error) {
	if o.Isolation != log.ReadToEnd && offset >= m.Start {
		m.align()
	}
	if offset < max(m.Start, m.Segments[0].Base) || offset > m.End {
		return r, log.ErrOffsetOutOfRange
	}
	limit := m.Limit(o.Isolation)
	for i, s := range m.Segments {
		r.Base, r.Pos = s.Base, 0
		size := int64(0)
		for _, b := range s.Batches {
			switch {
			case b.Last < offset:
				r.Pos += b.Size
				continue
			case b.Last >= limit || offset >= limit:
				return m.found(r, i, offset, o), nil
			}
			if size += b.Size; size > int64(o.MaxBytes) && (o.Strict || size > b.Size) {
				return m.found(r, i, offset, o), nil
			}
			r.Batches = append(r.Batches, b)
		}
		if len(r.Batches) > 0 {
			return m.found(r, i, offset, o), nil
		}
	}
	return r, nil // the end, or a hole before it
}

// found adds the aborted transactions to a read of committed records in the i-th segment: those that may have
// records below the next index entry behind the bytes that were asked for (LocalLog.collectAbortedTransactions).
func (m *Log) found(r Read, i int, offset int64, o log.ReadOptions) Read {
	if o.Isolation != log.ReadCommitted || offset >= m.Limit(o.Isolation) {
		return r
	}
	full := r.Pos + m.filled(r, i, o)
	below := m.next(i)
	for n, e := range slices.Backward(m.Segments[i].Offsets) {
		if e.pos >= full {
			below = m.Segments[i].Offsets[n].offset
		}
	}
	r.Aborted = m.AbortedIn(offset, below)
	return r
}

// AbortedIn are the aborted transactions with records in [from, to) (TransactionIndex.collectAbortedTxns).
func (m *Log) AbortedIn(from, to int64) (all []index.AbortedTxn) {
	for _, s := range m.Segments[m.floor(from):] {
		for _, t := range s.Aborted {
			if t.LastOffset >= from && t.FirstOffset < to {
				all = append(all, t)
			}
			if t.StableOffset >= to {
				return all
			}
		}
	}
	return all
}

// filled is how many bytes a read has in Kafka, which fills it up with a part of a batch.
func (m *Log) filled(r Read, i int, o log.ReadOptions) int64 {
	there, first := int64(0), int64(0)
	pos := int64(0)
	for _, b := range m.Segments[i].Batches {
		if pos >= r.Pos && b.Last < m.Limit(o.Isolation) {
			there += b.Size
			if first == 0 {
				first = b.Size
			}
		}
		pos += b.Size
	}
	limit := int64(o.MaxBytes)
	if !o.Strict {
		limit = max(limit, first)
	}
	return min(there, limit)
}

// isAborted reports whether b is part of a transaction that was aborted.
func (m *Log) isAborted(b Batch) bool {
	for _, s := range m.Segments {
		for _, t := range s.Aborted {
			if b.Txn && t.ProducerID == b.Producer && t.FirstOffset <= b.Base && b.Last < t.LastOffset {
				return true
			}
		}
	}
	return false
}

// Records are the records from offset from on, of all segments.
func (m *Log) Records(from int64, i log.Isolation) []Record {
	var all []Record
	below := m.Limit(i)
	for _, s := range m.Segments {
		for _, b := range s.Batches {
			if b.Last >= below {
				return all
			}
			for _, r := range b.Records {
				if r.Offset >= from && !b.Control && (i != log.ReadCommitted || !m.isAborted(b)) {
					all = append(all, r)
				}
			}
		}
	}
	return all
}
