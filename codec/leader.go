package codec

import (
	"errors"
	"fmt"
)

// source is what validation needs of a Codec.
type source interface {
	Codec

	// checksum verifies a batch.
	checksum(b *Batch) error
	// read appends the records of a batch to recs, and to flaws what their format says against the record of
	// an index in recs. They may be used until done is called.
	read(recs []Record, flaws map[int]error, b *Batch) (longer []Record, done func(), err error)
}

// validation is one call of Validate.
type validation struct {
	source
	rules    Rules
	dst      []byte
	batches  []Batch
	recs     []Record // of all batches
	flaws    map[int]error
	counts   []int // of the records of each batch
	from, to Compression
	borrowed []func() // to be called when the records are not needed any more
	refused  []InvalidRecord
	stale    bool // a record is refused for its timestamp
}

// validate is Validate by the methods of any Codec.
func validate(s source, dst, batches []byte, r Rules) (Validated, error) {
	v := validation{source: s, rules: r, dst: dst, flaws: map[int]error{}}
	if err := v.split(batches); err != nil {
		return Validated{}, err
	}
	defer v.release()
	for i := range v.batches {
		if err := v.admit(&v.batches[i]); err != nil {
			return Validated{}, v.refusal(err)
		}
	}
	if err := v.refusal(nil); err != nil {
		return Validated{}, err
	}
	switch h := &v.batches[0].Header; {
	case h.Magic > newestMagic && h.Magic != v.rules.Magic:
		return Validated{}, fmt.Errorf("magic %d to %d, by a Codec that is no Validator: %w", h.Magic, v.rules.Magic, ErrFormat)
	case v.inPlace():
		return v.assign(batches)
	case v.from != None && v.from == v.to && h.Magic == 2 && v.rules.Magic == 2 && h.BaseOffset != 0:
		return Validated{}, fmt.Errorf("compressed batch with base offset %d: %w", h.BaseOffset, ErrInvalid)
	}
	return v.rebuild()
}

// split cuts the append into batches, verifies their checksums and finds the compressions.
func (v *validation) split(batches []byte) error {
	for rest := batches; len(rest) > 0; {
		h, err := v.Header(rest)
		if err != nil {
			return err
		}
		if h.Size > len(rest) {
			return fmt.Errorf("%d bytes of a batch of %d: %w", len(rest), h.Size, ErrShort)
		}
		b := Batch{Header: h, Bytes: rest[:h.Size:h.Size]}
		if !v.rules.Verified {
			if err := v.checksum(&b); err != nil {
				return err
			}
		}
		if c := h.Attributes.Compression(); c != None {
			v.from = c
		}
		v.batches = append(v.batches, b)
		rest = rest[h.Size:]
	}
	switch {
	case len(v.batches) == 0:
		return fmt.Errorf("no batch: %w", ErrInvalid)
	case len(v.batches) > 1 && (v.batches[0].Magic >= 2 || v.from != None):
		return fmt.Errorf("%d batches, where there may be one: %w", len(v.batches), ErrInvalid)
	}
	v.to = v.from
	if v.rules.Recompress {
		v.to = v.rules.Compression
	}
	// Control records are never compressed, unless they come so.
	if v.from == None && v.batches[0].Attributes.Control() {
		v.to = None
	}
	return nil
}

// admit checks a batch and then its records, whose flaws it collects.
func (v *validation) admit(b *Batch) error {
	if err := checkBatch(&v.rules, &b.Header, v.batches[0].Magic); err != nil {
		return err
	}
	begin := len(v.recs)
	recs, done, err := v.read(v.recs, v.flaws, b)
	if err != nil {
		return err
	}
	v.borrowed = append(v.borrowed, done)
	v.recs = recs
	if len(recs) == begin {
		return fmt.Errorf("batch without records: %w", ErrInvalid)
	}
	for i := begin; i < len(recs); i++ {
		err := v.flaws[i]
		if err == nil {
			err = v.rules.checkRecord(b.Attributes.LogAppendTime(), recs[i].Timestamp, recs[i].Key != nil)
		}
		if err != nil {
			v.refused = append(v.refused, InvalidRecord{Index: i, Err: err})
			v.stale = v.stale || errors.Is(err, ErrTimestamp)
		}
	}
	v.counts = append(v.counts, len(recs)-begin)
	return nil
}

