package codec

import (
	"fmt"

	"github.com/stratalog/strata/internal/bufpool"
)

// wrapped is a message inside of a wrapper.
type wrapped struct {
	Header
	message    []byte
	key, value []byte
}

// unwrap inflates a wrapper, and cuts it into its messages. It stops, as Kafka does, without an error at a
// message of which there is only the beginning. Until done, the messages alias a borrowed buffer.
func (k *kafka) unwrap(h *Header, wrapper []byte) (inner []wrapped, done func(), err error) {
	_, payload, err := messageParts(h.Magic, wrapper)
	if err != nil {
		return nil, nil, err
	}
	compression := h.Attributes.Compression()
	switch {
	case compression == Zstd:
		return nil, nil, fmt.Errorf("zstd in magic %d: %w", h.Magic, ErrCompression)
	case len(payload) == 0:
		return nil, nil, fmt.Errorf("wrapper without a value: %w", ErrCorrupt)
	case h.Magic == 0 && compression == LZ4:
		payload = mendLZ4(payload)
	}
	run, done, err := k.inflate(compression, payload)
	if err != nil {
		return nil, nil, err
	}
	inner, err = cutWrapped(run)
	if err != nil {
		done()
		return nil, nil, err
	}
	return inner, done, nil
}

// cutWrapped cuts the run of messages in a wrapper. Their magic need not be the wrapper's: brokers left such
// (KAFKA-4298).
func cutWrapped(run []byte) (inner []wrapped, err error) {
	for len(run) > 0 {
		var w wrapped
		err := plain.header(&w.Header, run)
		if err == ErrShort || err == nil && w.Size > len(run) {
			break
		}
		if err == nil && w.Magic > 1 {
			err = fmt.Errorf("magic %d: %w", w.Magic, ErrCorrupt)
		}
		if err != nil {
			return nil, fmt.Errorf("message %d in a wrapper: %w", len(inner), err)
		}
		w.message, run = run[:w.Size:w.Size], run[w.Size:]
		if w.key, w.value, err = messageParts(w.Magic, w.message); err != nil {
			return nil, fmt.Errorf("message %d in a wrapper: %w", len(inner), err)
		}
		inner = append(inner, w)
	}
	if len(inner) == 0 {
		return nil, fmt.Errorf("wrapper without messages: %w", ErrCorrupt)
	}
	return inner, nil
}

// wrapperBase is what is to be added to the offsets of the messages in a wrapper.
func wrapperBase(h *Header, inner []wrapped) (int64, error) {
	last := inner[len(inner)-1].LastOffset
	switch {
	case h.Magic == 0 || h.LastOffset == 0: // some producers leave 0 in the wrapper of magic 1
		return 0, nil
	case h.LastOffset < last:
		return 0, fmt.Errorf("wrapper's offset %d, last offset in it %d: %w", h.LastOffset, last, ErrCorrupt)
	}
	return h.LastOffset - last, nil
}

// wrapperRecords yields the records of a wrapper.
func (k *kafka) wrapperRecords(h *Header, wrapper []byte, yield func(Record, error) bool) error {
	inner, done, err := k.unwrap(h, wrapper)
	if err != nil {
		return err
	}
	defer done()
	base, err := wrapperBase(h, inner)
	if err != nil {
		return err
	}
	for i := range inner {
		w := &inner[i]
		r := wrappedRecord(h, w, base)
		switch {
		case w.Attributes.Compression() != None:
			return fmt.Errorf("message %d in a wrapper is a wrapper: %w", i, ErrCorrupt)
		case i > 0 && w.LastOffset <= inner[i-1].LastOffset || r.Offset < 0:
			return fmt.Errorf("message %d in a wrapper has offset %d: %w", i, r.Offset, ErrCorrupt)
		}
		if !yield(r, nil) {
			return nil
		}
	}
	return nil
}

// wrappedRecord is the record of a message in a wrapper. The wrapper's timestamp type is the record's. What
// has magic 0 in a wrapper of magic 1 has no timestamp.
func wrappedRecord(h *Header, w *wrapped, base int64) Record {
	r := Record{Offset: base + w.LastOffset, Timestamp: w.MaxTimestamp, Key: w.key, Value: w.value}
	if w.Magic == 1 && h.Attributes.LogAppendTime() {
		r.Timestamp = h.MaxTimestamp
	}
	return r
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
