package codec

import (
	"fmt"
	"hash/crc32"
	"math"
)

// batchHeader reads the fields of magic 2 that the prefix does not have.
func batchHeader(h *Header, b []byte) error {
	if len(b) < batchHeaderBytes {
		return ErrShort
	}
	b = b[:batchHeaderBytes]
	h.BaseOffset = int64(be.Uint64(b[offsetAt:]))
	h.LastOffset = h.BaseOffset + int64(int32(be.Uint32(b[lastDeltaAt:])))
	h.CRC = be.Uint32(b[crcAt:])
	h.Attributes = Attributes(be.Uint16(b[attributesAt:]))
	h.BaseTimestamp = int64(be.Uint64(b[baseTimestampAt:]))
	h.MaxTimestamp = int64(be.Uint64(b[maxTimestampAt:]))
	h.Count = int(int32(be.Uint32(b[countAt:])))
	h.LeaderEpoch = int32(be.Uint32(b[leaderEpochAt:]))
	h.ProducerID = int64(be.Uint64(b[producerIDAt:]))
	h.ProducerEpoch = int16(be.Uint16(b[producerEpochAt:]))
	h.BaseSequence = int32(be.Uint32(b[baseSequenceAt:]))
	return nil
}

// verifyBatch checks a whole batch of magic 2.
func verifyBatch(h *Header, batch []byte) error {
	if err := verifyChecksum(h, batch); err != nil {
		return err
	}
	return verifyFields(h)
}

func verifyChecksum(h *Header, batch []byte) error {
	if crc := crc32.Checksum(batch[attributesAt:], castagnoli); crc != h.CRC {
		return fmt.Errorf("checksum %08x, stored %08x: %w", crc, h.CRC, ErrChecksum)
	}
	return nil
}

// errContradiction says that fields contradict each other under a checksum that fits: they were written so,
// which in an append is Kafka's error of an invalid record.
var errContradiction = fmt.Errorf("%w: %w", ErrCorrupt, ErrInvalid)

// verifyFields finds fields of magic 2 outside their range.
func verifyFields(h *Header) error {
	payload := int64(h.Size - batchHeaderBytes)
	delta := h.LastOffset - h.BaseOffset // true also where the sum ran over
	switch {
	case h.BaseOffset < 0 || h.LastOffset < h.BaseOffset:
		return fmt.Errorf("offsets %d to %d: %w", h.BaseOffset, h.LastOffset, errContradiction)
	case h.Count < 0 || int64(h.Count) > delta+1:
		return fmt.Errorf("%d records in %d offsets: %w", h.Count, delta+1, errContradiction)
	case h.Count > 0 && payload == 0:
		return fmt.Errorf("%d records in no bytes: %w", h.Count, errContradiction)
	case h.Attributes.Compression() != None:
		return nil
	case h.Count == 0 && payload > 0:
		return fmt.Errorf("%d bytes in no records: %w", payload, errContradiction)
	case int64(h.Count)*minRecordBytes > payload:
		return fmt.Errorf("%d records in %d bytes: %w", h.Count, payload, errContradiction)
	}
	return nil
}

// restampBatch is Restamp for magic 2.
func restampBatch(h *Header, batch []byte, s Stamp) error {
	base := s.LastOffset - (h.LastOffset - h.BaseOffset)
	if s.LastOffset < 0 || base < 0 || base > s.LastOffset {
		return fmt.Errorf("last offset %d for a batch of %d offsets: %w",
			s.LastOffset, h.LastOffset-h.BaseOffset+1, ErrInvalid)
	}
	be.PutUint64(batch[offsetAt:], uint64(base))
	be.PutUint32(batch[leaderEpochAt:], uint32(s.LeaderEpoch))

	attributes := h.Attributes &^ LogAppendTimeBit
	if s.LogAppendTime {
		attributes |= LogAppendTimeBit
	}
	if attributes == h.Attributes && s.MaxTimestamp == h.MaxTimestamp {
		return nil
	}
	be.PutUint16(batch[attributesAt:], uint16(attributes))
	be.PutUint64(batch[maxTimestampAt:], uint64(s.MaxTimestamp))
	be.PutUint32(batch[crcAt:], crc32.Checksum(batch[attributesAt:], castagnoli))
	return nil
}

