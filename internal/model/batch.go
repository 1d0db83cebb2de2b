package model

import (
	"math"

	"github.com/stratalog/strata/codec"
)

// Batch is a batch as the model has it.
type Batch struct {
	Base, Last  int64 // its first and its last offset
	Size        int64 // in bytes
	Epoch       int32 // of the leader
	Max         int64 // the largest timestamp
	Compression codec.Compression
	Records     []Record

	Damaged bool // its checksum does not fit: no log takes it

	Producer      int64 // codec.NoProducerID where it has none
	ProducerEpoch int16
	Sequence      int32
	Txn, Control  bool
	Marker        codec.Marker // of a control batch
}

// Record is a record of a Batch.
type Record struct {
	Offset, Time int64
	Keyed        bool
	Value        string
}

// place gives b its place in the log of a leader.
func (b *Batch) place(base int64, epoch int32) {
	for i := range b.Records {
		b.Records[i].Offset = base + int64(i)
	}
	b.Base, b.Last, b.Epoch = base, base+int64(len(b.Records))-1, epoch
}

// lastSequence is the sequence of its last record: they wrap (DefaultRecordBatch.incrementSequence).
func (b *Batch) lastSequence() int32 {
	if b.Sequence < 0 {
		return b.Sequence
	}
	return int32((int64(b.Sequence) + b.Last - b.Base) % (math.MaxInt32 + 1))
}

// firstSequence is the sequence of its first record as a producer's state has it, counted back from the last
// one also where there is none.
func (b *Batch) firstSequence() int32 {
	first := int64(b.lastSequence()) - (b.Last - b.Base)
	if first < 0 {
		first += math.MaxInt32 + 1
	}
	return int32(first)
}

// date gives all records of b the time of the append.
func (b *Batch) date(ms int64) {
	for i := range b.Records {
		b.Records[i].Time = ms
	}
	b.Max = ms
}
