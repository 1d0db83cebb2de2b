package model

import (
	"fmt"
	"math"
	"time"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// append appends a batch as the leader does.
func (r *runner) append() {
	if r.op.c%16 == 0 {
		r.epoch++
	}
	b := r.batch(r.op)
	if r.op.c%32 == 1 {
		b.Base = 1
		for i := range b.Records {
			b.Records[i].Offset++
		}
	}
	r.lead(b, log.AppendOptions{})
}

// produce appends a batch of a producer as the leader does.
func (r *runner) produce() {
	b := r.batch(r.op)
	r.stamp(&b, r.op)
	if r.setup.verify && b.Txn && r.op.b%4 != 0 {
		r.ask(b)
	}
	o := log.AppendOptions{}
	if r.op.b%8 != 1 {
		o.Guard = r.model.asked[b.Producer].guard
	}
	r.lead(b, o)
}

// verify begins to verify a transaction.
func (r *runner) verify() {
	b := r.batch(r.op)
	r.stamp(&b, r.op)
	r.ask(b)
}

// ask begins to verify the transaction of which b is the first batch. Which guard the log gives is its own affair:
// it is the same as long as the model's is.
func (r *runner) ask(b Batch) {
	rises := r.op.b%4 == 1
	got, err := r.log.StartVerification(b.Producer, b.ProducerEpoch, b.Sequence, rises)
	want, wantErr := r.model.StartVerification(b.Producer, b.ProducerEpoch, b.Sequence, rises)
	if !r.sameErr("error", err, wantErr) || !r.same("needs a guard", got != 0, want != 0) {
		return
	}
	if old, ok := r.guards[want]; ok {
		r.same("guard", got, old)
	}
	r.guards[want] = got
}

// raft appends a batch with offsets that a leader has given.
func (r *runner) raft() {
	b := r.batch(r.op)
	if r.op.b%4 == 1 {
		r.stamp(&b, r.op)
	}
	b.place(max(0, r.model.End+pick[int64](r.op.b>>2, 0, 0, 1, -1)), r.epoch)
	if r.op.c%16 == 3 {
		b.Epoch--
	}
	r.lead(b, log.AppendOptions{Origin: log.FromRaftLeader})
}

// mark ends a transaction as the leader does.
func (r *runner) mark() {
	o := log.AppendOptions{Origin: log.FromCoordinator, TxnVersion: pick(r.op.c>>3, log.TxnV1, log.TxnV1, log.TxnV0, log.TxnV2)}
	if r.op.b%32 == 0 {
		o.Origin = log.FromClient
	}
	b := r.marker(r.op)
	if o.TxnVersion == log.TxnV2 && r.op.b%4 != 0 {
		b.ProducerEpoch++
	}
	r.lead(b, o)
}

// lead appends a batch as the leader does.
func (r *runner) lead(b Batch, o log.AppendOptions) {
	o.LeaderEpoch = r.epoch
	bytes, err := encode(nil, &b)
	if !r.sameErr("encode", err, nil) {
		return
	}
	want, wantErr := r.model.Append(b, o)
	o.Guard = r.guards[o.Guard]
	got, err := r.log.AppendWith(bytes, o)
	if r.sameErr("error", err, wantErr) {
		r.same("append", got, want)
	}
}

// producerOf is the producer of an operation: one has most.
func producerOf(o op) int64 { return pick[int64](o.c, 1, 1, 1, 1, 1, 2, 2, 3) }

// stamp gives b a producer: mostly what comes next of it, sometimes something else.
func (r *runner) stamp(b *Batch, o op) {
	b.Producer = producerOf(o)
	known, ok := r.model.known[b.Producer]
	b.ProducerEpoch = max(0, known.Epoch)
	b.Txn = known.TxnFirstOffset != codec.NoOffset && ok || o.a>>5%2 == 1
	if n := len(known.Batches); n > 0 {
		b.Sequence = codec.NextSequence(known.LastSequence(), 1)
	} else {
		b.Sequence = pick[int32](byte(b.Producer), 0, 0, 0, math.MaxInt32-2)
	}
	switch o.c >> 3 {
	case 0, 1: // again
		if n := len(known.Batches); n > 0 {
			old := known.Batches[int(o.b)%n]
			b.Sequence = old.FirstSequence
			size := int(old.LastOffset-old.FirstOffset) + 1
			for len(b.Records) < size {
				b.Records = append(b.Records, Record{Offset: int64(len(b.Records)), Time: b.Records[0].Time, Keyed: b.Records[0].Keyed})
			}
			b.Records = b.Records[:size]
		}
	case 2:
		b.Sequence = codec.NextSequence(b.Sequence, 1) // one is missing
	case 3:
		b.ProducerEpoch--
	case 4, 5:
		b.ProducerEpoch, b.Sequence = b.ProducerEpoch+1, 0
	case 6:
		b.ProducerEpoch, b.Sequence = b.ProducerEpoch+1, 3
	case 7:
		b.Txn = !b.Txn
	case 8:
		b.Sequence = codec.NoSequence
	}
}

// marker is one for a producer's transaction.
func (r *runner) marker(o op) Batch {
	known := r.model.known[producerOf(o)]
	b := Batch{
		Epoch: codec.NoLeaderEpoch, Producer: producerOf(o), ProducerEpoch: max(0, known.Epoch), Sequence: codec.NoSequence,
		Txn: true, Control: true, Records: []Record{{Time: r.clock.Now().UnixMilli()}},
		Marker: codec.Marker{Commit: o.a%2 == 0, CoordinatorEpoch: max(0, known.CoordinatorEpoch)},
	}
	switch o.c >> 3 {
	case 1:
		b.ProducerEpoch = max(0, b.ProducerEpoch-1)
	case 2:
		b.Marker.CoordinatorEpoch--
	case 3, 4:
		b.Marker.CoordinatorEpoch++
	case 5:
		b.ProducerEpoch++
	}
	return b
}

// follow appends up to three batches as a follower does.
func (r *runner) follow() {
	next := r.model.End
	if r.op.b%8 == 0 {
		next += int64(r.op.b / 8)
	}
	if r.op.c%32 == 2 {
		next = max(0, next-1)
	}
	var all []Batch
	var bytes []byte
	for i := range 1 + r.op.a/16%3 {
		b := r.copied(next, op{r.op.kind, r.op.a + i*37, r.op.b + i*11, r.op.c + i*5})
		var err error
		bytes, err = encode(bytes, &b)
		if !r.sameErr("encode", err, nil) {
			return
		}
		next = b.Last + 1 + int64(r.op.c%5/4)
		all = append(all, b)
	}
	epoch := r.epoch
	if r.op.c%8 == 3 {
		epoch += 5
	}
	got, err := r.log.AppendAssigned(bytes, epoch)
	want, wantErr := r.model.AppendAssigned(all, epoch)
	if r.sameErr("error", err, wantErr) {
		r.same("append", got, want)
	}
}

// copied is a batch at next as a leader has it.
func (r *runner) copied(next int64, o op) Batch {
	b := r.batch(o)
	switch o.b % 4 {
	case 1:
		r.stamp(&b, o)
	case 2:
		if o.b%8 == 2 {
			b = r.marker(o)
		}
	}
	b.place(next, r.epoch)
	for j := range b.Records { // a compacted batch has gaps
		if j > 0 && o.c%4 == 0 {
			b.Records[j].Offset += int64(j)
		}
	}
	switch o.c % 32 {
	case 3:
		b.Epoch++
	case 4:
		b.Epoch--
	case 5:
		b.Epoch = codec.NoLeaderEpoch
	}
	return b
}

func (r *runner) expire() { r.same("producers", r.log.ExpireProducers(), r.model.Expire()) }

// batch makes a batch of an operation's numbers.
func (r *runner) batch(o op) Batch {
	b := Batch{
		Epoch: codec.NoLeaderEpoch, Producer: codec.NoProducerID, ProducerEpoch: codec.NoProducerEpoch, Sequence: codec.NoSequence,
		Damaged: o.c == 255,
	}
	if o.a >= 192 {
		b.Compression = codec.Compression(1 + o.a%4)
	}
	first := r.clock.Now().UnixMilli() + int64(int8(o.b))/8*tick.Milliseconds()
	for i := range 1 + int64(o.a%4) {
		rec := Record{Offset: i, Time: first + i*pick(o.c, 0, tick, -tick, time.Millisecond).Milliseconds(), Keyed: o.c%5 != 0}
		if o.b%32 == 7 {
			rec.Time = codec.NoTimestamp
		}
		r.values++
		rec.Value = padded(fmt.Sprintf("v%d", r.values), pick(o.a>>2, 0, 20, 60, 150))
		b.Records = append(b.Records, rec)
	}
	return b
}
