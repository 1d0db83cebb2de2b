package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/stratalog/strata/codec"
)

// How much a partition holds.
const (
	steps        = 150
	segmentBytes = 6000
)

// epochs are the leader epochs, each for a third of the steps.
var epochs = [3]int32{2, 3, 7}

// kind is how a producer works.
type kind int

const (
	plain        kind = iota // without id
	idempotent               // with sequences
	transacted               // in transactions whose markers keep the producer's epoch
	transactedV2             // in transactions whose markers raise it
)

// client is one producer.
type client struct {
	kind     kind
	id       int64
	epoch    int16
	sequence int32 // of its next record
	last     int32 // sequence; codec.NoSequence before the first one of the epoch
	time     int64 // of its last batch
	txn      *txn  // that it has open
	ended    int32 // the coordinator epoch of its last marker; −1 before the first
}

// txn is a transaction.
type txn struct {
	first   int64 // offset
	decided bool
	commit  bool
}

// record is a record of the model.
type record struct {
	codec.Record
	epoch int32 // the leader's; −1 where the model does not know
	txn   *txn  // nil outside of one
}

// step is one call of an append: records, or the marker that ends a transaction.
type step struct {
	epoch       int32  // the leader's
	by          client // as it was before
	compression codec.Compression
	records     []codec.Record // none in a marker
	commit      bool
	coordinator int32
	again       bool  // the batch is sent a second time
	base        int64 // the offset that it gets
}

// plan is what is done to a partition, and the model of what then is in it.
type plan struct {
	*rand.Rand
	partition int
	time      int64
	clients   []*client
	steps     []step
	records   []record // rising
	end       int64    // offset
}

// newPlan is the plan of a partition that is made at time.
func newPlan(partition int, time int64) *plan {
	p := &plan{Rand: rand.New(rand.NewPCG(uint64(partition), 4)), partition: partition, time: time}
	for id, k := range []kind{plain, idempotent, idempotent, transacted, transacted, transacted, transactedV2, transactedV2} {
		p.clients = append(p.clients, &client{kind: k, id: int64(100 + id), last: codec.NoSequence, ended: -1})
	}
	for i := range steps {
		p.step(epochs[i*len(epochs)/steps])
	}
	p.finish()
	return p
}

// step lets one producer do something.
func (p *plan) step(epoch int32) {
	c := p.clients[p.IntN(len(p.clients))]
	switch {
	case c.txn != nil && p.IntN(4) == 0:
		p.mark(c, epoch, p.IntN(2) == 0)
	default:
		p.append(c, epoch)
	}
}

// finish ends all transactions, but in the first partition, where the last ones stay open.
func (p *plan) finish() {
	last := epochs[len(epochs)-1]
	for i, c := range p.clients {
		if c.kind < transacted {
			continue
		}
		if p.partition == 0 && i >= len(p.clients)-3 {
			p.append(c, last)
			continue
		}
		if c.txn != nil {
			p.mark(c, last, i%2 == 0)
		}
	}
	p.append(p.clients[0], last)
}

// append appends some records of c.
func (p *plan) append(c *client, epoch int32) {
	s := step{epoch: epoch, by: *c, compression: codec.Compression(p.IntN(5)), base: p.end}
	if c.kind >= transacted && c.txn == nil {
		c.txn = &txn{first: p.end}
	}
	for range 1 + p.IntN(6) {
		r := p.record()
		s.records = append(s.records, r)
		p.records = append(p.records, record{r, epoch, c.txn})
	}
	if c.kind != plain {
		s.again = p.IntN(5) == 0
		c.sequence += int32(len(s.records))
		c.last = c.sequence - 1
	}
	c.time = s.records[0].Timestamp
	p.steps = append(p.steps, s)
}

// record is the next record.
func (p *plan) record() codec.Record {
	r := codec.Record{
		Offset: p.end, Timestamp: p.time - p.Int64N(60_000),
		Value: fmt.Appendf(nil, "record %d of partition %d, %0*d", p.end, p.partition, p.IntN(80), 0),
	}
	if p.IntN(3) > 0 {
		r.Key = fmt.Appendf(nil, "key %d", p.IntN(30))
	}
	if p.IntN(6) == 0 {
		r.Value = nil
	}
	if p.IntN(4) == 0 {
		r.Headers = []codec.RecordHeader{{Key: []byte("n"), Value: fmt.Append(nil, p.end)}, {Key: []byte("null")}}
	}
	p.end++
	return r
}

// mark ends c's transaction.
func (p *plan) mark(c *client, epoch int32, commit bool) {
	c.ended = int32(len(p.steps) / 50)
	p.steps = append(p.steps, step{epoch: epoch, by: *c, commit: commit, coordinator: c.ended, base: p.end})
	p.end++
	c.txn.decided, c.txn.commit = true, commit
	c.txn = nil
	if c.kind == transactedV2 {
		c.epoch++
		c.sequence, c.last = 0, codec.NoSequence
	}
}

// broker adds what the broker appends when it has taken the partition over: the records of the adoption, and
// those of the transactional producer that gets the lines of input.
func (p *plan) broker() {
	for i := range int64(3) {
		p.foreign(1_700_000_000_000+i, fmt.Sprintf("adopt-%d", i), fmt.Sprintf("after adoption %d", i), nil)
	}
	for i := range transactionsOfInput {
		t := &txn{first: p.end, decided: true, commit: committedOfInput(i)}
		for j := range recordsOfInput {
			p.foreign(p.time+int64(i), "input", inputValue(p.partition, i, j), t)
		}
		p.end++ // the marker
	}
}

// foreign adds a record of the broker's.
func (p *plan) foreign(time int64, key, value string, t *txn) {
	r := codec.Record{Offset: p.end, Timestamp: time, Key: []byte(key), Value: []byte(value)}
	p.records = append(p.records, record{r, -1, t})
	p.end++
}

// stable is the last stable offset: that of the first record of an open transaction, or the end.
func (p *plan) stable() int64 {
	stable := p.end
	for _, r := range p.records {
		if r.txn != nil && !r.txn.decided {
			stable = min(stable, r.txn.first)
		}
	}
	return stable
}

// visible are the records that a reader gets.
func (p *plan) visible(committed bool) []record {
	if !committed {
		return p.records
	}
	var seen []record
	stable := p.stable()
	for _, r := range p.records {
		if r.Offset < stable && (r.txn == nil || r.txn.commit) {
			seen = append(seen, r)
		}
	}
	return seen
}
