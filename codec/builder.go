package codec

import (
	"fmt"
	"math"

	"github.com/stratalog/strata/internal/varint"
)

// Builder makes a batch of records as they come, for producers.
//
//   - The size of a compressed batch is estimated from how well those before it packed: at first, not at
//     all.
//   - What no producer may write is ErrInvalid at the end: a transaction without a producer, a producer
//     without epoch or, but for control records, without sequence.
//
// It may be used by one goroutine at a time.
type Builder struct {
	codec      Codec
	header     Header
	limitBytes int64

	recs  []Record
	bytes int64   // of recs, encoded but not compressed
	ratio float64 // of packed bytes to bytes
	arena arena
}

// NewBuilder returns a Builder of batches with the header h, whose records get the offsets h.BaseOffset,
// +1, +2… limitBytes bounds the estimated size of the batch.
func NewBuilder(c Codec, h Header, limitBytes int) *Builder {
	b := &Builder{codec: c, limitBytes: int64(limitBytes), ratio: 1}
	b.Reset(h)
	return b
}

// Add takes r, whose Offset does not count, and copies what it keeps. ok is false where r does not fit any
// more: then nothing was taken. The first record always fits. A record that the format cannot hold is
// ErrFormat.
func (b *Builder) Add(r Record) (ok bool, err error) {
	switch {
	case b.header.Magic < 2 && len(r.Headers) > 0:
		return false, fmt.Errorf("headers in magic %d: %w", b.header.Magic, ErrFormat)
	case r.Timestamp < NoTimestamp:
		return false, fmt.Errorf("timestamp %d: %w", r.Timestamp, ErrInvalid)
	}
	r.Offset = b.header.BaseOffset + int64(len(b.recs))
	size := b.size(&r)
	if size > math.MaxInt32 {
		return false, fmt.Errorf("record of %d bytes: %w", size, ErrTooLarge)
	}
	if len(b.recs) > 0 && (b.estimate(size) > b.limitBytes || len(b.recs) == math.MaxInt32) {
		return false, nil
	}
	b.bytes += size
	b.recs = append(b.recs, b.arena.keep(r))
	return true, nil
}

// size is what r adds to the records before they are compressed.
func (b *Builder) size(r *Record) int64 {
	if b.header.Magic < 2 {
		return messageBytes(b.header.Magic, r)
	}
	first := r
	if len(b.recs) > 0 {
		first = &b.recs[0]
	}
	body := bodyBytes(r, r.Timestamp-first.Timestamp, r.Offset-first.Offset)
	return body + int64(varint.Size(body))
}

// safety is what Kafka's producer puts on an estimate, so that a batch which packs a little worse than the
// last ones still fits.
const safety = 1.05

// estimate is the size of the batch with size bytes more in it.
func (b *Builder) estimate(size int64) int64 {
	size += b.bytes
	if b.header.Attributes.Compression() != None {
		size = int64(float64(size) * min(b.ratio*safety, 1))
	}
	switch {
	case b.header.Magic >= 2:
		size += batchHeaderBytes
	case b.header.Attributes.Compression() != None:
		size += minBytes(b.header.Magic)
	}
	return size
}

// Len is the number of records taken.
func (b *Builder) Len() int { return len(b.recs) }

// Size is the estimated size of the batch.
func (b *Builder) Size() int {
	if len(b.recs) == 0 {
		return 0
	}
	return int(min(b.estimate(0), math.MaxInt))
}

// AppendTo encodes the batch behind dst; of no records it makes nothing.
func (b *Builder) AppendTo(dst []byte) ([]byte, error) {
	if len(b.recs) == 0 {
		return dst, nil
	}
	h := &b.header
	switch {
	case h.Attributes.Transactional() && h.ProducerID == NoProducerID:
		return dst, fmt.Errorf("transaction without a producer: %w", ErrInvalid)
	case h.ProducerID != NoProducerID && h.ProducerEpoch < 0,
		h.ProducerID != NoProducerID && h.BaseSequence < 0 && !h.Attributes.Control():
		return dst, fmt.Errorf("producer %d of epoch %d and sequence %d: %w", h.ProducerID, h.ProducerEpoch, h.BaseSequence, ErrInvalid)
	}
	longer, err := b.codec.Append(dst, *h, b.recs)
	if err == nil {
		b.learn(len(longer) - len(dst))
	}
	return longer, err
}

// learn moves the estimate towards how the batch of size bytes packed: quickly where it was too low, slowly
// where it was too high, and never below what was seen.
func (b *Builder) learn(size int) {
	const quickly, slowly = 0.05, 0.005
	seen := float64(size) / float64(max(b.bytes, 1))
	if seen > b.ratio {
		b.ratio = max(b.ratio+quickly, seen)
	} else {
		b.ratio = max(b.ratio-slowly, seen)
	}
}

// Reset drops the records and begins a batch with the header h.
func (b *Builder) Reset(h Header) {
	b.header = h
	b.header.LastOffset = NoOffset // that of the records
	clear(b.recs)
	b.recs, b.bytes = b.recs[:0], 0
	b.arena.reset()
}

// arena holds the bytes of records in few allocations.
type arena struct {
	free []byte // its length is what is taken
}

const arenaBytes = 64 << 10

// keep returns a copy of r in the arena.
func (a *arena) keep(r Record) Record {
	r.Key, r.Value = a.copy(r.Key), a.copy(r.Value)
	if len(r.Headers) > 0 {
		headers := make([]RecordHeader, len(r.Headers))
		for i, h := range r.Headers {
			headers[i] = RecordHeader{Key: a.copy(h.Key), Value: a.copy(h.Value)}
		}
		r.Headers = headers
	}
	return r
}

// copy keeps null apart from empty.
func (a *arena) copy(b []byte) []byte {
	if len(b) == 0 {
		return b[:0:0] // nothing of b can be seen through it
	}
	if len(b) > cap(a.free)-len(a.free) {
		a.free = make([]byte, 0, max(len(b), arenaBytes))
	}
	start := len(a.free)
	a.free = append(a.free, b...)
	return a.free[start:len(a.free):len(a.free)]
}

// reset takes the last block back: nothing of what was kept may be used any more.
func (a *arena) reset() { a.free = a.free[:0] }
