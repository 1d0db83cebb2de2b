package conformance

import (
	"bytes"
	"errors"
	"math"

	"github.com/stratalog/strata/codec"
)

// codecAppendRows are the rules of Append about what it takes.
var codecAppendRows = []row[codecSubject]{
	{
		name: "the header's fields are written",
		rule: "Of h are used Magic, BaseOffset, LeaderEpoch, Attributes, ProducerID, ProducerEpoch and BaseSequence.",
		run: func(c *check, s codecSubject) {
			s.each(c, modern, func(f format) {
				h := f.header(100)
				h.LeaderEpoch, h.ProducerID, h.ProducerEpoch, h.BaseSequence = 5, 7, 3, 40
				h.Attributes |= codec.TransactionalBit
				h.Size, h.CRC, h.Count = 1, 2, 3 // are not used
				batch, err := s.Append([]byte("before"), h, f.records(100))
				c.ok(err, "Append")
				equal(c, string(batch[:6]), "before", "dst")
				got := s.headerOf(c, batch[6:])
				want := h
				want.Size, want.CRC, want.Count = len(batch)-6, got.CRC, 3
				want.LastOffset, want.BaseTimestamp, want.MaxTimestamp = 102, 1000, largestTime
				equal(c, got, want, "the Header of what was appended")
				c.ok(s.Verify(batch[6:]), "Verify of what was appended")
			})
		},
	},
	{
		name: "compaction keeps a batch's range",
		rule: "LastOffset is used in magic 2, where it lies past the last record: compaction keeps a batch's range so.",
		run: func(c *check, s codecSubject) {
			s.each(c, ofMagic(2), func(f format) {
				for given, want := range map[int64]int64{0: 102, 102: 102, 120: 120} {
					h := f.header(90)
					h.LastOffset = given
					got := s.headerOf(c, s.encode(c, h, f.records(100)))
					equal(c, got.BaseOffset, 90, "BaseOffset")
					equal(c, got.LastOffset, want, "LastOffset")
				}
			})
		},
	},
	{
		name: "the largest timestamp is found",
		rule: "MaxTimestamp is used with log append time, and where recs is empty; otherwise it is the records' largest.",
		run: func(c *check, s codecSubject) {
			s.each(c, func(f format) bool { return f.magic != 0 }, func(f format) {
				h := f.header(100)
				h.MaxTimestamp = 77777
				equal(c, s.headerOf(c, s.encode(c, h, f.records(100))).MaxTimestamp, largestTime, "MaxTimestamp")
				h.Attributes |= codec.LogAppendTimeBit
				equal(c, s.headerOf(c, s.encode(c, h, f.records(100))).MaxTimestamp, 77777, "MaxTimestamp with log append time")
				if f.magic == 2 {
					h.Attributes &^= codec.LogAppendTimeBit
					equal(c, s.headerOf(c, s.encode(c, h, nil)).MaxTimestamp, 77777, "MaxTimestamp without records")
				}
			})
		},
	},
	{
		name: "the delete horizon is written",
		rule: "BaseTimestamp is used with a delete horizon; otherwise it is the first record's.",
		run: func(c *check, s codecSubject) {
			s.each(c, ofMagic(2), func(f format) {
				h := f.header(100)
				h.BaseTimestamp = 555
				equal(c, s.headerOf(c, s.encode(c, h, f.records(100))).BaseTimestamp, 1000, "BaseTimestamp")
				h.Attributes |= codec.DeleteHorizonBit
				batch := s.encode(c, h, f.records(100))
				equal(c, s.headerOf(c, batch).BaseTimestamp, 555, "BaseTimestamp with a delete horizon")
				s.holds(c, batch, f.records(100), "a batch with a delete horizon")
			})
		},
	},
	{
		name: "offsets rise",
		rule: "The offsets of recs rise strictly and begin at BaseOffset or later, and timestamps are NoTimestamp or " +
			"later, otherwise the error is ErrInvalid.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				for what, recs := range invalidRecords() {
					_, err := s.Append(nil, f.header(100), recs)
					c.is(err, codec.ErrInvalid, "Append of "+what)
				}
				recs := []codec.Record{{Offset: 100, Timestamp: codec.NoTimestamp, Value: []byte("x")}}
				s.holds(c, s.encode(c, f.header(100), recs), recs, "a record without timestamp")
			})
		},
	},
	{
		name: "an error leaves what was there",
		rule: "With an error, dst is returned as it was.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				for what, recs := range invalidRecords() {
					got, err := s.Append(append(make([]byte, 0, 1000), "before"...), f.header(100), recs)
					c.is(err, codec.ErrInvalid, "Append of "+what)
					equal(c, string(got), "before", "dst with an error")
				}
			})
		},
	},
}

