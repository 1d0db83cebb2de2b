package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"github.com/stratalog/strata/codec"
)

// codecRuleRows are the rules for all methods.
var codecRuleRows = []row[codecSubject]{
	{
		name: "codec calls do not disturb each other",
		rule: "may be called concurrently",
		run: func(c *check, s codecSubject) {
			c.together(6, func(who int) {
				for i := range int64(20) {
					for _, f := range s.formats {
						base := 1000*int64(who) + i
						recs := f.records(base)
						batch := s.encode(c, f.header(base), recs)
						runtime.Gosched()
						c.ok(s.Verify(batch), "Verify beside others")
						s.holds(c, batch, f.read(recs), "a batch beside others")
					}
				}
			})
		},
	},
	{
		name: "arguments stay as they are",
		rule: "They keep none of their arguments, and change none but Append's dst and Restamp's batch.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				recs, want := f.records(100), f.records(100)
				batch := s.encode(c, f.header(100), recs)
				sameRecords(c, recs, want, "Append's argument")
				for _, r := range recs {
					clear(r.Key)
					clear(r.Value)
				}
				before := string(batch)
				s.headerOf(c, batch)
				c.ok(s.Verify(batch), "Verify")
				s.holds(c, batch, f.read(want), "a batch whose records were overwritten")
				equal(c, string(batch), before, "a batch that was read")
			})
		},
	},
	{
		name: "no bytes cause a panic",
		rule: "They never panic, whatever the bytes.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				good := s.batch(c, f)
				for i := range good {
					s.survives(c, good[:i])
					for bit := range 8 {
						bad := bytes.Clone(good)
						bad[i] ^= 1 << bit
						s.survives(c, bad)
					}
				}
				rnd := rand.New(rand.NewPCG(1, uint64(f.magic)))
				for range 200 {
					bad := bytes.Clone(good)
					for i := batchMagicAt + 1; i < len(bad); i++ {
						if rnd.IntN(4) == 0 {
							bad[i] = byte(rnd.Uint32())
						}
					}
					s.survives(c, bad)
				}
			})
		},
	},
}

// survives calls all that reads on b.
func (s codecSubject) survives(c *check, b []byte) {
	_, err := s.Header(b)
	classed(c, err, "Header of damaged bytes")
	classed(c, s.Verify(b), "Verify of damaged bytes")
	_, err = s.collect(b)
	classed(c, err, "Records of damaged bytes")
	classed(c, s.Restamp(bytes.Clone(b), codec.Stamp{LastOffset: 500, MaxTimestamp: 5}), "Restamp of damaged bytes")
}

