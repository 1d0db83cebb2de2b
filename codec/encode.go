package codec

import (
	"fmt"
	"math"

	"github.com/stratalog/strata/internal/varint"
)

// measure checks recs against the batch that they go to, and returns the largest timestamp and the size of
// the records when they are not compressed.
func measure(h *Header, recs []Record) (newest int64, size int, err error) {
	newest = NoTimestamp
	last := h.BaseOffset - 1
	var total int64
	for i := range recs {
		r := &recs[i]
		if r.Offset <= last {
			return 0, 0, fmt.Errorf("record %d: offset %d behind %d: %w", i, r.Offset, last, ErrInvalid)
		}
		if r.Timestamp < NoTimestamp {
			return 0, 0, fmt.Errorf("record %d: timestamp %d: %w", i, r.Timestamp, ErrInvalid)
		}
		last = r.Offset
		newest = max(newest, r.Timestamp)
		body := bodyBytes(r, r.Timestamp-h.BaseTimestamp, r.Offset-h.BaseOffset)
		if body > math.MaxInt32 {
			return 0, 0, fmt.Errorf("record %d: %d bytes: %w", i, body, ErrTooLarge)
		}
		total += body + int64(varint.Size(body))
		if total > maxBatchBytes {
			return 0, 0, fmt.Errorf("%d records of more than %d bytes: %w", len(recs), total, ErrTooLarge)
		}
	}
	return newest, int(total), nil
}

// bodyBytes is the size of a record without the size field itself.
func bodyBytes(r *Record, timestamp, offset int64) int64 {
	n := 1 + varint.Size(timestamp) + varint.Size(offset) + varint.Size(int64(len(r.Headers)))
	total := int64(n) + partBytes(r.Key) + partBytes(r.Value)
	for i := range r.Headers {
		total += int64(varint.Size(int64(len(r.Headers[i].Key)))+len(r.Headers[i].Key)) + partBytes(r.Headers[i].Value)
	}
	return total
}

// partBytes is the size of a key or value with its size field.
func partBytes(b []byte) int64 {
	if b == nil {
		return 1
	}
	return int64(varint.Size(int64(len(b))) + len(b))
}

// writeRecords encodes recs, which measure has seen, over dst, which they fill.
func writeRecords(dst []byte, h *Header, recs []Record) {
	pos := 0
	for i := range recs {
		r := &recs[i]
		timestamp, offset := r.Timestamp-h.BaseTimestamp, r.Offset-h.BaseOffset
		pos += varint.Put(dst[pos:], bodyBytes(r, timestamp, offset))
		dst[pos] = 0 // attributes
		pos++
		pos += varint.Put(dst[pos:], timestamp)
		pos += varint.Put(dst[pos:], offset)
		pos += putPart(dst[pos:], r.Key)
		pos += putPart(dst[pos:], r.Value)
		pos += varint.Put(dst[pos:], int64(len(r.Headers)))
		for j := range r.Headers {
			pos += varint.Put(dst[pos:], int64(len(r.Headers[j].Key)))
			pos += copy(dst[pos:], r.Headers[j].Key)
			pos += putPart(dst[pos:], r.Headers[j].Value)
		}
	}
}

// putPart encodes a key or value, where nil is null, over dst, and returns its size.
func putPart(dst, b []byte) int {
	if b == nil {
		return varint.Put(dst, -1)
	}
	n := varint.Put(dst, int64(len(b)))
	return n + copy(dst[n:], b)
}