// invalidRecords are refused at offset 100.
func invalidRecords() map[string][]codec.Record {
	return map[string][]codec.Record{
		"the same offset twice":   {{Offset: 100}, {Offset: 100}},
		"offsets that fall":       {{Offset: 105}, {Offset: 104}},
		"an offset below base":    {{Offset: 99}},
		"a timestamp of -2":       {{Offset: 100, Timestamp: -2}},
		"a bad one behind a good": {{Offset: 100, Value: []byte("good")}, {Offset: 101, Timestamp: math.MinInt64}},
	}
}

// codecFormatRows are the rules of Append about what the formats have.
var codecFormatRows = []row[codecSubject]{
	{
		name: "old formats refuse what is new",
		rule: "What the format cannot hold is ErrFormat: record headers, producers and zstd in magic 0 and 1.",
		run: func(c *check, s codecSubject) {
			s.each(c, ofMagic(0, 1), func(f format) {
				headers := f.records(100)
				headers[0].Headers = []codec.RecordHeader{{Key: []byte("h")}}
				_, err := s.Append(nil, f.header(100), headers)
				c.is(err, codec.ErrFormat, "Append of record headers")
				producer := f.header(100)
				producer.ProducerID, producer.ProducerEpoch, producer.BaseSequence = 7, 0, 0
				_, err = s.Append(nil, producer, f.records(100))
				c.is(err, codec.ErrFormat, "Append with a producer")
				_, err = s.Append(nil, format{f.magic, codec.Zstd}.header(100), f.records(100))
				c.is(err, codec.ErrFormat, "Append with zstd")
			})
		},
	},
	{
		name: "record headers are kept",
		rule: "Append encodes recs as one batch behind dst and returns the longer slice.",
		run: func(c *check, s codecSubject) {
			s.each(c, modern, func(f format) {
				recs := f.records(100)
				recs[1].Headers = []codec.RecordHeader{
					{Key: []byte("k"), Value: []byte("v")}, {Key: []byte{}, Value: nil}, {Key: []byte("k"), Value: []byte{}},
				}
				s.holds(c, s.encode(c, f.header(100), recs), recs, "a batch with record headers")
			})
		},
	},
	{
		name: "a batch may be empty",
		rule: "Without records, magic 2 gives a header of 61 bytes without compression, and magic 0 and 1 give nothing.",
		run: func(c *check, s codecSubject) {
			s.each(c, ofMagic(0, 1, 2), func(f format) {
				batch := s.encode(c, f.header(100), nil)
				if f.old() {
					equal(c, len(batch), 0, "the size of what has no records")
					return
				}
				equal(c, len(batch), codec.MaxHeaderBytes, "the size of what has no records")
				equal(c, s.headerOf(c, batch).Attributes.Compression(), codec.None, "its compression")
				c.ok(s.Verify(batch), "Verify of what has no records")
				s.holds(c, batch, nil, "what has no records")
			})
		},
	},
	{
		name: "plain messages are batches each",
		rule: "Magic 0 and 1 without compression have no batch of several records: each becomes a batch of its own.",
		run: func(c *check, s codecSubject) {
			s.each(c, format.plainMessages, func(f format) {
				recs := format{magic: 2}.records(100)
				var got []codec.Record
				for batch, err := range codec.Batches(s, s.encode(c, f.header(100), recs)) {
					c.ok(err, "the next message")
					equal(c, batch.Count, 1, "Count of a message")
					one, err := s.collect(batch.Bytes)
					c.ok(err, "Records of a message")
					got = append(got, one...)
				}
				sameRecords(c, got, f.read(recs), "plain messages")
			})
		},
	},
}

