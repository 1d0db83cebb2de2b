package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"testing"

	"github.com/stratalog/strata/codec"
)

// TestCodec checks a Codec: every batch that it appends, damaged and hostile ones, and, for the magics of
// Kafka that it knows, batches that Kafka wrote. Which formats it has it tells by what it appends.
func TestCodec(t *testing.T, c codec.Codec, skip Skip) {
	t.Helper()
	given(t, c != nil, "the Codec")
	runRows(t, codecRows(), func(testing.TB) codecSubject { return newCodecSubject(c) }, skip)
}

// codecRows are the rows of TestCodec.
func codecRows() []row[codecSubject] {
	var rows []row[codecSubject]
	for _, part := range [][]row[codecSubject]{
		codecRuleRows, codecHeaderRows, codecVerifyRows, codecRecordsRows, codecAppendRows, codecFormatRows, codecRestampRows, codecValidateRows,
	} {
		rows = append(rows, part...)
	}
	return rows
}

// codecSubject is what a row of TestCodec runs on.
type codecSubject struct {
	codec.Codec
	formats []format
}

// format is a magic and a compression that go together.
type format struct {
	magic       int8
	compression codec.Compression
}

// newCodecSubject finds the formats of c.
func newCodecSubject(c codec.Codec) codecSubject {
	s := codecSubject{Codec: c}
	for magic := math.MinInt8; magic <= math.MaxInt8; magic++ {
		for compression := range codec.Compression(codec.CompressionMask + 1) {
			f := format{int8(magic), compression}
			if _, err := c.Append(nil, f.header(0), f.records(0)); err == nil {
				s.formats = append(s.formats, f)
			}
		}
	}
	return s
}

// header is that of a batch at an offset.
func (f format) header(base int64) codec.Header {
	h := codec.NewHeader(f.magic)
	h.BaseOffset, h.Attributes = base, codec.Attributes(f.compression)
	return h
}

// plainMessages reports that a batch of f has one record.
func (f format) plainMessages() bool { return f.old() && f.compression == codec.None }

// old reports that f is of magic 0 or 1.
func (f format) old() bool { return f.magic == 0 || f.magic == 1 }

// largestTime is the largest timestamp of records.
const largestTime = 1005

// records are those of one batch in f, from an offset on.
func (f format) records(base int64) []codec.Record {
	recs := []codec.Record{
		{Offset: base, Timestamp: 1000, Key: []byte("k1"), Value: []byte("hello")},
		{Offset: base + 1, Timestamp: largestTime, Value: []byte("there there there there")},
		{Offset: base + 2, Timestamp: 1002, Key: []byte("k3")},
	}
	if f.plainMessages() {
		recs = recs[1:2]
		recs[0].Offset = base
	}
	return recs
}

// read is what recs are when they come back: magic 0 has no timestamps.
func (f format) read(recs []codec.Record) []codec.Record {
	out := make([]codec.Record, len(recs))
	for i, r := range recs {
		out[i] = r
		if f.magic == 0 {
			out[i].Timestamp = codec.NoTimestamp
		}
	}
	return out
}

// each calls do for every format that is for it, and skips the row where there is none.
func (s codecSubject) each(c *check, is func(f format) bool, do func(f format)) {
	found := false
	for _, f := range s.formats {
		if is == nil || is(f) {
			found = true
			do(f)
		}
	}
	if !found {
		c.skip("the Codec has no such format")
	}
}

// ofMagic is a filter for each.
func ofMagic(magics ...int8) func(f format) bool {
	return func(f format) bool { return bytes.IndexByte(magicBytes(magics), byte(f.magic)) >= 0 }
}

func magicBytes(magics []int8) (b []byte) {
	for _, m := range magics {
		b = append(b, byte(m))
	}
	return b
}

// modern is a filter for each: what is not magic 0 and 1.
func modern(f format) bool { return !f.old() }

// packs is a filter for each: magic 2 with compression.
func packs(f format) bool { return f.magic == 2 && f.compression != codec.None }

// encode is Append, which must do.
func (s codecSubject) encode(c *check, h codec.Header, recs []codec.Record) []byte {
	b, err := s.Append(nil, h, recs)
	c.ok(err, "Append")
	return b
}

