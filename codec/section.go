package codec

import (
	"fmt"
	"slices"

	"github.com/stratalog/strata/internal/bufpool"
)

// section is the records of a batch of magic 2 as one run of bytes, unpacked if need be. done gives back
// what was borrowed for it: nothing may alias the section behind it.
func (k *kafka) section(h *Header, batch []byte) (section []byte, done func(), err error) {
	payload := batch[batchHeaderBytes:]
	compression := h.Attributes.Compression()
	if compression == None || h.Count == 0 && len(payload) == 0 {
		return payload, func() {}, nil
	}
	if len(payload) == 0 {
		return nil, nil, fmt.Errorf("%d records in no bytes: %w", h.Count, ErrCorrupt)
	}
	return k.inflate(compression, payload)
}

// inflate unpacks payload into a borrowed buffer.
func (k *kafka) inflate(compression Compression, payload []byte) (inflated []byte, done func(), err error) {
	c, err := k.compressor(compression)
	if err != nil {
		return nil, nil, err
	}
	buffer := bufpool.Get()
	buffer.B, err = c.Decompress(buffer.B, payload, k.inflatedBytes)
	if err != nil {
		bufpool.Put(buffer)
		return nil, nil, err
	}
	return buffer.B, func() { bufpool.Put(buffer) }, nil
}

// batchRecords yields the records of a batch of magic 2. It returns no error after yield said to stop.
func (k *kafka) batchRecords(h *Header, batch []byte, yield func(Record, error) bool) error {
	if err := verifyFields(h); err != nil {
		return err
	}
	section, done, err := k.section(h, batch)
	if err != nil {
		return err
	}
	defer done()

	var (
		r        Record // one for all: so it is copied once a record, to the call
		headers  []RecordHeader
		last     = h.BaseOffset - 1
		appended = h.Attributes.LogAppendTime()
	)
	for i := range h.Count {
		end, timestamp, offset, key, keyBytes, value, valueBytes := quickShape(section)
		if r.Headers != nil {
			r.Headers = nil
		}
		if end == 0 {
			var s shape
			if err := s.slow(section); err != nil {
				return fmt.Errorf("record %d of %d: %w", i, h.Count, err)
			}
			end, timestamp, offset, key, keyBytes, value, valueBytes = s.end, s.timestamp, s.offset, s.key, s.keyBytes, s.value, s.valueBytes
			if s.headerCount > 0 {
				headers = readHeaders(headers[:0], section, &s)
				r.Headers = headers
			}
		}
		offset, timestamp = h.BaseOffset+offset, h.BaseTimestamp+timestamp
		if offset <= last || offset > h.LastOffset {
			return fmt.Errorf("record %d of %d: offset %d between %d and %d: %w",
				i, h.Count, offset, last, h.LastOffset+1, ErrCorrupt)
		}
		last = offset
		if appended {
			timestamp = h.MaxTimestamp
		}
		r.Offset, r.Timestamp = offset, timestamp
		r.Key, r.Value = part(section, key, keyBytes), part(section, value, valueBytes)
		if !yield(r, nil) {
			return nil
		}
		section = section[end:]
	}
	if len(section) > 0 {
		return fmt.Errorf("%d bytes behind %d records: %w", len(section), h.Count, ErrCorrupt)
	}
	return nil
}

// part is the key or value of n bytes at pos; n below 0 is null.
func part(b []byte, pos, n int) []byte {
	if n < 0 {
		return nil
	}
	return b[pos : pos+n : pos+n]
}

// appendCompressed reserves the header of a batch behind dst, and packs the records, of size bytes, behind
// that.
func (k *kafka) appendCompressed(dst []byte, h *Header, recs []Record, size int) ([]byte, error) {
	c, err := k.compressor(h.Attributes.Compression())
	if err != nil {
		return nil, err
	}
	if size > k.inflatedBytes {
		return nil, fmt.Errorf("records of %d bytes, limit %d: %w", size, k.inflatedBytes, ErrTooLarge)
	}
	buffer := bufpool.Get()
	defer bufpool.Put(buffer)
	buffer.B = slices.Grow(buffer.B, size)[:size]
	writeRecords(buffer.B, h, recs)
	return c.Compress(grow(dst, batchHeaderBytes)[:len(dst)+batchHeaderBytes], buffer.B)
}

// grow returns dst with room for n bytes more. What is allocated anew is rounded up by append's rule, but
// not cleared twice.
func grow(dst []byte, n int) []byte { return slices.Grow(dst, n) }
