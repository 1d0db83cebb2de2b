package codec_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// fuzzed is the Codec of the fuzz targets: its limits keep a run short.
func fuzzed() codec.Codec {
	return codec.KafkaWith(codec.Options{InflatedBytes: 1 << 20})
}

// classes are all that an error of this package may be.
var classes = []error{
	codec.ErrCorrupt, codec.ErrShort, codec.ErrMagic, codec.ErrTooLarge, codec.ErrCompression,
	codec.ErrInvalid, codec.ErrTimestamp, codec.ErrFormat, codec.ErrRewrite,
}

// requireClass checks that err is nil or of a class.
func requireClass(tb testing.TB, err error) {
	tb.Helper()
	if err == nil {
		return
	}
	for _, class := range classes {
		if errors.Is(err, class) {
			return
		}
	}
	tb.Fatalf("error without a class: %v", err)
}

// addSeeds adds batches of all formats, good and bad.
func addSeeds(f *testing.F, add func(b []byte)) {
	f.Helper()
	for _, v := range vectors {
		add(unhex(f, v.hex))
	}
	withHeaders := some(0)
	withHeaders[1].Headers = bytesHeaders(3)
	for magic := range int8(3) {
		for c := codec.None; c <= codec.Zstd; c++ {
			recs := some(0)
			if magic == 2 {
				recs = withHeaders
			}
			b, err := codec.Kafka().Append(nil, compressed(magic, c), recs)
			if err != nil {
				continue // zstd in magic 0 and 1
			}
			add(b)
			add(append(b, b...))
			add(b[:len(b)-1])
		}
	}
	add(raw(-1, rawRecord(0, 0, 1, "k", 1, "v", 0), nil))
	add(raw(1, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, nil))
	add(make([]byte, 100))
}

func FuzzHeader(f *testing.F) {
	addSeeds(f, func(b []byte) { f.Add(b) })
	c := fuzzed()
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := c.Header(b)
		requireClass(t, err)
		if err != nil {
			require.Zero(t, h)
			return
		}
		require.GreaterOrEqual(t, h.Size, 26)
		again, err := c.Header(append(bytes.Clone(b[:min(len(b), codec.MaxHeaderBytes)]), 1, 2, 3))
		require.NoError(t, err)
		require.Equal(t, h, again, "it depends on the header's bytes only")
	})
}

func FuzzVerify(f *testing.F) {
	addSeeds(f, func(b []byte) { f.Add(b, true) })
	c := fuzzed()
	f.Fuzz(func(t *testing.T, b []byte, signed bool) {
		if signed && len(b) >= recordsAt {
			sign(b)
		}
		before := bytes.Clone(b)
		err := c.Verify(b)
		requireClass(t, err)
		require.Equal(t, before, b)
		if err != nil {
			return
		}
		h, err := c.Header(b)
		require.NoError(t, err)
		require.Len(t, b, h.Size)
		if h.BaseOffset != codec.NoOffset {
			require.LessOrEqual(t, h.BaseOffset, h.LastOffset)
		}
		if h.LastOffset < h.LastOffset-h.BaseOffset || h.Magic == 0 && h.Attributes.Compression() != codec.None {
			return
		}
		stamp := codec.Stamp{LastOffset: h.LastOffset, LeaderEpoch: 3, MaxTimestamp: 77, LogAppendTime: true}
		if err := c.Restamp(b, stamp); err != nil {
			require.Negative(t, h.LastOffset)
			return
		}
		require.NoError(t, c.Verify(b), "after Restamp")
	})
}

// FuzzRecords reads any bytes; what can be read comes back from Append.
func FuzzRecords(f *testing.F) {
	addSeeds(f, func(b []byte) { f.Add(b) })
	c := fuzzed()
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		recs, err := collect(c, b)
		requireClass(t, err)
		require.Equal(t, before, b)
		if err != nil {
			return
		}
		h, err := c.Header(b)
		require.NoError(t, err)
		out, err := c.Append(nil, h, recs)
		if err != nil {
			require.ErrorIs(t, err, codec.ErrInvalid, "only timestamps and offsets that may be read but not written")
			return
		}
		if len(out) > 0 {
			require.Equal(t, fromAppend(h, recs), readAll(t, out))
		}
	})
}

// fromAppend is recs as they come back from an Append with h.
func fromAppend(h codec.Header, recs []codec.Record) []codec.Record {
	for i := range recs {
		switch {
		case h.Magic == 0:
			recs[i].Timestamp = codec.NoTimestamp
		case h.Attributes.LogAppendTime():
			recs[i].Timestamp = h.MaxTimestamp
		}
	}
	return recs
}

