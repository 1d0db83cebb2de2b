package codec

import (
	"errors"
	"fmt"
)

var (
	_ Validator = (*kafka)(nil)
	_ source    = (*kafka)(nil)
)

// Validate implements Validator.
func (k *kafka) Validate(dst, batches []byte, r Rules) (Validated, error) {
	if v, ok := k.validateQuick(batches, &r); ok {
		return v, nil
	}
	return validate(k, dst, batches, r)
}

// validateQuick is Validate for what most appends are: one good batch of magic 2 that stays as it is. It
// builds no Record. With ok false nothing has been changed, and validate must say what is to be done.
func (k *kafka) validateQuick(batches []byte, r *Rules) (v Validated, ok bool) {
	var h Header
	if k.whole(&h, batches) != nil || h.Magic != 2 || r.Magic != 2 {
		return v, false
	}
	compression := h.Attributes.Compression()
	if r.Recompress && r.Compression != compression && (compression != None || !h.Attributes.Control()) {
		return v, false
	}
	offsets := h.LastOffset - h.BaseOffset + 1
	if h.Count <= 0 || int64(h.Count) != offsets || compression != None && h.BaseOffset != 0 ||
		checkBatch(r, &h, 2) != nil || verifyFields(&h) != nil || !r.Verified && verifyChecksum(&h, batches) != nil {
		return v, false
	}
	section, done, err := k.section(&h, batches)
	if err != nil {
		return v, false
	}
	w := newWalk(&h, section)
	ok = w.all() && r.allow(&h, &w)
	done()
	if !ok {
		return v, false
	}
	last := r.Offset + offsets - 1
	if err := restampBatch(&h, batches, r.stamp(last, w.newest)); err != nil {
		return v, false
	}
	v = Validated{Batches: batches, InPlace: true, Records: h.Count, LastOffset: last, MaxTimestamp: w.newest, MaxTimestampOffset: last}
	r.dateInPlace(&v, compression)
	return v, true
}

// allow reports whether the records of a batch are known to keep the rules.
func (r *Rules) allow(h *Header, w *walk) bool {
	switch {
	case r.NeedKey && w.nullKey:
		return false
	case h.Attributes.LogAppendTime(), w.oldest < 0: // rare, and the rules differ for records without a time
		return false
	}
	return r.LogAppendTime || !r.farOff(w.oldest) && !r.farOff(w.newest)
}

// checksum implements source. Fields out of their range are left to the rules, which call them invalid.
func (k *kafka) checksum(b *Batch) error {
	if b.Magic == 2 {
		return verifyChecksum(&b.Header, b.Bytes)
	}
	return verifyMessageChecksum(&b.Header, b.Bytes)
}

// read implements source.
func (k *kafka) read(recs []Record, flaws map[int]error, b *Batch) (longer []Record, done func(), err error) {
	switch {
	case b.Magic == 2:
		return k.readBatch(recs, b)
	case b.Attributes.Compression() != None:
		return k.readWrapper(recs, flaws, b)
	}
	key, value, err := messageParts(b.Magic, b.Bytes)
	if err != nil {
		return recs, nil, invalid(err)
	}
	r := Record{Offset: b.LastOffset, Timestamp: b.MaxTimestamp, Key: key, Value: value}
	return append(recs, r), func() {}, nil
}

// readBatch is read for magic 2. Other than Records it does not mind which offsets the records have.
func (k *kafka) readBatch(recs []Record, b *Batch) (longer []Record, done func(), err error) {
	if b.Count < 0 || b.LastOffset < b.BaseOffset {
		return recs, nil, fmt.Errorf("%d records in the offsets %d to %d: %w", b.Count, b.BaseOffset, b.LastOffset, ErrInvalid)
	}
	section, done, err := k.section(&b.Header, b.Bytes)
	if err != nil {
		return recs, nil, err
	}
	var s shape
	for i := range b.Count {
		err := s.read(section)
		if err == nil {
			err = k.room(i)
		}
		if err != nil {
			done()
			return recs, nil, invalid(fmt.Errorf("record %d of %d: %w", i, b.Count, err))
		}
		r := Record{
			Offset:    b.BaseOffset + s.offset,
			Timestamp: b.BaseTimestamp + s.timestamp,
			Key:       part(section, s.key, s.keyBytes),
			Value:     part(section, s.value, s.valueBytes),
		}
		if b.Attributes.LogAppendTime() {
			r.Timestamp = b.MaxTimestamp
		}
		if s.headerCount > 0 {
			r.Headers = readHeaders(nil, section, &s)
		}
		recs = append(recs, r)
		section = section[s.end:]
	}
	if len(section) > 0 {
		done()
		return recs, nil, fmt.Errorf("%d bytes behind %d records: %w", len(section), b.Count, ErrInvalid)
	}
	return recs, done, nil
}

// recordBytes is what a Record needs in memory without its key, value and headers.
const recordBytes = 88

// room checks that the n-th record of a batch may be held in memory: a bomb may unpack to very many small
// ones.
func (k *kafka) room(n int) error {
	if n > max(k.inflatedBytes, defaultInflatedBytes)/recordBytes {
		return fmt.Errorf("more than %d records to encode anew: %w", n, ErrTooLarge)
	}
	return nil
}

// readWrapper is read for wrappers of magic 0 and 1.
func (k *kafka) readWrapper(recs []Record, flaws map[int]error, b *Batch) (longer []Record, done func(), err error) {
	payload, err := wrapperPayload(&b.Header, b.Bytes)
	if err != nil {
		return recs, nil, invalid(err)
	}
	run, done, err := k.inflate(b.Attributes.Compression(), payload)
	if err != nil {
		return recs, nil, err
	}
	base, err := wrapperBase(&b.Header, run)
	if err != nil {
		done()
		return recs, nil, invalid(err)
	}
	var w wrapped
	for i := 0; ; i++ {
		rest, err := w.next(run)
		if err == nil && rest == nil {
			return recs, done, nil
		}
		if err == nil {
			err = k.room(i)
		}
		switch {
		case err != nil:
		case w.header.Attributes.Compression() != None:
			flaws[len(recs)] = fmt.Errorf("wrapper in a wrapper: %w", ErrInvalid)
		case w.header.Magic != b.Magic:
			flaws[len(recs)] = fmt.Errorf("magic %d in a wrapper of magic %d: %w", w.header.Magic, b.Magic, ErrInvalid)
		default:
			err = verifyMessageChecksum(&w.header, w.message)
		}
		if err != nil {
			done()
			return recs, nil, fmt.Errorf("message %d in a wrapper: %w", i, err)
		}
		run = rest
		recs = append(recs, w.record(&b.Header, base))
	}
}

// invalid gives ErrCorrupt, where records cannot be read, the class that it has in an append to Kafka.
func invalid(err error) error {
	if !errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%s: %w", err.Error(), ErrInvalid)
}
