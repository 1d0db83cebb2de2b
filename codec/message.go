package codec

import (
	"fmt"
	"hash/crc32"
	"math"
)

// messageHeader reads the fields of magic 0 and 1 that the prefix does not have.
func messageHeader(h *Header, b []byte) error {
	magic, size := h.Magic, h.Size
	if len(b) < messageKeyAt(magic) {
		return ErrShort
	}
	*h = NewHeader(magic)
	h.Size = size
	h.CRC = be.Uint32(b[messageCRCAt:])
	h.LastOffset = int64(be.Uint64(b[offsetAt:]))
	h.BaseOffset, h.Count = h.LastOffset, 1
	h.Attributes = Attributes(b[messageAttributesAt]) & CompressionMask
	if magic == 1 {
		h.Attributes |= Attributes(b[messageAttributesAt]) & LogAppendTimeBit
		h.BaseTimestamp = int64(be.Uint64(b[messageTimestampAt:]))
		h.MaxTimestamp = h.BaseTimestamp
	}
	if h.Attributes.Compression() != None {
		h.BaseOffset, h.Count = NoOffset, -1
	}
	return nil
}

// messageKeyAt is where the key's size lies.
func messageKeyAt(magic int8) int {
	if magic == 0 {
		return message0KeyAt
	}
	return message1KeyAt
}

// messageParts finds the key and the value of a whole message, and checks that they fill it.
func messageParts(magic int8, message []byte) (key, value []byte, err error) {
	key, rest, err := messagePart("key", message[messageKeyAt(magic):])
	if err != nil {
		return nil, nil, err
	}
	value, rest, err = messagePart("value", rest)
	if err != nil {
		return nil, nil, err
	}
	if len(rest) > 0 {
		return nil, nil, fmt.Errorf("%d bytes behind the value of a message: %w", len(rest), ErrCorrupt)
	}
	return key, value, nil
}

// messagePart cuts a size and as many bytes from b. Any negative size is null, as in Kafka, which writes −1.
func messagePart(what string, b []byte) (part, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, fmt.Errorf("message ends in the size of its %s: %w", what, ErrCorrupt)
	}
	size := int32(be.Uint32(b))
	b = b[4:]
	if size < 0 {
		return nil, b, nil
	}
	if int(size) > len(b) {
		return nil, nil, fmt.Errorf("message with a %s of %d bytes in %d: %w", what, size, len(b), ErrCorrupt)
	}
	return b[:size:size], b[size:], nil
}

// verifyMessage checks a whole message: of a wrapper, the outside.
func verifyMessage(h *Header, message []byte) error {
	if err := verifyMessageChecksum(h, message); err != nil {
		return err
	}
	_, _, err := messageParts(h.Magic, message)
	return err
}

func verifyMessageChecksum(h *Header, message []byte) error {
	if crc := crc32.ChecksumIEEE(message[magicAt:]); crc != h.CRC {
		return fmt.Errorf("checksum %08x, stored %08x: %w", crc, h.CRC, ErrChecksum)
	}
	return nil
}

// restampMessage is Restamp for magic 0 and 1.
func restampMessage(h *Header, message []byte, s Stamp) error {
	switch {
	case s.LastOffset < 0:
		return fmt.Errorf("last offset %d: %w", s.LastOffset, ErrInvalid)
	case h.Magic == 0 && h.Attributes.Compression() != None:
		return ErrRewrite
	}
	be.PutUint64(message[offsetAt:], uint64(s.LastOffset))
	if h.Magic == 0 || h.Attributes.LogAppendTime() == s.LogAppendTime && h.MaxTimestamp == s.MaxTimestamp {
		return nil
	}
	message[messageAttributesAt] &^= byte(LogAppendTimeBit)
	if s.LogAppendTime {
		message[messageAttributesAt] |= byte(LogAppendTimeBit)
	}
	be.PutUint64(message[messageTimestampAt:], uint64(s.MaxTimestamp))
	be.PutUint32(message[messageCRCAt:], crc32.ChecksumIEEE(message[magicAt:]))
	return nil
}

// messageRecords yields the record of a plain message, or those of a wrapper. It returns no error after
// yield said to stop.
func (k *kafka) messageRecords(h *Header, message []byte, yield func(Record, error) bool) error {
	if h.Attributes.Compression() != None {
		return k.wrapperRecords(h, message, yield)
	}
	key, value, err := messageParts(h.Magic, message)
	if err != nil {
		return err
	}
	yield(Record{Offset: h.LastOffset, Timestamp: h.MaxTimestamp, Key: key, Value: value}, nil)
	return nil
}

