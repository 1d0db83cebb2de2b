package model

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

// latest is the offset of the last snapshot, or otherwise.
func (p *Producers) latest(otherwise int64) int64 {
	if len(p.snapshots) == 0 {
		return otherwise
	}
	return slices.Max(slices.Collect(maps.Keys(p.snapshots)))
}

// snapshot keeps the producers as they are, each with its last batch.
func (p *Producers) snapshot() {
	if p.upTo <= p.newest {
		return
	}
	all := p.All()
	for i := range all {
		if n := len(all[i].Batches); n > 0 {
			last := all[i].Batches[n-1]
			last.Timestamp = all[i].LastTimestamp
			all[i].Batches = []segment.ProducerBatch{last}
		}
	}
	p.snapshots[p.upTo], p.newest = all, p.upTo
}

// removeStray removes the snapshots that begin no segment, but for a last one behind all of these, and reports
// whether there were some.
func (p *Producers) removeStray(segments []*Segment) (some bool) {
	stray := int64(-1)
	for offset := range p.snapshots {
		if !slices.ContainsFunc(segments, func(s *Segment) bool { return s.Base == offset }) {
			stray = max(stray, offset)
		}
	}
	for offset := range p.snapshots {
		begins := slices.ContainsFunc(segments, func(s *Segment) bool { return s.Base == offset })
		if !begins && (offset != stray || stray < segments[len(segments)-1].Base) {
			delete(p.snapshots, offset)
			some = true
		}
	}
	return some
}

// rebuild brings the producers to the offset end of a log that starts at start.
func (p *Producers) rebuild(m *Log, start, end int64, clean bool) {
	var points []int64
	for _, s := range m.Segments[max(0, len(m.Segments)-2):] {
		points = append(points, s.Base)
	}
	if clean && len(p.snapshots) == 0 {
		for _, p.upTo = range append(points, end) {
			p.snapshot()
		}
		return
	}
	none := len(p.known) == 0 && len(p.decided) == 0 && p.upTo >= end
	p.reload(m, start, end)
	for i, s := range m.Segments {
		if none || p.upTo >= end || i+1 < len(m.Segments) && m.Segments[i+1].Base <= p.upTo || s.Base >= end {
			continue
		}
		p.upTo = max(p.upTo, s.Base, start)
		if slices.Contains(points, s.Base) {
			p.snapshot()
		}
		from := p.upTo
		for _, b := range s.Batches {
			if b.Last >= from && b.Last < end {
				p.replay(b, &Segment{})
			}
		}
	}
	p.upTo = end
	p.snapshot()
}

// replay takes a batch that is in the log.
func (p *Producers) replay(b Batch, s *Segment) {
	c, _, err := p.check([]Batch{b}, rules{follower: true})
	if err == nil { // what is in the log is in the log
		p.take(c, s)
	}
}

// reload goes back to the last snapshot.
func (p *Producers) reload(m *Log, start, end int64) {
	maps.DeleteFunc(p.snapshots, func(offset int64, _ []segment.Producer) bool { return offset > end || offset <= start })
	if p.upTo == end {
		p.setStart(start)
		return
	}
	p.known, p.open, p.decided = map[int64]segment.Producer{}, nil, nil
	p.newest = p.latest(start)
	p.upTo = p.newest
	for _, known := range p.snapshots[p.newest] {
		switch open := known.TxnFirstOffset != codec.NoOffset; {
		case open:
			p.open = append(p.open, txn{known.ID, known.TxnFirstOffset, codec.NoOffset})
		case m.Now-known.LastTimestamp >= m.ProducerAge.Milliseconds():
			continue
		}
		p.known[known.ID] = known
	}
	slices.SortFunc(p.open, func(a, b txn) int { return cmp.Compare(a.first, b.first) })
}