// codecRestampRows are the rules of Restamp.
var codecRestampRows = []row[codecSubject]{
	{
		name: "a restamped batch has its size",
		rule: "The size of batch does not change.",
		run: func(c *check, s codecSubject) {
			s.each(c, restamps, func(f format) {
				for _, appended := range []bool{false, true} {
					batch := s.batch(c, f)
					before := s.headerOf(c, batch)
					c.ok(s.Restamp(batch, codec.Stamp{LastOffset: 502, LeaderEpoch: 9, MaxTimestamp: 77777, LogAppendTime: appended}), "Restamp")
					h := s.headerOf(c, batch)
					equal(c, h.Size, before.Size, "Size")
					equal(c, h.LastOffset, 502, "LastOffset")
					c.ok(s.Verify(batch), "Verify of what was restamped")
					s.holds(c, batch, f.moved(502, 77777, appended), "what was restamped")
				}
			})
		},
	},
	{
		name: "a checksum is renewed where it must be",
		rule: "The checksum is computed anew where what it covers changed, and left alone otherwise.",
		run: func(c *check, s codecSubject) {
			s.each(c, restamps, func(f format) {
				batch := s.batch(c, f)
				h := s.headerOf(c, batch)
				bad := s.spoilt(c, batch)
				if bad == nil {
					return
				}
				wrong := s.headerOf(c, bad).CRC
				c.ok(s.Restamp(bad, codec.Stamp{LastOffset: 502, LeaderEpoch: 9, MaxTimestamp: h.MaxTimestamp}), "Restamp")
				equal(c, s.headerOf(c, bad).CRC, wrong, "the checksum, where nothing that it covers changed")
				c.ok(s.Restamp(batch, codec.Stamp{LastOffset: 502, MaxTimestamp: 77777, LogAppendTime: true}), "Restamp")
				c.ok(s.Verify(batch), "Verify of what got another time")
			})
		},
	},
	{
		name: "old formats have no epoch",
		rule: "A leader epoch is written to magic 2 only, timestamps to magic 1 and 2 only.",
		run: func(c *check, s codecSubject) {
			s.each(c, func(f format) bool { return ofMagic(0, 1, 2)(f) && restamps(f) }, func(f format) {
				batch := s.batch(c, f)
				before := s.headerOf(c, batch)
				c.ok(s.Restamp(batch, codec.Stamp{LastOffset: 502, LeaderEpoch: 9, MaxTimestamp: 77777, LogAppendTime: true}), "Restamp")
				want := before
				want.BaseOffset += 502 - before.LastOffset
				if before.BaseOffset == codec.NoOffset {
					want.BaseOffset = codec.NoOffset
				}
				want.LastOffset = 502
				got := s.headerOf(c, batch)
				if f.magic == 2 {
					want.LeaderEpoch = 9
				}
				if f.magic > 0 {
					want.MaxTimestamp, want.CRC = 77777, got.CRC
					want.Attributes |= codec.LogAppendTimeBit
				}
				if f.magic == 1 {
					want.BaseTimestamp = 77777
				}
				equal(c, got, want, "the Header of what was restamped")
			})
		},
	},
	{
		name: "absolute offsets need an encoding",
		rule: "A compressed batch of magic 0 is ErrRewrite: its inner messages hold absolute offsets.",
		run: func(c *check, s codecSubject) {
			s.each(c, func(f format) bool { return f.magic == 0 && !restamps(f) }, func(f format) {
				c.is(s.Restamp(s.batch(c, f), codec.Stamp{LastOffset: 502}), codec.ErrRewrite, "Restamp of a wrapper of magic 0")
			})
		},
	},
	{
		name: "no offset is below 0",
		rule: "A LastOffset that would put an offset below 0 is ErrInvalid.",
		run: func(c *check, s codecSubject) {
			s.each(c, restamps, func(f format) {
				for _, last := range []int64{-1, math.MinInt64} {
					c.is(s.Restamp(s.batch(c, f), codec.Stamp{LastOffset: last}), codec.ErrInvalid, "Restamp to below 0")
				}
				if modern(f) {
					c.is(s.Restamp(s.batch(c, f), codec.Stamp{LastOffset: 1}), codec.ErrInvalid, "Restamp of three records to 1")
				}
			})
		},
	},
	{
		name: "what cannot be restamped stays",
		rule: "With an error, batch is as it was.",
		run: func(c *check, s codecSubject) {
			s.each(c, nil, func(f format) {
				good := s.batch(c, f)
				for _, batch := range [][]byte{good, good[:len(good)-1], append(bytes.Clone(good), 0), nil} {
					for _, last := range []int64{-1, 1, 502} {
						b := bytes.Clone(batch)
						err := s.Restamp(b, codec.Stamp{LastOffset: last, LeaderEpoch: 9, MaxTimestamp: 77777, LogAppendTime: true})
						if err != nil {
							classed(c, err, "Restamp")
							equal(c, string(b), string(batch), "a batch that could not be restamped")
						} else if errors.Is(s.Verify(b), codec.ErrCorrupt) {
							c.errorf("a batch does not verify after a Restamp without error")
						}
					}
				}
			})
		},
	},
}

// restamps is a filter for each: what can be restamped in place.
func restamps(f format) bool { return f.magic != 0 || f.compression == codec.None }

// moved are the records of a batch of f that was restamped.
func (f format) moved(last, now int64, appended bool) []codec.Record {
	recs := f.read(f.records(100))
	for i := range recs {
		recs[i].Offset = last - int64(len(recs)-1-i)
		switch {
		case f.magic == 0:
		case appended, f.plainMessages(): // a plain message has no other time than its batch
			recs[i].Timestamp = now
		}
	}
	return recs
}
