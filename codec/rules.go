package codec

import "fmt"

// checkBatch applies the rules for a batch as a whole. first is the magic of the append's first batch.
func checkBatch(r *Rules, h *Header, first int8) error {
	if h.Magic != first {
		return fmt.Errorf("magic %d behind magic %d: %w", h.Magic, first, ErrInvalid)
	}
	if r.FromClient {
		if err := checkClient(h); err != nil {
			return err
		}
	}
	if r.Magic < 2 && (h.Attributes.Transactional() || h.ProducerID > NoProducerID) {
		return fmt.Errorf("producer %d in magic %d: %w", h.ProducerID, r.Magic, ErrFormat)
	}
	switch {
	case r.Recompress && r.Compression > Compression(CompressionMask):
		return fmt.Errorf("compression %d: %w", r.Compression, ErrCompression)
	case r.Recompress && r.Compression == Zstd && r.Magic < 2:
		return fmt.Errorf("zstd in magic %d: %w", r.Magic, ErrFormat)
	}
	return nil
}

// checkClient applies what only clients must keep.
func checkClient(h *Header) error {
	if h.Magic >= 2 {
		offsets := h.LastOffset - h.BaseOffset + 1
		if offsets <= 0 || h.Count <= 0 || offsets != int64(h.Count) {
			return fmt.Errorf("%d records in the offsets %d to %d: %w", h.Count, h.BaseOffset, h.LastOffset, ErrInvalid)
		}
	}
	if h.Attributes.Control() {
		return fmt.Errorf("control batch from a client: %w", ErrInvalid)
	}
	if h.ProducerID > NoProducerID && h.BaseSequence < 0 {
		return fmt.Errorf("producer %d with sequence %d: %w", h.ProducerID, h.BaseSequence, ErrInvalid)
	}
	return nil
}

// checkRecord applies the rules for a record of a batch with or without log append time.
func (r *Rules) checkRecord(logAppendTime bool, timestamp int64, hasKey bool) error {
	if r.NeedKey && !hasKey {
		return fmt.Errorf("no key, in a compacted log: %w", ErrInvalid)
	}
	if r.LogAppendTime || timestamp == NoTimestamp {
		if logAppendTime {
			return fmt.Errorf("log append time before the append: %w", ErrTimestamp)
		}
		return nil
	}
	if r.farOff(timestamp) {
		return fmt.Errorf("timestamp %d at %d: %w", timestamp, r.Now, ErrTimestamp)
	}
	return nil
}

// farOff reports that a timestamp is too far from now. The differences are taken as unsigned, so that none
// overflows.
func (r *Rules) farOff(timestamp int64) bool {
	if timestamp <= r.Now {
		return r.MaxAge >= 0 && uint64(r.Now)-uint64(timestamp) > uint64(r.MaxAge)
	}
	return r.MaxAhead >= 0 && uint64(timestamp)-uint64(r.Now) > uint64(r.MaxAhead)
}

// stamp is what a batch gets whose records have the given last offset and largest timestamp.
func (r *Rules) stamp(last, newest int64) Stamp {
	s := Stamp{LastOffset: last, LeaderEpoch: r.LeaderEpoch, MaxTimestamp: newest}
	if r.LogAppendTime {
		s.MaxTimestamp, s.LogAppendTime = r.Now, true
	}
	return s
}

// header is that of a new encoding of an append that began with the header first.
func (r *Rules) header(first *Header, c Compression) Header {
	h := NewHeader(r.Magic)
	h.BaseOffset, h.LeaderEpoch = r.Offset, r.LeaderEpoch
	h.LastOffset = NoOffset // that of the records
	h.ProducerID, h.ProducerEpoch, h.BaseSequence = first.ProducerID, first.ProducerEpoch, first.BaseSequence
	h.Attributes = Attributes(c) | first.Attributes&(TransactionalBit|ControlBit)
	if r.LogAppendTime {
		h.Attributes |= LogAppendTimeBit
		h.MaxTimestamp = r.Now
	}
	return h
}

// dateInPlace completes the timestamp of batches that stayed, and its offset, as the time index wants them.
// to is their compression.
func (r *Rules) dateInPlace(v *Validated, to Compression) {
	switch {
	case r.Magic == 0:
		v.MaxTimestamp, v.MaxTimestampOffset = NoTimestamp, NoOffset
	case r.LogAppendTime && r.Magic == 1 && to == None:
		v.MaxTimestamp, v.MaxTimestampOffset = r.Now, r.Offset
	case r.LogAppendTime:
		v.MaxTimestamp, v.MaxTimestampOffset = r.Now, v.LastOffset
	case to != None:
		v.MaxTimestampOffset = v.LastOffset
	}
}

// dateRebuilt is dateInPlace for records that were encoded anew.
func (r *Rules) dateRebuilt(v *Validated, to Compression, recs []Record) {
	if r.Magic == 0 {
		return
	}
	one := to != None || r.Magic >= 2 // all records are in one batch
	if r.LogAppendTime {
		v.MaxTimestamp, v.MaxTimestampOffset = r.Now, r.Offset
	} else {
		for i := range recs {
			if recs[i].Timestamp > v.MaxTimestamp {
				v.MaxTimestamp, v.MaxTimestampOffset = recs[i].Timestamp, recs[i].Offset
			}
		}
	}
	if one && v.MaxTimestamp != NoTimestamp {
		v.MaxTimestampOffset = v.LastOffset
	}
}
