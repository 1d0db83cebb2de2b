package producer

import (
	"math"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

// window is how many batches duplicates are told by: a client has no more requests under way.
const window = 5

// batch is a segment.ProducerBatch in 24 bytes.
type batch struct {
	lastOffset int64
	timestamp  int64
	lastSeq    int32
	delta      int32 // last offset less first offset
}

// firstSeq is the sequence of the first record. Sequences wrap from 2³¹−1 to 0.
func (b batch) firstSeq() int32 {
	if b.lastSeq < b.delta {
		return math.MaxInt32 - (b.delta - b.lastSeq) + 1
	}
	return b.lastSeq - b.delta
}

// export is b as others know it.
func (b batch) export() segment.ProducerBatch {
	return segment.ProducerBatch{
		FirstSequence: b.firstSeq(), LastSequence: b.lastSeq,
		FirstOffset: b.lastOffset - int64(b.delta), LastOffset: b.lastOffset,
		Timestamp: b.timestamp,
	}
}

// entry is one producer. A State has very many of them: it is 152 bytes, with nothing behind a pointer.
type entry struct {
	id               int64
	lastTimestamp    int64
	txnFirst         int64 // of its open transaction, or codec.NoOffset
	coordinatorEpoch int32
	epoch            int16
	n                uint8         // of batches
	batches          [window]batch // the last n, oldest first
}

// unknown is a producer that nothing is known of.
var unknown = entry{
	lastTimestamp: codec.NoTimestamp, txnFirst: codec.NoOffset,
	coordinatorEpoch: -1, epoch: codec.NoProducerEpoch,
}

// last is the last batch. ok is false where there is none.
func (e *entry) last() (b batch, ok bool) {
	if e.n == 0 {
		return batch{}, false
	}
	return e.batches[e.n-1], true
}

// lastSeq is the sequence of the last record, or codec.NoSequence.
func (e *entry) lastSeq() int32 {
	if b, ok := e.last(); ok {
		return b.lastSeq
	}
	return codec.NoSequence
}

// inTxn reports whether a transaction of the epoch is open.
func (e *entry) inTxn(epoch int16) bool { return e.txnFirst != codec.NoOffset && e.epoch == epoch }

// add adds a batch, in the place of the oldest where there are enough.
func (e *entry) add(b batch) {
	if e.n == window {
		copy(e.batches[:], e.batches[1:])
		e.n--
	}
	e.batches[e.n] = b
	e.n++
}

// setEpoch sets the epoch. Batches of another one tell no duplicates any more.
func (e *entry) setEpoch(epoch int16) {
	if e.epoch != epoch {
		e.epoch = epoch
		e.n = 0
	}
}

// merge brings e up to next, which has the batches that came since.
func (e *entry) merge(next *entry) {
	e.setEpoch(next.epoch)
	for _, b := range next.batches[:next.n] {
		e.add(b)
	}
	e.coordinatorEpoch = next.coordinatorEpoch
	e.txnFirst = next.txnFirst
	e.lastTimestamp = next.lastTimestamp
}

// find is the batch with the sequences of h, if it is still remembered.
func (e *entry) find(h *codec.Header) (b batch, ok bool) {
	if e.epoch != h.ProducerEpoch {
		return batch{}, false
	}
	last := h.LastSequence()
	for _, b := range e.batches[:e.n] {
		if b.lastSeq == last && b.firstSeq() == h.BaseSequence {
			return b, true
		}
	}
	return batch{}, false
}

// export is e as others know it.
func (e *entry) export() segment.Producer {
	p := segment.Producer{
		ID: e.id, Epoch: e.epoch, LastTimestamp: e.lastTimestamp,
		CoordinatorEpoch: e.coordinatorEpoch, TxnFirstOffset: e.txnFirst,
	}
	for _, b := range e.batches[:e.n] {
		p.Batches = append(p.Batches, b.export())
	}
	return p
}

// store is e as a snapshot has it.
func (e *entry) store() Entry {
	stored := Entry{
		ProducerID: e.id, Epoch: e.epoch, Timestamp: e.lastTimestamp,
		LastSequence: codec.NoSequence, LastOffset: codec.NoOffset,
		CoordinatorEpoch: e.coordinatorEpoch, TxnFirstOffset: e.txnFirst,
	}
	if b, ok := e.last(); ok {
		stored.LastSequence, stored.LastOffset, stored.OffsetDelta = b.lastSeq, b.lastOffset, b.delta
	}
	return stored
}

// restore is the reverse of store: of the batches the last is left, with the producer's timestamp. e is zero.
func (e *entry) restore(stored *Entry) {
	e.id, e.lastTimestamp, e.txnFirst = stored.ProducerID, stored.Timestamp, max(stored.TxnFirstOffset, codec.NoOffset)
	e.coordinatorEpoch, e.epoch = stored.CoordinatorEpoch, stored.Epoch
	if stored.LastOffset >= 0 {
		e.add(batch{
			lastOffset: stored.LastOffset, timestamp: stored.Timestamp,
			lastSeq: stored.LastSequence, delta: stored.OffsetDelta,
		})
	}
}
