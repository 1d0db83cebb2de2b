package log

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/producer"
)

// appendRules say what one append is.
type appendRules struct {
	origin    producer.Origin
	assign    bool  // offsets, epoch and timestamps are assigned
	epoch     int32 // the leader's
	producers producer.Rules
}

// incoming is an append on its way: the batches, first as they came, then as they are to be written.
type incoming struct {
	appendRules
	result Appended

	batches []byte         // whole ones
	hs      []codec.Header // theirs

	firstOffset int64 // of the first batch, or codec.NoOffset where its format does not tell
	lastOfFirst int64 // the last offset of the first batch
	baseOfFirst int64 // its first offset; codec.NoOffset where it is a wrapper that cannot be read
	lastOffset  int64
	maxStamp    int64
	assignedAt  int64 // the offset that the first record was given

	encoded []byte             // where a new encoding goes
	aborted []index.AbortedTxn // whose markers are among the batches
}

// incomings keeps the memory of appends for the next ones.
var incomings = sync.Pool{New: func() any { return new(incoming) }}

// takeIncoming is an empty incoming.
func takeIncoming(r appendRules) *incoming {
	in := incomings.Get().(*incoming)
	*in = incoming{
		appendRules: r, hs: in.hs[:0], encoded: in.encoded[:0], aborted: in.aborted[:0],
		firstOffset: codec.NoOffset, lastOfFirst: codec.NoOffset, baseOfFirst: codec.NoOffset, lastOffset: codec.NoOffset, maxStamp: codec.NoTimestamp,
		result: Appended{
			BaseOffset: codec.NoOffset, LastOffset: codec.NoOffset, LeaderEpoch: codec.NoLeaderEpoch,
			MaxTimestamp: codec.NoTimestamp, AppendTimestamp: codec.NoTimestamp,
		},
	}
	return in
}

// give gives its memory back. What has grown past what usual appends need is left to the collector.
func (in *incoming) give() {
	const most = 1 << 20
	in.batches = nil
	if cap(in.encoded) > most {
		in.encoded = nil
	}
	incomings.Put(in)
}

// check looks at the batches as they came, in Kafka's order of checks, and keeps their headers. It needs no
// lock: what depends on the log's state comes later.
func (in *incoming) check(c codec.Codec, batches []byte, f *inForce) error {
	monotonic, skip := true, false
	pos := 0
	for pos < len(batches) {
		h, err := c.Header(batches[pos:])
		if errors.Is(err, codec.ErrShort) || err == nil && h.Size > len(batches)-pos {
			break // cut off: the end of a fetch looks so
		}
		if err != nil {
			return fmt.Errorf("append: batch at byte %d: %w", pos, err)
		}
		if skip = skip || in.origin == producer.FromLeader && h.LeaderEpoch > in.epoch; skip {
			pos += h.Size
			continue
		}
		if err := in.checkBatch(c, batches[pos:pos+h.Size], &h, f); err != nil {
			return fmt.Errorf("append: batch at byte %d: %w", pos, err)
		}
		monotonic = monotonic && h.LastOffset > in.lastOffset
		in.note(&h)
		pos += h.Size
	}
	if !in.assign && !monotonic {
		return fmt.Errorf("append: %w", ErrOffsetOrder)
	}
	in.batches = batches[:in.result.Bytes]
	return nil
}

// checkBatch looks at one batch as it came.
func (in *incoming) checkBatch(c codec.Codec, batch []byte, h *codec.Header, f *inForce) error {
	switch {
	case in.origin == producer.FromRaftLeader && h.LeaderEpoch != in.epoch:
		return fmt.Errorf("leader epoch %d is not %d: %w", h.LeaderEpoch, in.epoch, ErrInvalidRecord)
	case in.origin == producer.FromClient && h.Magic >= 2 && h.BaseOffset != 0:
		return fmt.Errorf("base offset %d of a client's batch is not 0: %w", h.BaseOffset, ErrInvalidRecord)
	case in.origin != producer.FromLeader && int64(h.Size) > f.MessageBytes:
		return tooLarge(h.Size, f)
	}
	return c.Verify(batch)
}

// tooLarge is the error of a batch that is larger than MessageBytes.
func tooLarge(size int, f *inForce) error {
	return fmt.Errorf("%d bytes are more than max.message.bytes, %d: %w", size, f.MessageBytes, ErrRecordTooLarge)
}