// messageBytes is the size of the message of a record.
func messageBytes(magic int8, r *Record) int64 {
	return int64(messageKeyAt(magic)) + 8 + int64(len(r.Key)) + int64(len(r.Value))
}

// appendMessage encodes a message behind dst.
func appendMessage(dst []byte, magic int8, attributes Attributes, r *Record) []byte {
	start, size := len(dst), int(messageBytes(magic, r))
	dst = beginMessage(dst, magic, attributes, r, size)
	dst = appendMessagePart(dst, r.Key)
	dst = appendMessagePart(dst, r.Value)
	return sealMessage(dst, start)
}

// beginMessage appends all of a message that lies before its key. Its size and checksum are sealMessage's.
func beginMessage(dst []byte, magic int8, attributes Attributes, r *Record, size int) []byte {
	dst = grow(dst, size)
	dst = be.AppendUint64(dst, uint64(r.Offset))
	dst = be.AppendUint64(dst, 0) // size and checksum
	dst = append(dst, byte(magic), byte(attributes))
	if magic == 1 {
		dst = be.AppendUint64(dst, uint64(r.Timestamp))
	}
	return dst
}

// sealMessage fills size and checksum of the message that begins at start.
func sealMessage(dst []byte, start int) []byte {
	message := dst[start:]
	be.PutUint32(message[sizeAt:], uint32(len(message)-sizeOverhead))
	be.PutUint32(message[messageCRCAt:], crc32.ChecksumIEEE(message[magicAt:]))
	return dst
}

// appendMessagePart encodes a key or value, where nil is null.
func appendMessagePart(dst, b []byte) []byte {
	if b == nil {
		return be.AppendUint32(dst, math.MaxUint32)
	}
	dst = be.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...)
}

// appendMessages is Append for magic 0 and 1.
func (k *kafka) appendMessages(dst []byte, h *Header, recs []Record) ([]byte, error) {
	if err := k.planMessages(h, recs); err != nil {
		return nil, err
	}
	if len(recs) == 0 {
		return dst, nil
	}
	attributes := messageAttributes(h)
	if attributes.Compression() != None {
		return k.appendWrapper(dst, h, attributes, recs)
	}
	for i := range recs {
		r := stamped(h, recs[i])
		if size := messageBytes(h.Magic, &r); size > int64(k.batchBytes) {
			return nil, fmt.Errorf("record %d: message of %d bytes, limit %d: %w", i, size, k.batchBytes, ErrTooLarge)
		}
		dst = appendMessage(dst, h.Magic, attributes, &r)
	}
	return dst, nil
}

// messageAttributes are those of h that a message has.
func messageAttributes(h *Header) Attributes {
	if h.Magic == 0 {
		return h.Attributes & CompressionMask
	}
	return h.Attributes & (CompressionMask | LogAppendTimeBit)
}

// stamped is r with the time that a message of h gives it.
func stamped(h *Header, r Record) Record {
	if h.Attributes.LogAppendTime() {
		r.Timestamp = h.MaxTimestamp
	}
	return r
}

// planMessages checks that magic 0 and 1 can hold recs.
func (k *kafka) planMessages(h *Header, recs []Record) error {
	switch {
	case h.Attributes&(TransactionalBit|ControlBit|DeleteHorizonBit) != 0:
		return fmt.Errorf("attributes %#x in magic %d: %w", uint16(h.Attributes), h.Magic, ErrFormat)
	case h.ProducerID != NoProducerID:
		return fmt.Errorf("producer %d in magic %d: %w", h.ProducerID, h.Magic, ErrFormat)
	case h.Attributes.Compression() == Zstd:
		return fmt.Errorf("zstd in magic %d: %w", h.Magic, ErrFormat)
	}
	last := max(h.BaseOffset, 0) - 1 // of a wrapper it is NoOffset
	for i := range recs {
		r := &recs[i]
		switch {
		case len(r.Headers) > 0:
			return fmt.Errorf("record %d: headers in magic %d: %w", i, h.Magic, ErrFormat)
		case r.Offset <= last:
			return fmt.Errorf("record %d: offset %d behind %d: %w", i, r.Offset, last, ErrInvalid)
		case r.Timestamp < NoTimestamp:
			return fmt.Errorf("record %d: timestamp %d: %w", i, r.Timestamp, ErrInvalid)
		case messageBytes(h.Magic, r) > maxBatchBytes:
			return fmt.Errorf("record %d: %d bytes: %w", i, messageBytes(h.Magic, r), ErrTooLarge)
		}
		last = r.Offset
	}
	return nil
}
