package model

import (
	"maps"
	"slices"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// Producers are what a log knows of its producers and their transactions (ProducerStateManager).
type Producers struct {
	known     map[int64]segment.Producer
	open      []txn                        // by rising first offset
	decided   []txn                        // with markers that are not below the high watermark yet
	upTo      int64                        // the offset up to which they are known
	snapshots map[int64][]segment.Producer // by their offsets
	newest    int64                        // the offset of the last snapshot
	asked     map[int64]verification       // the transactions that coordinators are being asked about
	guards    log.Guard                    // how many there have been
	unstable  int64                        // the first offset of an undecided transaction, or codec.NoOffset
}

// txn is a transaction, from its first offset to its marker.
type txn struct{ producer, first, last int64 }

// verification is a transaction that a coordinator is being asked about.
type verification struct {
	guard    log.Guard
	begun    int64
	epoch    int16
	sequence int32
	rises    bool
}

// noProducers are those of a log that begins at offset.
func noProducers(offset int64) Producers {
	return Producers{
		known: map[int64]segment.Producer{}, snapshots: map[int64][]segment.Producer{}, asked: map[int64]verification{},
		upTo: offset, unstable: codec.NoOffset,
	}
}

// All are the producers by rising id.
func (p *Producers) All() (all []segment.Producer) {
	for _, id := range slices.Sorted(maps.Keys(p.known)) {
		all = append(all, p.known[id])
	}
	return all
}

// Expire forgets the producers that were not heard of for long, and returns how many.
func (m *Log) Expire() (n int) {
	for id, known := range m.known {
		if known.TxnFirstOffset == codec.NoOffset && m.Now-known.LastTimestamp >= m.ProducerAge.Milliseconds() {
			delete(m.known, id)
			n++
		}
	}
	maps.DeleteFunc(m.asked, func(_ int64, v verification) bool { return m.Now-v.begun >= m.ProducerAge.Milliseconds() })
	return n
}

// StartVerification begins to verify a transaction (UnifiedLog.maybeStartTransactionVerification).
func (m *Log) StartVerification(id int64, epoch int16, sequence int32, rises bool) (log.Guard, error) {
	known, ok := m.known[id]
	switch {
	case ok && known.TxnFirstOffset != codec.NoOffset && known.Epoch == epoch:
		return 0, nil
	case ok && epoch < known.Epoch:
		return 0, log.ErrFenced
	}
	v, ok := m.asked[id]
	switch {
	case !ok:
		m.guards++
		v = verification{m.guards, m.Now, epoch, sequence, rises}
	case epoch == v.epoch:
		v.sequence = min(v.sequence, sequence)
	case epoch > v.epoch:
		v.epoch, v.sequence = epoch, sequence
	}
	m.asked[id] = v
	return v.guard, nil
}

// decide lets go the transactions whose markers lie below offset.
func (p *Producers) decide(offset int64) {
	p.decided = slices.DeleteFunc(p.decided, func(t txn) bool { return t.last < offset })
}

// setStart says where the log starts now.
func (p *Producers) setStart(offset int64) {
	p.decide(offset)
	p.upTo = max(p.upTo, offset)
	p.newest = p.latest(offset)
}

// settle finds the first undecided offset (UnifiedLog.maybeIncrementFirstUnstableOffset).
func (p *Producers) settle(m *Log) {
	p.unstable = codec.NoOffset
	for _, t := range slices.Concat(p.open, p.decided) {
		if p.unstable == codec.NoOffset || t.first < p.unstable {
			p.unstable = t.first
		}
	}
	if p.unstable != codec.NoOffset && p.unstable < m.Start {
		if p.unstable = m.Start; m.Start < m.End {
			p.unstable = m.batchStart(m.Start)
		}
	}
}

// stable is the last stable offset (UnifiedLog.lastStableOffset).
func (m *Log) stable() int64 {
	if u := m.unstable; u != codec.NoOffset && u < m.High {
		return u
	}
	return m.High
}