// note keeps what is to be known of the next batch as it came.
func (in *incoming) note(h *codec.Header) {
	if len(in.hs) == 0 {
		in.lastOfFirst, in.baseOfFirst = h.LastOffset, h.BaseOffset
		if h.Magic >= 2 {
			in.firstOffset, in.result.BaseOffset = h.BaseOffset, h.BaseOffset
		}
	}
	in.hs = append(in.hs, *h)
	in.lastOffset = h.LastOffset
	in.maxStamp = max(in.maxStamp, h.MaxTimestamp)

	r := &in.result
	r.LastOffset, r.MaxTimestamp = in.lastOffset, in.maxStamp
	r.Batches++
	r.Records += max(h.Count, 0)
	r.Bytes += int64(h.Size)
	r.LeaderEpoch = h.LeaderEpoch
	if c := h.Attributes.Compression(); c != codec.None {
		r.Compression = c
	}
}

// readWrapped adds the records in wrappers, which no header counts, and finds the first offset of the append
// where a wrapper has it.
func (in *incoming) readWrapped(c codec.Codec) {
	pos := 0
	for i := range in.hs {
		end := pos + in.hs[i].Size
		if in.hs[i].Count < 0 {
			for r, err := range c.Records(in.batches[pos:end]) {
				if err != nil {
					break
				}
				if i == 0 && in.baseOfFirst == codec.NoOffset {
					in.baseOfFirst = r.Offset
				}
				in.result.Records++
			}
		}
		pos = end
	}
}

// validate does what Kafka's LogValidator does: the records are checked, and get their offsets from offset
// on.
func (in *incoming) validate(f *inForce, offset, now int64) error {
	r := codec.Rules{
		Offset: offset, LeaderEpoch: in.epoch, Now: now,
		Magic: f.magic(), Recompress: f.Compression != CompressionProducer,
		LogAppendTime: f.Timestamps == LogAppendTime,
		MaxAge:        limitMs(f.TimestampBefore), MaxAhead: limitMs(f.TimestampAfter),
		NeedKey: f.Cleanup&Compact != 0, FromClient: in.origin == producer.FromClient,
		Verified: true, // by check
	}
	if r.Recompress {
		r.Compression = codec.Compression(f.Compression - CompressionNone)
	}
	v, err := codec.Validate(f.codec, in.encoded[:0], in.batches, r)
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	in.batches = v.Batches
	if !v.InPlace {
		in.encoded = v.Batches
	}
	in.result.Converted = v.Converted
	in.result.Records = v.Records
	in.maxStamp, in.assignedAt = v.MaxTimestamp, offset
	in.result.MaxTimestamp = in.maxStamp
	if r.LogAppendTime {
		in.result.AppendTimestamp = now
	}
	return in.reread(f, !v.InPlace)
}

// limitMs is an age as codec.Rules have it.
func limitMs(d time.Duration) int64 {
	if d == unlimitedAge {
		return -1
	}
	return d.Milliseconds()
}

// reread reads the headers of the batches anew, once they were changed.
func (in *incoming) reread(f *inForce, sizes bool) error {
	in.hs = in.hs[:0]
	for pos := 0; pos < len(in.batches); {
		h, err := f.codec.Header(in.batches[pos:])
		if err != nil {
			return fmt.Errorf("append: %w", err)
		}
		if sizes && int64(h.Size) > f.MessageBytes {
			return fmt.Errorf("append: batch as it is to be written: %w", tooLarge(h.Size, f))
		}
		in.hs = append(in.hs, h)
		pos += h.Size
	}
	if n := len(in.hs); n > 0 {
		in.lastOffset = in.hs[n-1].LastOffset
	}
	return nil
}

// shift moves the batches, which were given offsets from assignedAt on, to those from offset on: somebody
// else appended meanwhile.
func (in *incoming) shift(c codec.Codec, offset int64) error {
	delta := offset - in.assignedAt
	if delta == 0 {
		return nil
	}
	pos := 0
	for i := range in.hs {
		h := &in.hs[i]
		if h.LastOffset > math.MaxInt64-1-delta {
			return fmt.Errorf("append: offset %d: %w", h.LastOffset, ErrInvalidRecord)
		}
		err := c.Restamp(in.batches[pos:pos+h.Size], codec.Stamp{
			LastOffset: h.LastOffset + delta, LeaderEpoch: h.LeaderEpoch,
			MaxTimestamp: h.MaxTimestamp, LogAppendTime: h.Attributes.LogAppendTime(),
		})
		if err != nil {
			return fmt.Errorf("append: %w", err)
		}
		h.LastOffset += delta
		h.BaseOffset += delta
		pos += h.Size
	}
	in.lastOffset += delta
	in.assignedAt = offset
	return nil
}