// FuzzValidate: Kafka's own Validate and the one for any Codec agree, and what they let through can be read.
func FuzzValidate(f *testing.F) {
	addSeeds(f, func(b []byte) {
		f.Add(b, int8(2), uint8(0), true, true)
		f.Add(b, int8(1), uint8(1), false, true)
		f.Add(b, int8(0), uint8(2), true, false)
	})
	c := fuzzed()
	f.Fuzz(func(t *testing.T, b []byte, magic int8, compression uint8, flag, signed bool) {
		if signed && len(b) >= recordsAt {
			sign(b)
		}
		r := codec.Rules{
			Offset: 100, LeaderEpoch: 5, Now: 2000, Magic: magic, Recompress: compression&8 != 0,
			Compression: codec.Compression(compression & 7), LogAppendTime: flag,
			MaxAge: 1_000_000, MaxAhead: 1_000_000, NeedKey: compression&16 != 0, FromClient: compression&32 != 0,
		}
		own, err := codec.Validate(c, nil, bytes.Clone(b), r)
		requireClass(t, err)
		other, otherErr := codec.Validate(slow{c}, nil, bytes.Clone(b), r)
		if err == nil && otherErr == nil {
			require.Equal(t, own, other)
		}
		if err != nil {
			require.Zero(t, own)
			return
		}
		recs := readAll(t, own.Batches)
		require.Len(t, recs, own.Records)
		for i := range recs {
			require.Equal(t, 100+int64(i), recs[i].Offset)
		}
	})
}

func FuzzConvert(f *testing.F) {
	addSeeds(f, func(b []byte) { f.Add(b, int8(1), int64(1), true) })
	c := fuzzed()
	f.Fuzz(func(t *testing.T, b []byte, magic int8, first int64, signed bool) {
		if signed && len(b) >= recordsAt {
			sign(b)
		}
		out, err := codec.Convert(c, nil, b, magic, first)
		requireClass(t, err)
		if err != nil {
			require.Empty(t, out)
			return
		}
		again, err := codec.Convert(c, nil, out, magic, first)
		require.NoError(t, err)
		require.Equal(t, len(readBatches(out)), len(readBatches(again)))
	})
}

// readBatches are the batches of b, up to the first bad one.
func readBatches(b []byte) (all []codec.Batch) {
	for batch, err := range codec.Batches(codec.Kafka(), b) {
		if err == nil {
			all = append(all, batch)
		}
	}
	return all
}

// FuzzScanner puts any bytes between good batches: those before are read, and all bytes are in a piece.
func FuzzScanner(f *testing.F) {
	good, ends := stream(f, codec.Kafka(), 2, codec.None, 6)
	addSeeds(f, func(b []byte) { f.Add(b, uint16(0)) })
	f.Add([]byte("garbage"), uint16(50))
	f.Add(good[ends[1]:ends[2]], uint16(ends[0]))
	f.Fuzz(func(t *testing.T, b []byte, at uint16) {
		cut := int(at) % len(good)
		all := bytes.Join([][]byte{good[:cut], b, good[cut:]}, nil)
		before := 0
		for before < len(ends) && ends[before] <= cut {
			before++
		}
		s := codec.NewScanner(codec.Kafka(), bytes.NewReader(all), codec.Expect{Offset: 100, Bytes: int64(len(all))})
		position, count := int64(0), 0
		for {
			p, err := s.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			require.Equal(t, position, p.Position)
			require.Positive(t, p.Size)
			requireClass(t, p.Err)
			if p.Err == nil {
				require.NoError(t, codec.Kafka().Verify(p.Batch.Bytes))
				count++
			}
			position += p.Size
		}
		require.Equal(t, int64(len(all)), position)
		require.GreaterOrEqual(t, count, before-1, "all before the damage but the last, which may not fit")
	})
}

// FuzzBuilder round-trips any records through every format.
func FuzzBuilder(f *testing.F) {
	for magic := range int8(3) {
		for c := codec.None; c <= codec.Zstd; c++ {
			f.Add(magic, uint8(c), 1000, int64(5), []byte("key"), []byte("value"), []byte("header"), uint8(5))
		}
	}
	f.Add(int8(2), uint8(0), 0, int64(-1), []byte(nil), []byte(nil), []byte(nil), uint8(1))
	f.Fuzz(func(t *testing.T, magic int8, c uint8, limit int, timestamp int64, key, value, name []byte, n uint8) {
		h := compressed(magic, codec.Compression(c&7))
		h.BaseOffset = 100
		b := codec.NewBuilder(codec.Kafka(), h, limit)
		var want []codec.Record
		for i := range int64(n) {
			r := codec.Record{Timestamp: timestamp, Key: key, Value: value}
			if magic == 2 && len(name) > 0 {
				r.Headers = []codec.RecordHeader{{Key: name, Value: value}}
			}
			ok, err := b.Add(r)
			requireClass(t, err)
			if err != nil || !ok {
				break
			}
			r.Offset = 100 + i
			want = append(want, r.Clone())
		}
		out, err := b.AppendTo(nil)
		requireClass(t, err)
		if err == nil {
			require.Equal(t, fromAppend(h, want), readAll(t, out))
		}
	})
}

// FuzzControl reads any control record.
func FuzzControl(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1}, []byte{0, 0, 0, 0, 0, 0})
	for _, row := range kraftValues {
		f.Add(unhex(f, row.key), unhex(f, row.value))
	}
	f.Add([]byte{}, []byte(nil))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		_, err := codec.ReadControl(key)
		requireClass(t, err)
		_, err = codec.ReadMarker(codec.Record{Key: key, Value: value})
		requireClass(t, err)
		for _, row := range kraftValues {
			_, err := row.read(codec.Record{Key: unhex(t, row.key), Value: value})
			requireClass(t, err)
		}
	})
}