// codecHeaderRows are the rules of Header.
var codecHeaderRows = []row[codecSubject]{
	{
		name: "a header is read from less and more",
		rule: "b may hold less than the batch, or more.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				batch := s.batch(c, f)
				want := s.headerOf(c, batch)
				equal(c, want.Size, len(batch), "Size")
				equal(c, want.Magic, f.magic, "Magic")
				equal(c, want.Attributes.Compression(), f.compression, "the compression")
				equal(c, want.LastOffset, f.records(100)[len(f.records(100))-1].Offset, "LastOffset")
				equal(c, s.headerOf(c, append(bytes.Clone(batch), batch...)), want, "the Header of two batches")
				equal(c, s.headerOf(c, batch[:min(len(batch), codec.MaxHeaderBytes)]), want, "the Header of a part")
			})
		},
	},
	{
		name: "less than a header is short",
		rule: "Where b holds less than a header the error is ErrShort; MaxHeaderBytes are always enough.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				batch := s.batch(c, f)
				want, enough := s.headerOf(c, batch), false
				for n := range batch {
					h, err := s.Header(batch[:n:n])
					if err == nil {
						enough = true
						equal(c, h, want, "the Header of a part")
						continue
					}
					c.is(err, codec.ErrShort, fmt.Sprintf("Header of %d bytes", n))
					if enough || n >= codec.MaxHeaderBytes {
						c.fatalf("Header of %d bytes = %v, want none", n, err)
					}
				}
			})
		},
	},
	{
		name: "an unknown magic says so",
		rule: "A magic that the Codec does not know is ErrMagic.",
		run: func(c *check, s codecSubject) {
			known := map[int8]bool{}
			for _, f := range s.formats {
				known[f.magic] = true
			}
			s.each(c, modern, func(f format) {
				batch := s.batch(c, f)
				for magic := math.MinInt8; magic <= math.MaxInt8; magic++ {
					if known[int8(magic)] {
						continue
					}
					batch[batchMagicAt] = byte(magic)
					_, err := s.Header(batch)
					c.is(err, codec.ErrMagic, fmt.Sprintf("Header of magic %d", magic))
					c.is(s.Verify(batch), codec.ErrMagic, "Verify of an unknown magic")
					_, err = s.collect(batch)
					c.is(err, codec.ErrMagic, "Records of an unknown magic")
					_, err = s.Append(nil, codec.NewHeader(int8(magic)), nil)
					c.is(err, codec.ErrMagic, "Append of an unknown magic")
				}
			})
		},
	},
	{
		name: "an impossible size is damage",
		rule: "A size that no batch has is ErrCorrupt, one over the limit ErrTooLarge.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				batch := s.batch(c, f)
				for _, size := range []int32{-1, 0, 1, 13, -batchOverhead, math.MinInt32} {
					binary.BigEndian.PutUint32(batch[batchSizeAt:], uint32(size))
					_, err := s.Header(batch)
					c.is(err, codec.ErrCorrupt, fmt.Sprintf("Header with the size %d", size))
					c.is(s.Verify(batch), codec.ErrCorrupt, fmt.Sprintf("Verify with the size %d", size))
				}
				binary.BigEndian.PutUint32(batch[batchSizeAt:], math.MaxInt32)
				if h, err := s.Header(batch); err != nil {
					c.is(err, codec.ErrTooLarge, "Header with the largest size")
				} else if int64(h.Size) != math.MaxInt32+batchOverhead {
					c.errorf("Header with the largest size has %d", h.Size)
				}
			})
		},
	},
	{
		name: "a header needs no checksum",
		rule: "No checksum is looked at, and nothing is allocated.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				batch := s.batch(c, f)
				want := s.headerOf(c, batch)
				batch[len(batch)-1] ^= 1
				equal(c, s.headerOf(c, batch), want, "the Header of a damaged batch")
				if bad := s.spoilt(c, batch); bad != nil {
					s.headerOf(c, bad)
				}
				const calls = 100
				least := uint64(math.MaxUint64) // others allocate meanwhile, but not always
				for range 50 {
					before := mallocs()
					for range calls {
						_, _ = s.Header(batch)
					}
					least = min(least, mallocs()-before)
				}
				if least >= calls {
					c.errorf("%d calls of Header allocated %d times", calls, least)
				}
			})
		},
	},
}

