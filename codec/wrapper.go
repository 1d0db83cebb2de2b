package codec

import (
	"errors"
	"fmt"

	"github.com/stratalog/strata/internal/bufpool"
)

// wrapped is a message inside of a wrapper.
type wrapped struct {
	header     Header
	message    []byte
	key, value []byte
}

// wrapperPayload is the packed run of messages in a wrapper.
func wrapperPayload(h *Header, wrapper []byte) ([]byte, error) {
	_, payload, err := messageParts(h.Magic, wrapper)
	compression := h.Attributes.Compression()
	switch {
	case err != nil:
		return nil, err
	case compression == Zstd:
		return nil, fmt.Errorf("zstd in magic %d: %w", h.Magic, ErrCompression)
	case len(payload) == 0:
		return nil, fmt.Errorf("wrapper without a value: %w", ErrCorrupt)
	case h.Magic == 0 && compression == LZ4:
		return mendLZ4(payload), nil
	}
	return payload, nil
}

// wrapperBase looks through all messages of a run, and returns what is to be added to their offsets: the
// wrapper has that of the last.
func wrapperBase(h *Header, run []byte) (int64, error) {
	var w wrapped
	count := 0
	for {
		rest, err := w.next(run)
		if err != nil {
			return 0, fmt.Errorf("message %d in a wrapper: %w", count, err)
		}
		if rest == nil {
			break
		}
		run = rest
		count++
	}
	last := w.header.LastOffset
	switch {
	case count == 0:
		return 0, fmt.Errorf("wrapper without messages: %w", ErrCorrupt)
	case h.Magic == 0 || h.LastOffset == 0: // some producers leave 0 in the wrapper of magic 1
		return 0, nil
	case h.LastOffset < last:
		return 0, fmt.Errorf("wrapper's offset %d, last offset in it %d: %w", h.LastOffset, last, ErrCorrupt)
	}
	return h.LastOffset - last, nil
}

// next reads the message that run begins with, and returns what is behind it: nil where there is no message
// any more. As in Kafka, one of which there is only the beginning is none. The magic need not be the
// wrapper's: brokers left such (KAFKA-4298).
func (w *wrapped) next(run []byte) (rest []byte, err error) {
	var h Header
	switch err := plain.header(&h, run); {
	case errors.Is(err, ErrShort):
		return nil, nil
	case err != nil:
		return nil, err
	case h.Size > len(run):
		return nil, nil
	case h.Magic > 1:
		return nil, fmt.Errorf("magic %d: %w", h.Magic, ErrCorrupt)
	}
	message := run[:h.Size:h.Size]
	key, value, err := messageParts(h.Magic, message)
	if err != nil {
		return nil, err
	}
	*w = wrapped{header: h, message: message, key: key, value: value}
	return run[h.Size:], nil
}

// record is the record of a message in the wrapper of h. The wrapper's timestamp type is the record's. What
// has magic 0 in a wrapper of magic 1 has no timestamp.
func (w *wrapped) record(h *Header, base int64) Record {
	r := Record{Offset: base + w.header.LastOffset, Timestamp: w.header.MaxTimestamp, Key: w.key, Value: w.value}
	if w.header.Magic == 1 && h.Attributes.LogAppendTime() {
		r.Timestamp = h.MaxTimestamp
	}
	return r
}

// wrapperRecords yields the records of a wrapper.
func (k *kafka) wrapperRecords(h *Header, wrapper []byte, yield func(Record, error) bool) error {
	payload, err := wrapperPayload(h, wrapper)
	if err != nil {
		return err
	}
	run, done, err := k.inflate(h.Attributes.Compression(), payload)
	if err != nil {
		return err
	}
	defer done()
	base, err := wrapperBase(h, run)
	if err != nil {
		return err
	}
	var w wrapped
	last := NoOffset
	for i := 0; ; i++ {
		rest, err := w.next(run)
		if err != nil || rest == nil {
			return err
		}
		run = rest
		r := w.record(h, base)
		switch {
		case w.header.Attributes.Compression() != None:
			return fmt.Errorf("message %d in a wrapper is a wrapper: %w", i, ErrCorrupt)
		case r.Offset <= last:
			return fmt.Errorf("message %d in a wrapper has offset %d behind %d: %w", i, r.Offset, last, ErrCorrupt)
		}
		last = r.Offset
		if !yield(r, nil) {
			return nil
		}
	}
}

// appendWrapper encodes recs as one wrapper behind dst.
func (k *kafka) appendWrapper(dst []byte, h *Header, attributes Attributes, recs []Record) ([]byte, error) {
	c, err := k.compressor(attributes.Compression())
	if err != nil {
		return nil, err
	}
	run := bufpool.Get()
	defer bufpool.Put(run)
	wrapper := Record{Offset: recs[len(recs)-1].Offset, Timestamp: NoTimestamp}
	for i := range recs {
		r := stamped(h, recs[i])
		wrapper.Timestamp = max(wrapper.Timestamp, r.Timestamp)
		if h.Magic == 1 {
			r.Offset -= recs[0].Offset
		}
		if size := int64(len(run.B)) + messageBytes(h.Magic, &r); size > int64(k.inflatedBytes) {
			return nil, fmt.Errorf("records of %d bytes, limit %d: %w", size, k.inflatedBytes, ErrTooLarge)
		}
		run.B = appendMessage(run.B, h.Magic, attributes&^CompressionMask, &r)
	}

	start := len(dst)
	dst = beginMessage(dst, h.Magic, attributes, &wrapper, minWrapperBytes)
	dst = appendMessagePart(dst, nil)
	value := len(dst) + 4
	dst, err = c.Compress(be.AppendUint32(dst, 0), run.B)
	if err != nil {
		return nil, err
	}
	if len(dst)-start > k.batchBytes {
		return nil, fmt.Errorf("wrapper of %d bytes, limit %d: %w", len(dst)-start, k.batchBytes, ErrTooLarge)
	}
	be.PutUint32(dst[value-4:], uint32(len(dst)-value))
	if h.Magic == 0 && attributes.Compression() == LZ4 {
		breakLZ4(dst[value:])
	}
	return sealMessage(dst, start), nil
}
