package main

import (
	"errors"
	"math"
	"slices"

	"github.com/stratalog/strata/codec"
)

// input is the message set that a vector gives to Kafka, as far as a rule looks at it.
type input struct {
	codec.Header // of the first batch; without one all is zero
	set          []byte
	batches      int // readable ones
}

// input is the message set of v.
func (v *vector) input() *input {
	in := &input{set: v.In}
	if v.Kind == "set" {
		in.set = v.Hex
	}
	for b, err := range codec.Batches(codec.Kafka(), in.set) {
		if err != nil {
			break
		}
		if in.batches == 0 {
			in.Header = b.Header
		}
		in.batches++
	}
	return in
}

// packed reports whether the set is compressed.
func (in *input) packed() bool { return in.Attributes.Compression() != codec.None }

// records are those that can be read.
func (in *input) records() (all []codec.Record) {
	for b, err := range codec.Batches(codec.Kafka(), in.set) {
		if err != nil {
			break
		}
		for r, err := range codec.Kafka().Records(b.Bytes) {
			if err != nil {
				break
			}
			all = append(all, r.Clone())
		}
	}
	return all
}

// any reports whether a record is so.
func (in *input) any(is func(r *codec.Record) bool) bool {
	records := in.records()
	for i := range records {
		if is(&records[i]) {
			return true
		}
	}
	return false
}

// lacksTime reports whether a record has no timestamp.
func (in *input) lacksTime() bool {
	return in.any(func(r *codec.Record) bool { return r.Timestamp == codec.NoTimestamp })
}

// hasHeaders reports whether a record has headers.
func (in *input) hasHeaders() bool {
	return in.any(func(r *codec.Record) bool { return len(r.Headers) > 0 })
}

// hasGaps reports whether the offsets of the records of a batch of magic 2 have gaps.
func (in *input) hasGaps() bool {
	next := in.BaseOffset
	return in.any(func(r *codec.Record) bool {
		next++
		return r.Offset >= next
	})
}

// holdsOtherMagic reports whether the first message in a wrapper has another magic.
func (in *input) holdsOtherMagic() bool {
	const magicAt = 16
	if in.Magic > 1 || !in.packed() {
		return false
	}
	value := map[int8]int{0: 26, 1: 34}[in.Magic] // the key of a wrapper is null
	for _, c := range []codec.Compressor{codec.NewGzip(0), codec.NewSnappy(), codec.NewLZ4(0)} {
		if c.Compression() == in.Attributes.Compression() && len(in.set) > value {
			run, err := c.Decompress(nil, in.set[value:in.Size], math.MaxInt32)
			return err == nil && len(run) > magicAt && int8(run[magicAt]) != in.Magic
		}
	}
	return false
}

// holdsWrongChecksum reports whether a message in a wrapper has a checksum that does not fit.
func (in *input) holdsWrongChecksum() bool {
	v, ok := codec.Kafka().(codec.InnerVerifier)
	return ok && in.packed() && errors.Is(v.VerifyInner(in.set[:in.Size]), codec.ErrInnerChecksum)
}

// wantsLogAppendTime reports whether v is an append to a log with log append time.
func (v *vector) wantsLogAppendTime() bool { return v.TimestampType == "LogAppendTime" }

// unpacks reports whether v is an append of a compressed set to a log without compression.
func (v *vector) unpacks() bool {
	in := v.input()
	return v.Kind == "validate" && in.packed() && v.TargetCodec.Compression == codec.None
}

// toldLast reports whether v has the last offset for that of the largest timestamp.
func (v *vector) toldLast() bool { return has(v.ShallowOffsetOfMaxTimestamp, v.NextOffset-1) }

// has reports whether a field is there, and has a value.
func has(field *int64, want int64) bool { return field != nil && *field == want }

// toldNewest reports whether v has the largest timestamp that it came with.
func (v *vector) toldNewest() bool {
	newest := codec.NoTimestamp
	for _, r := range v.input().records() {
		newest = max(newest, r.Timestamp)
	}
	return has(v.MaxTimestamp, newest)
}

// toldOwn reports whether v has for it the offset that the first record with that timestamp gets.
func (v *vector) toldOwn() bool {
	i := slices.IndexFunc(v.input().records(), func(r codec.Record) bool { return has(v.MaxTimestamp, r.Timestamp) })
	return i >= 0 && has(v.ShallowOffsetOfMaxTimestamp, v.Offset+int64(i))
}

// keptTimes reports whether the records of v have the timestamps that they came with.
func (v *vector) keptTimes() bool {
	in := v.input()
	records := in.records()
	if len(records) != len(v.Records) {
		return false
	}
	for i := range records {
		if records[i].Timestamp != v.Records[i].Timestamp {
			return false
		}
	}
	return true
}