// mallocs is the number of allocations so far.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// codecVerifyRows are the rules of Verify.
var codecVerifyRows = []row[codecSubject]{
	{
		name: "exactly one batch is verified",
		rule: "Less than the batch is ErrShort, more than it ErrCorrupt.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				batch := s.batch(c, f)
				c.ok(s.Verify(batch), "Verify")
				for n := range batch {
					c.is(s.Verify(batch[:n]), codec.ErrShort, fmt.Sprintf("Verify of %d bytes", n))
				}
				c.is(s.Verify(append(bytes.Clone(batch), 0)), codec.ErrCorrupt, "Verify of a byte more")
				c.is(s.Verify(append(bytes.Clone(batch), batch...)), codec.ErrCorrupt, "Verify of two batches")
			})
		},
	},
	{
		name: "a wrong checksum is damage",
		rule: "A checksum that does not fit is ErrCorrupt, and the text has both.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				batch := s.batch(c, f)
				from := len(batch) - 1
				if f.old() || f.magic == 2 {
					from = batchDataAt
				}
				for i := from; i < len(batch); i++ {
					for bit := range 8 {
						bad := bytes.Clone(batch)
						bad[i] ^= 1 << bit
						c.is(s.Verify(bad), codec.ErrCorrupt, "Verify of what has a bit flipped")
					}
				}
				bad := s.spoilt(c, batch)
				if bad == nil {
					return
				}
				err := s.Verify(bad)
				c.is(err, codec.ErrCorrupt, "Verify with a wrong checksum")
				for _, b := range [][]byte{batch, bad} { // the one that fits, and the one that is there
					if sum := fmt.Sprintf("%08x", s.headerOf(c, b).CRC); err != nil && !strings.Contains(err.Error(), sum) {
						c.errorf("the text %q has not the checksum %s", err, sum)
					}
				}
			})
		},
	},
	{
		name: "a field out of its range is damage",
		rule: "A field outside its range is ErrCorrupt.",
		run: func(c *check, s codecSubject) {
			s.each(c, ofMagic(2), func(f format) {
				batch := s.batch(c, f)
				for what, bad := range map[string][]byte{
					"a negative offset":           append([]byte{0x80}, batch[1:]...),
					"-1 records":                  put32(batch, batchCountAt, math.MaxUint32),
					"more records than offsets":   put32(batch, batchCountAt, 4),
					"the last before the first":   put32(batch, batchDeltaAt, math.MaxUint32),
					"records in fewer bytes":      put32(batch, batchCountAt, math.MaxInt32),
					"records in no bytes":         sign(bytes.Clone(batch[:codec.MaxHeaderBytes])),
					"offsets that overflow int64": append([]byte{0x7f, 255, 255, 255, 255, 255, 255, 255}, batch[8:]...),
				} {
					c.is(s.Verify(bad), codec.ErrCorrupt, "Verify with "+what)
				}
			})
		},
	},
	{
		name: "nothing is inflated to verify",
		rule: "Nothing is inflated: what is wrong inside a compressed batch, Records finds.",
		run: func(c *check, s codecSubject) {
			s.each(c, packs, func(f format) {
				bad := bytes.Clone(s.batch(c, f))
				for i := codec.MaxHeaderBytes; i < len(bad); i++ {
					bad[i] = 0xff
				}
				c.ok(s.Verify(sign(bad)), "Verify of what cannot be inflated")
				_, err := s.collect(bad)
				c.is(err, codec.ErrCorrupt, "Records of what cannot be inflated")
			})
		},
	},
}

