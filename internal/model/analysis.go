package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// rules are those for a batch, which depend on who appends.
type rules struct {
	client, follower bool
	version          log.TxnVersion
	verify           bool // the first batch of a transaction needs the guard
	guard            log.Guard
}

// change is what an append brings of one producer: next has its new batches only.
type change struct {
	was, next segment.Producer
	asked     *verification
	started   []txn
	txn       bool // it has a batch of a transaction
}

// changes is what an append brings.
type changes struct {
	of    map[int64]*change
	order []int64
	ended []ended
}

// ended is a transaction that a marker ended.
type ended struct {
	txn
	commit bool
}

// check looks at the batches of an append, and changes nothing. twice is the batch that is there already.
func (p *Producers) check(batches []Batch, r rules) (c changes, twice *segment.ProducerBatch, err error) {
	c.of = map[int64]*change{}
	for i := range batches {
		b := &batches[i]
		if b.Producer < 0 {
			continue
		}
		if twice := p.twice(b); r.client && twice != nil {
			return c, twice, nil
		}
		x := c.of[b.Producer]
		if x == nil {
			x = p.begin(b.Producer)
			c.of[b.Producer], c.order = x, append(c.order, b.Producer)
		}
		x.txn = x.txn || b.Txn
		if !x.verified(b, r) {
			return c, nil, log.ErrInvalidTxnState
		}
		if b.Control {
			err = c.mark(x, b, r)
		} else {
			err = x.data(b, r)
		}
		if err != nil {
			return c, nil, err
		}
	}
	return c, nil, nil
}

// twice is the batch among the last five that b repeats.
func (p *Producers) twice(b *Batch) *segment.ProducerBatch {
	known, ok := p.known[b.Producer]
	for _, old := range known.Batches {
		if ok && known.Epoch == b.ProducerEpoch && old.FirstSequence == b.Sequence && old.LastSequence == b.lastSequence() {
			return &old
		}
	}
	return nil
}

// begin is a change that brings nothing yet.
func (p *Producers) begin(id int64) *change {
	was, ok := p.known[id]
	if !ok {
		was = segment.Producer{
			ID: id, Epoch: codec.NoProducerEpoch, LastTimestamp: codec.NoTimestamp,
			CoordinatorEpoch: -1, TxnFirstOffset: codec.NoOffset,
		}
	}
	x := &change{was: was, next: was}
	if v, ok := p.asked[id]; ok {
		x.asked = &v
	}
	x.next.Batches = nil
	return x
}

// verified reports whether b may be appended as far as verification goes.
func (x *change) verified(b *Batch, r rules) bool {
	inTxn := x.was.TxnFirstOffset != codec.NoOffset && x.was.Epoch == b.ProducerEpoch
	if !r.verify || r.follower || !b.Txn || b.Control || inTxn {
		return true
	}
	return x.asked != nil && r.guard == x.asked.guard
}

// data takes a data batch.
func (x *change) data(b *Batch, r rules) error {
	if !r.follower && b.ProducerEpoch < x.next.Epoch {
		return log.ErrFenced
	}
	if r.client && !x.inSequence(b) {
		return log.ErrOutOfOrderSequence
	}
	x.enter(b.ProducerEpoch)
	x.next.Batches = append(x.next.Batches, segment.ProducerBatch{
		FirstSequence: b.firstSequence(), LastSequence: b.lastSequence(), FirstOffset: b.Base, LastOffset: b.Last, Timestamp: b.Max,
	})
	x.next.LastTimestamp = b.Max
	switch open := x.next.TxnFirstOffset != codec.NoOffset; {
	case open && !b.Txn:
		return log.ErrInvalidTxnState
	case !open && b.Txn:
		x.next.TxnFirstOffset = b.Base
		x.started = append(x.started, txn{b.Producer, b.Base, codec.NoOffset})
	}
	return nil
}

// inSequence reports whether b follows what is known of its producer.
func (x *change) inSequence(b *Batch) bool {
	if x.asked != nil && b.Sequence > x.asked.sequence {
		return false
	}
	if b.ProducerEpoch != x.next.Epoch {
		return b.Sequence == 0 || x.next.Epoch == codec.NoProducerEpoch && (x.asked == nil || !x.asked.rises)
	}
	last := x.was.LastSequence()
	if n := len(x.next.Batches); n > 0 {
		last = x.next.Batches[n-1].LastSequence
	}
	return x.was.Epoch == codec.NoProducerEpoch || int64(b.Sequence) == int64(last)+1 || b.Sequence == 0 && last == math.MaxInt32
}

// enter begins another epoch of the producer, if it is another one.
func (x *change) enter(epoch int16) {
	if epoch != x.next.Epoch {
		x.next.Epoch, x.next.Batches = epoch, nil
	}
}

// mark takes a marker.
func (c *changes) mark(x *change, b *Batch, r rules) error {
	open := x.next.TxnFirstOffset != codec.NoOffset
	switch {
	case r.follower:
	case b.ProducerEpoch < x.next.Epoch,
		r.version == log.TxnV2 && b.ProducerEpoch == x.next.Epoch && open:
		return log.ErrFenced
	case b.Marker.CoordinatorEpoch < x.next.CoordinatorEpoch:
		return log.ErrCoordinatorFenced
	}
	if open {
		c.ended = append(c.ended, ended{txn{b.Producer, x.next.TxnFirstOffset, b.Base}, b.Marker.Commit})
	}
	x.enter(b.ProducerEpoch)
	x.next.TxnFirstOffset, x.next.LastTimestamp, x.next.CoordinatorEpoch = codec.NoOffset, b.Max, b.Marker.CoordinatorEpoch
	return nil
}

// take makes changes true. The markers lie in s.
func (p *Producers) take(c changes, s *Segment) {
	for _, id := range c.order {
		x := c.of[id]
		next := x.next
		if x.was.Epoch == next.Epoch {
			next.Batches = slices.Concat(x.was.Batches, next.Batches)
		}
		next.Batches = slices.Clone(next.Batches[max(0, len(next.Batches)-5):])
		if p.known[id] = next; x.txn {
			delete(p.asked, id)
		}
		p.open = append(p.open, x.started...)
	}
	slices.SortFunc(p.open, func(a, b txn) int { return cmp.Compare(a.first, b.first) })
	for _, e := range c.ended {
		if !e.commit {
			s.abort(e.txn, p.stableBehind(e.txn))
		}
		p.open = slices.DeleteFunc(p.open, func(o txn) bool { return o.first == e.first })
		p.decided = append(p.decided, e.txn)
	}
}

// stableBehind is the last stable offset once e has ended.
func (p *Producers) stableBehind(e txn) int64 {
	for _, o := range p.open {
		if o.producer != e.producer {
			return o.first
		}
	}
	return e.last + 1
}