// release gives back what read has borrowed.
func (v *validation) release() {
	for _, done := range v.borrowed {
		done()
	}
}

// refusal is what Validate returns if there are refused records, and otherwise err: Kafka refuses a batch
// for its records before it looks at the next one.
func (v *validation) refusal(err error) error {
	if len(v.refused) == 0 {
		return err
	}
	class := ErrInvalid
	if v.stale {
		class = ErrTimestamp
	}
	return &InvalidRecords{Records: v.refused, Err: class}
}

// inPlace reports whether the batches can stay as they are, but for what Restamp changes.
func (v *validation) inPlace() bool {
	for i := range v.batches {
		if v.batches[i].Magic != v.rules.Magic {
			return false
		}
	}
	if v.from != v.to || v.from != None && v.rules.Magic == 0 {
		return false
	}
	return v.from == None && v.rules.Magic < 2 || v.gapless()
}

// gapless reports whether the records have the offsets 0, 1, 2…: where they can come uncompressed from a
// log, from that of the first. There must be as many offsets as records.
func (v *validation) gapless() bool {
	h := &v.batches[0].Header
	base := int64(0)
	if v.from == None {
		base = h.BaseOffset
	}
	for i := range v.recs {
		if v.recs[i].Offset != base+int64(i) {
			return false
		}
	}
	return h.BaseOffset == NoOffset || h.LastOffset-h.BaseOffset+1 == int64(len(v.recs))
}

// assign restamps the batches where they are.
func (v *validation) assign(batches []byte) (Validated, error) {
	out := Validated{
		Batches:            batches,
		InPlace:            true,
		Records:            len(v.recs),
		LastOffset:         v.rules.Offset + int64(len(v.recs)) - 1,
		MaxTimestamp:       NoTimestamp,
		MaxTimestampOffset: NoOffset,
	}
	last := v.rules.Offset - 1
	rest := v.recs
	for i, count := range v.counts {
		newest := newestOf(rest[:count])
		rest = rest[count:]
		last += int64(count)
		if newest > out.MaxTimestamp {
			out.MaxTimestamp, out.MaxTimestampOffset = newest, last
		}
		if err := v.Restamp(v.batches[i].Bytes, v.rules.stamp(last, newest)); err != nil {
			return Validated{}, err
		}
	}
	v.rules.dateInPlace(&out, v.to)
	return out, nil
}

// rebuild encodes the records anew behind dst.
func (v *validation) rebuild() (Validated, error) {
	recs := v.recs
	for i := range recs {
		recs[i].Offset = v.rules.Offset + int64(i)
	}
	h := v.rules.header(&v.batches[0].Header, v.to)
	encoded, err := v.Append(v.dst, h, recs)
	if err != nil {
		return Validated{}, err
	}
	out := Validated{
		Batches:            encoded[len(v.dst):],
		Records:            len(recs),
		LastOffset:         recs[len(recs)-1].Offset,
		Converted:          len(recs),
		MaxTimestamp:       NoTimestamp,
		MaxTimestampOffset: NoOffset,
	}
	v.rules.dateRebuilt(&out, v.to, recs)
	return out, nil
}

// newestOf is the largest timestamp.
func newestOf(recs []Record) int64 {
	newest := NoTimestamp
	for i := range recs {
		newest = max(newest, recs[i].Timestamp)
	}
	return newest
}

// foreignSource is a Codec that is not Kafka's.
type foreignSource struct{ Codec }

func (s foreignSource) checksum(b *Batch) error { return s.Verify(b.Bytes) }

func (s foreignSource) read(recs []Record, _ map[int]error, b *Batch) (longer []Record, done func(), err error) {
	for r, err := range s.Records(b.Bytes) {
		if err != nil {
			return recs, nil, err
		}
		recs = append(recs, r.Clone())
	}
	return recs, func() {}, nil
}