// codecRecordsRows are the rules of Records.
var codecRecordsRows = []row[codecSubject]{
	{
		name: "what is appended is read",
		rule: "They come in offset order, inflated, with absolute offsets.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				for _, base := range []int64{0, 100, 1 << 40} {
					recs := f.records(base)
					s.holds(c, s.encode(c, f.header(base), recs), f.read(recs), "what was appended")
				}
				if f.plainMessages() {
					return
				}
				recs := f.records(100)
				recs[1].Offset, recs[2].Offset = 103, 107 // compaction leaves gaps
				s.holds(c, s.encode(c, f.header(100), recs), f.read(recs), "a batch with gaps")
			})
		},
	},
	{
		name: "what Kafka wrote is read",
		rule: "They come in offset order, inflated, with absolute offsets.",
		run: func(c *check, s codecSubject) {
			known := false
			for _, set := range kafkaSets {
				f := format{set.magic, set.compression}
				if !s.has(f) {
					continue
				}
				known = true
				var got []codec.Record
				for batch, err := range codec.Batches(s, set.bytes(c)) {
					c.ok(err, "the next of Kafka's batches")
					c.ok(s.Verify(batch.Bytes), "Verify of what Kafka wrote")
					recs, err := s.collect(batch.Bytes)
					c.ok(err, "Records of what Kafka wrote")
					got = append(got, recs...)
				}
				sameRecords(c, got, set.records(), fmt.Sprintf("Kafka's magic %d with %v", f.magic, f.compression))
			}
			if !known {
				c.skip("the Codec has none of Kafka's formats")
			}
		},
	},
	{
		name: "the records are counted",
		rule: "Their number is the header's, where the format has it; another number is ErrCorrupt.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				if n := s.headerOf(c, s.batch(c, f)).Count; n >= 0 {
					equal(c, n, len(f.records(100)), "Count")
				}
			})
			s.each(c, ofMagic(2), func(f format) {
				h := f.header(100)
				h.LastOffset = 110
				batch := s.encode(c, h, f.records(100))
				for _, n := range []uint32{1, 2, 4, 5} {
					_, err := s.collect(put32(batch, batchCountAt, n))
					c.is(err, codec.ErrCorrupt, fmt.Sprintf("Records of 3, where the header says %d", n))
				}
			})
		},
	},
	{
		name: "the append's time is that of all",
		rule: "Where the batch has log append time, each has the batch's timestamp.",
		run: func(c *check, s codecSubject) {
			s.each(c, func(f format) bool { return f.magic != 0 }, func(f format) {
				h := f.header(100)
				h.Attributes |= codec.LogAppendTimeBit
				h.MaxTimestamp = 77777
				want := f.records(100)
				batch := s.encode(c, h, want)
				for i := range want {
					want[i].Timestamp = 77777
				}
				s.holds(c, batch, want, "a batch with log append time")
			})
		},
	},
	{
		name: "control records come",
		rule: "Control records come like others.",
		run: func(c *check, s codecSubject) {
			s.each(c, modern, func(f format) {
				h := f.header(100)
				h.Attributes |= codec.ControlBit
				marker := []codec.Record{{Offset: 100, Timestamp: 5, Key: []byte{0, 0, 0, 1}, Value: []byte{0, 0, 0, 0, 0, 7}}}
				s.holds(c, s.encode(c, h, marker), marker, "a control batch")
			})
		},
	},
	{
		name: "a record stays until the next step",
		rule: "Key, Value and Headers alias batch, or a buffer of the iteration, and are valid until the next " +
			"step: Clone what is to be kept.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				batch, want := s.batch(c, f), f.read(f.records(100))
				i := 0
				for r, err := range s.Records(batch) {
					c.ok(err, "Records")
					s.holds(c, batch, want, "an iteration inside of another")
					if i >= len(want) || !sameRecord(r, want[i]) {
						c.fatalf("record %d has become %+v", i, r)
					}
					i++
				}
			})
		},
	},
	{
		name: "null is not empty",
		rule: "A null key or value is nil, an empty one is not.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				for i, r := range []codec.Record{{}, {Key: []byte{}}, {Value: []byte{}}, {Key: []byte{}, Value: []byte{}}} {
					want := f.read([]codec.Record{r})
					s.holds(c, s.encode(c, f.header(0), []codec.Record{r}), want, fmt.Sprintf("kind %d of null", i))
				}
			})
		},
	},
	{
		name: "an error ends the iteration",
		rule: "An error is yielded once, without a record, and ends the iteration.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				batch := s.batch(c, f)
				s.failsOnce(c, batch[:len(batch)-1])
				s.failsOnce(c, nil)
				if f.magic == 2 {
					s.failsOnce(c, put32(batch, batchCountAt, 2))
				}
				if packs(f) {
					s.failsOnce(c, append(bytes.Clone(batch[:codec.MaxHeaderBytes]), make([]byte, len(batch)-codec.MaxHeaderBytes)...))
				}
				for range s.Records(batch) { // and who stops gets no more
					break
				}
			})
		},
	},
	{
		name: "records need no checksum",
		rule: "The batch need not be verified.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				if bad := s.spoilt(c, s.batch(c, f)); bad != nil {
					s.holds(c, bad, f.read(f.records(100)), "a batch with a wrong checksum")
				}
			})
		},
	},
}

// has reports whether f is one of the formats.
func (s codecSubject) has(f format) bool {
	return slices.Contains(s.formats, f)
}

// failsOnce notes a failure where the records of a damaged batch do not end with one error.
func (s codecSubject) failsOnce(c *check, batch []byte) {
	failures := 0
	for r, err := range s.Records(batch) {
		switch {
		case failures > 0:
			c.fatalf("behind its error, Records yielded %+v, %v", r, err)
		case err == nil:
		case !sameRecord(r, codec.Record{}):
			c.errorf("beside its error, Records yielded the record %+v", r)
		case !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, codec.ErrShort):
			c.errorf("Records of a damaged batch = %v, want codec.ErrCorrupt or codec.ErrShort", err)
		}
		if err != nil {
			failures++
		}
	}
	equal(c, failures, 1, "the number of errors of a damaged batch")
}