// batch is a batch of f with its records, at offset 100.
func (s codecSubject) batch(c *check, f format) []byte {
	return s.encode(c, f.header(100), f.records(100))
}

// collect are the records of a batch, copied, up to an error.
func (s codecSubject) collect(batch []byte) (recs []codec.Record, err error) {
	for r, err := range s.Records(batch) {
		if err != nil {
			return recs, err
		}
		recs = append(recs, r.Clone())
	}
	return recs, nil
}

// holds notes a failure where a batch has other records than want.
func (s codecSubject) holds(c *check, batch []byte, want []codec.Record, what string) {
	got, err := s.collect(batch)
	c.ok(err, "Records of "+what)
	sameRecords(c, got, want, what)
}

// sameRecords notes a failure where records differ.
func sameRecords(c *check, got, want []codec.Record, what string) {
	equal(c, len(got), len(want), "the number of records of "+what)
	for i := range min(len(got), len(want)) {
		if !sameRecord(got[i], want[i]) {
			c.errorf("record %d of %s is %+v, want %+v", i, what, got[i], want[i])
		}
	}
}

func sameRecord(a, b codec.Record) bool {
	if a.Offset != b.Offset || a.Timestamp != b.Timestamp || len(a.Headers) != len(b.Headers) ||
		!sameBytes(a.Key, b.Key) || !sameBytes(a.Value, b.Value) {
		return false
	}
	for i := range a.Headers {
		if !sameBytes(a.Headers[i].Key, b.Headers[i].Key) || !sameBytes(a.Headers[i].Value, b.Headers[i].Value) {
			return false
		}
	}
	return true
}

// sameBytes tells null from empty.
func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// headerOf is Header, which must do.
func (s codecSubject) headerOf(c *check, batch []byte) codec.Header {
	h, err := s.Header(batch)
	c.ok(err, "Header")
	return h
}

// Where fields lie: the first ones are those of every batch.
const (
	batchSizeAt   = 8
	batchMagicAt  = 16
	batchCRCAt    = 17 // of magic 2, as all that follows
	batchDataAt   = 21
	batchDeltaAt  = 23
	batchCountAt  = 57
	messageCRCAt  = 12 // of magic 0 and 1
	batchOverhead = 12
)

// sign puts the right size and checksum into a batch of one of Kafka's magics.
func sign(batch []byte) []byte {
	binary.BigEndian.PutUint32(batch[batchSizeAt:], uint32(len(batch)-batchOverhead))
	if batch[batchMagicAt] < 2 {
		binary.BigEndian.PutUint32(batch[messageCRCAt:], crc32.ChecksumIEEE(batch[batchMagicAt:]))
		return batch
	}
	sum := crc32.Checksum(batch[batchDataAt:], crc32.MakeTable(crc32.Castagnoli))
	binary.BigEndian.PutUint32(batch[batchCRCAt:], sum)
	return batch
}

// put32 is a copy of a batch of magic 2 with another number in a field, and the checksum that fits.
func put32(batch []byte, at int, v uint32) []byte {
	b := bytes.Clone(batch)
	binary.BigEndian.PutUint32(b[at:], v)
	return sign(b)
}

// spoilt is a copy of a batch whose stored checksum is another one, or nil where it cannot be found.
func (s codecSubject) spoilt(c *check, batch []byte) []byte {
	at := bytes.Index(batch, binary.BigEndian.AppendUint32(nil, s.headerOf(c, batch).CRC))
	if at < 0 {
		return nil
	}
	b := bytes.Clone(batch)
	b[at] ^= 0x55
	return b
}

// classed notes a failure where err is none of the codec's classes.
func classed(c *check, err error, what string) {
	if err == nil {
		return
	}
	for _, class := range []error{
		codec.ErrCorrupt, codec.ErrShort, codec.ErrMagic, codec.ErrTooLarge, codec.ErrCompression, codec.ErrInvalid, codec.ErrFormat, codec.ErrRewrite,
	} {
		if errors.Is(err, class) {
			return
		}
	}
	c.errorf("%s = %v, which is of no class of errors", what, err)
}