// appendBatch is Append for magic 2.
func (k *kafka) appendBatch(dst []byte, h *Header, recs []Record) ([]byte, error) {
	out, size, err := planBatch(h, recs)
	if err != nil {
		return nil, err
	}
	start := len(dst)
	compression := out.Attributes.Compression()
	switch {
	case compression != None:
		dst, err = k.appendCompressed(dst, &out, recs, size)
	case int64(size)+batchHeaderBytes > int64(k.batchBytes):
		return nil, fmt.Errorf("batch of %d bytes, limit %d: %w", int64(size)+batchHeaderBytes, k.batchBytes, ErrTooLarge)
	default:
		dst = grow(dst, batchHeaderBytes+size)
		dst = dst[:start+batchHeaderBytes+size]
		writeRecords(dst[start+batchHeaderBytes:], &out, recs)
	}
	if err != nil {
		return nil, err
	}
	batch := dst[start:]
	if len(batch) > k.batchBytes {
		return nil, fmt.Errorf("batch of %d bytes, limit %d: %w", len(batch), k.batchBytes, ErrTooLarge)
	}
	writeBatchHeader(batch, &out)
	return dst, nil
}

// planBatch is the header that recs get, and the size of the records when they are not compressed.
func planBatch(h *Header, recs []Record) (out Header, size int, err error) {
	out = *h
	out.Count = len(recs)
	if h.BaseOffset < 0 {
		return out, 0, fmt.Errorf("base offset %d: %w", h.BaseOffset, ErrInvalid)
	}
	horizon := h.Attributes&DeleteHorizonBit != 0
	if len(recs) == 0 {
		// As in Kafka a batch that compaction emptied is not compressed, and has no base timestamp.
		out.Attributes &^= CompressionMask
		if !horizon {
			out.BaseTimestamp = NoTimestamp
		}
		out.LastOffset = max(h.LastOffset, h.BaseOffset)
	} else {
		if !horizon {
			out.BaseTimestamp = recs[0].Timestamp
		}
		out.LastOffset = max(h.LastOffset, recs[len(recs)-1].Offset)
	}
	if out.LastOffset-h.BaseOffset > math.MaxInt32 {
		return out, 0, fmt.Errorf("offsets %d to %d in one batch: %w", h.BaseOffset, out.LastOffset, ErrInvalid)
	}
	newest, size, err := measure(&out, recs)
	if len(recs) > 0 && !h.Attributes.LogAppendTime() {
		out.MaxTimestamp = newest
	}
	return out, size, err
}

// writeBatchHeader fills the header of batch, whose records are there already.
func writeBatchHeader(batch []byte, h *Header) {
	be.PutUint64(batch[offsetAt:], uint64(h.BaseOffset))
	be.PutUint32(batch[sizeAt:], uint32(len(batch)-sizeOverhead))
	be.PutUint32(batch[leaderEpochAt:], uint32(h.LeaderEpoch))
	batch[magicAt] = 2
	be.PutUint16(batch[attributesAt:], uint16(h.Attributes))
	be.PutUint32(batch[lastDeltaAt:], uint32(h.LastOffset-h.BaseOffset))
	be.PutUint64(batch[baseTimestampAt:], uint64(h.BaseTimestamp))
	be.PutUint64(batch[maxTimestampAt:], uint64(h.MaxTimestamp))
	be.PutUint64(batch[producerIDAt:], uint64(h.ProducerID))
	be.PutUint16(batch[producerEpochAt:], uint16(h.ProducerEpoch))
	be.PutUint32(batch[baseSequenceAt:], uint32(h.BaseSequence))
	be.PutUint32(batch[countAt:], uint32(h.Count))
	be.PutUint32(batch[crcAt:], crc32.Checksum(batch[attributesAt:], castagnoli))
}
