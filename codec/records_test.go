package codec_test

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// TestNullIsNotEmpty round-trips null and empty keys and values in all formats.
func TestNullIsNotEmpty(t *testing.T) { // C1, C40, C69, M-20
	empty := []byte{}
	formats(t, func(t *testing.T, magic int8, c codec.Compression) {
		var recs []codec.Record
		for _, key := range [][]byte{nil, empty, []byte("k")} {
			for _, value := range [][]byte{nil, empty, []byte("v")} {
				r := codec.Record{Offset: int64(7 + len(recs)), Timestamp: codec.NoTimestamp, Key: key, Value: value}
				if magic == 2 {
					r.Headers = []codec.RecordHeader{{Key: empty, Value: nil}, {Key: []byte("h"), Value: empty}, {Key: []byte("h"), Value: []byte("x")}}
				}
				recs = append(recs, r)
			}
		}
		h := compressed(magic, c)
		h.BaseOffset = 7
		require.Equal(t, recs, readAll(t, encode(t, h, recs)))
	})
}

func TestRecordsLogAppendTime(t *testing.T) {
	formats(t, func(t *testing.T, magic int8, c codec.Compression) {
		h := compressed(magic, c)
		h.Attributes |= codec.LogAppendTimeBit
		h.MaxTimestamp = 5000
		want := int64(5000)
		if magic == 0 {
			want = codec.NoTimestamp
		}
		for _, r := range readAll(t, encode(t, h, some(0))) {
			require.Equal(t, want, r.Timestamp, "offset %d", r.Offset)
		}
	})
}

func TestRecordsDeleteHorizon(t *testing.T) { // C32
	h := header(2, func(h *codec.Header) {
		h.Attributes = codec.DeleteHorizonBit
		h.BaseTimestamp = 100
	})
	recs := []codec.Record{{Timestamp: 50}, {Offset: 1, Timestamp: 100}, {Offset: 2, Timestamp: 150}}
	batch := encode(t, h, recs)
	got, err := codec.Kafka().Header(batch)
	require.NoError(t, err)
	horizon, ok := got.DeleteHorizon()
	require.True(t, ok)
	require.Equal(t, int64(100), horizon)
	require.Equal(t, int64(150), got.MaxTimestamp)
	require.Equal(t, recs, readAll(t, batch))
}

// TestRecordsAlias: what is yielded cannot be appended to into the batch, and Clone shares nothing.
func TestRecordsAlias(t *testing.T) {
	recs := []codec.Record{{Key: []byte("key"), Value: []byte("value"), Headers: []codec.RecordHeader{{Key: []byte("h"), Value: []byte("x")}}}}
	batch := encode(t, codec.NewHeader(2), recs)
	before := bytes.Clone(batch)
	for r, err := range codec.Kafka().Records(batch) {
		require.NoError(t, err)
		for _, b := range [][]byte{r.Key, r.Value, r.Headers[0].Key, r.Headers[0].Value} {
			_ = append(b, "more"...)
		}
		require.Equal(t, before, batch)

		clone := r.Clone()
		clear(batch)
		require.Equal(t, recs[0], clone)
	}
}

// TestRecordsStop stops an iteration at each record.
func TestRecordsStop(t *testing.T) { // C-18
	formats(t, func(t *testing.T, magic int8, c codec.Compression) {
		batch := encode(t, compressed(magic, c), some(0)[:1])
		n := 0
		for range codec.Kafka().Records(batch) {
			n++
			break
		}
		require.Equal(t, 1, n)
	})
}

// TestRecordShapes are records that can be read, each with what comes out.
func TestRecordShapes(t *testing.T) { // C69
	long := bytes.Repeat([]byte("x"), 9000)
	for _, row := range []struct {
		name string
		rec  codec.Record
	}{
		{"long key and value", codec.Record{Key: long, Value: long}},
		{"key of 64 bytes", codec.Record{Key: long[:64], Value: long[:63]}},
		{"timestamp of three bytes", codec.Record{Timestamp: 1 << 20}},
		{"largest timestamp", codec.Record{Timestamp: math.MaxInt64}},
		{"many headers", codec.Record{Headers: bytesHeaders(200)}},
		{"long header", codec.Record{Headers: []codec.RecordHeader{{Key: long, Value: long}}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := header(2, func(h *codec.Header) { h.Attributes = codec.DeleteHorizonBit; h.BaseTimestamp = 0 })
			first := codec.Record{Timestamp: 3}
			row.rec.Offset = 100
			batch := encode(t, h, []codec.Record{first, row.rec})
			require.Equal(t, []codec.Record{first, row.rec}, readAll(t, batch))
		})
	}
}

func bytesHeaders(n int) []codec.RecordHeader {
	headers := make([]codec.RecordHeader, n)
	for i := range headers {
		headers[i] = codec.RecordHeader{Key: bytes.Repeat([]byte("k"), i), Value: bytes.Repeat([]byte("v"), 2*i)}
	}
	return headers
}

// TestBadRecords are batches with a right checksum that cannot be read.
func TestBadRecords(t *testing.T) { // C64, C70, M-07
	good := rawRecord(0, 0, 1, "k", 1, "v", 0)
	second := rawRecord(0, 1, 1, "k", 1, "v", 0)
	two := append(bytes.Clone(good), second...)
	for _, row := range []struct {
		name    string
		count   int32
		records []byte
		change  func([]byte)
	}{
		{"count too high", 3, two, nil},
		{"count too low", 1, two, nil},
		{"negative count", -1, good, nil},
		{"largest count", math.MaxInt32, good, nil},
		{"records in no bytes", 2, nil, nil},
		{"bytes in no records", 0, good, nil},
		{"size beyond the end", 1, []byte{100 << 1, 0, 0, 0, 0, 0, 0}, nil},
		{"negative size", 1, []byte{1, 0, 0, 0, 0, 0, 0}, nil},
		{"size of six bytes", 1, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0, 0, 0, 0, 0, 0, 0}, nil},
		{"nothing but attributes", 1, append(rawRecord(), 0, 0, 0, 0, 0, 0, 0), nil},
		{"truncated timestamp", 1, rawRecord("\x80\x80\x80\x80\x80\x80"), nil},
		{"timestamp of eleven bytes", 1, rawRecord("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 0, 0, 0, 0), nil},
		{"key beyond the record", 1, rawRecord(0, 0, 105, "k", 1, "v", 0), nil},
		{"null key, and one there", 1, rawRecord(0, 0, -2, "k", 1, "v", 0), nil},
		{"value beyond the record", 1, rawRecord(0, 0, 1, "k", 105, "v", 0), nil},
		{"null value, and one there", 1, rawRecord(0, 0, 1, "k", -2, "v", 0), nil},
		{"size of -8 bytes, and 7 there", 2, append([]byte{15, 0, 0, 0, 1, 2, 'v', 0}, second...), nil},
		{"value beyond by one", 1, rawRecord(0, 0, 1, "k", 2, "v", 0), nil},
		{"bytes behind the headers", 1, rawRecord(0, 0, 1, "k", 1, "v", 0, "x"), nil},
		{"-1 headers", 1, rawRecord(0, 0, 1, "k", 1, "v", -1), nil},
		{"more headers than bytes", 1, rawRecord(0, 0, 1, "k", 1, "v", 10), nil},
		{"one header too few", 1, rawRecord(0, 0, 1, "k", 1, "v", 1, 1, "a", 1, "b", 1, "c", 1, "d"), nil},
		{"one header too many", 1, rawRecord(0, 0, 1, "k", 1, "v", 3, 1, "a", 1, "b", 1, "c", 1, "d"), nil},
		{"null header key", 1, rawRecord(0, 0, 1, "k", 1, "v", 1, -1, 1, "b"), nil},
		{"header key beyond the record", 1, rawRecord(0, 0, 1, "k", 1, "v", 1, 105, "a", 1, "b"), nil},
		{"header value beyond the record", 1, rawRecord(0, 0, 1, "k", 1, "v", 1, 1, "a", 105, "b"), nil},
		{"null header value, and one there", 1, rawRecord(0, 0, 1, "k", 1, "v", 1, 1, "a", -2, "b"), nil},
		{"same offset twice", 2, append(bytes.Clone(good), good...), nil},
		{"offsets backwards", 2, append(bytes.Clone(second), good...), nil},
		{"negative offset", 1, rawRecord(0, -1, 1, "k", 1, "v", 0), nil},
		{"offset behind the last", 1, second, nil},
		{"last offset before the first", 1, good, func(b []byte) { be.PutUint32(b[lastDeltaAt:], math.MaxUint32) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			batch := raw(row.count, row.records, row.change)
			_, err := collect(codec.Kafka(), batch)
			require.ErrorIs(t, err, codec.ErrCorrupt)

			packed := raw(row.count, nil, row.change)
			packed[attributesAt+1] = byte(codec.LZ4)
			packed, err = codec.NewLZ4(0).Compress(packed, row.records)
			require.NoError(t, err)
			_, err = collect(codec.Kafka(), sign(packed))
			require.ErrorIs(t, err, codec.ErrCorrupt, "compressed")
		})
	}
}

// TestNegativeSizes: a key or a value of any negative size is null, as Kafka 4.4's FileRecords said of these bytes.
func TestNegativeSizes(t *testing.T) {
	k := codec.Record{Timestamp: 1000, Key: []byte("k")}
	kkkk := codec.Record{Timestamp: 1000, Key: []byte("kkkk")}
	header := kkkk
	header.Headers = []codec.RecordHeader{{Key: []byte("h")}}
	for _, row := range []struct {
		name, hex string
		want      codec.Record
	}{
		{
			"key of -2 bytes in magic 0", `0000000000000000 00000011 d56cb97a 00 00 fffffffe 00000003 767676`,
			codec.Record{Timestamp: codec.NoTimestamp, Value: []byte("vvv")},
		},
		{"value of -86 bytes in magic 1", `0000000000000000 00000017 503972d2 01 00 00000000000003e8 00000001 6b ffffffaa`, k},
		{
			"key of -2 bytes in magic 2", `0000000000000000 0000003c 00000000 02 84d35a02 0000 00000000
			00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff 00000001 14 000000 03 08 76767676 00`,
			codec.Record{Timestamp: 1000, Value: []byte("vvvv")},
		},
		{
			"value of -2 bytes in magic 2", `0000000000000000 0000003c 00000000 02 77fcfe7c 0000 00000000
			00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff 00000001 14 000000 08 6b6b6b6b 03 00`,
			kkkk,
		},
		{
			"header value of -7 bytes", `0000000000000000 0000003f 00000000 02 9ab13692 0000 00000000
			00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff 00000001 1a 000000 08 6b6b6b6b 03 02 02 68 0d`,
			header,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			batch := unhex(t, row.hex)
			require.NoError(t, codec.Kafka().Verify(batch))
			got, err := collect(codec.Kafka(), batch)
			require.NoError(t, err)
			require.Equal(t, []codec.Record{row.want}, got)
		})
	}
}

// TestBadBatches are the byte vectors of known bugs, with what the codec says.
func TestBadBatches(t *testing.T) { // C50, C63, M-03, M-04, M-05, M-07
	for _, row := range []struct {
		name, hex               string
		header, verify, records error
	}{
		{
			"V5 last offset before the first", `0000000000000000 00000031 00000000 02 fbf74c0e 0000 ffffffff
			00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff 00000000`,
			nil, codec.ErrCorrupt, codec.ErrCorrupt,
		},
		{
			"V6 count -1", `0000000000000000 0000003a 00000000 02 bc3078f3 0000 00000000
			00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff ffffffff 10000000026b026100`,
			nil, codec.ErrCorrupt, codec.ErrCorrupt,
		},
		{
			"V7 count 2^31-1", `0000000000000000 0000003a 00000000 02 5344b037 0000 7ffffffe
			00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff 7fffffff 10000000026b026100`,
			nil, codec.ErrCorrupt, codec.ErrCorrupt,
		},
		{
			"V8 size -1", `0000000000000000 ffffffff 00000000 02 34c2594d 0000 00000000
			00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff 00000001 10000000026b026100`,
			codec.ErrCorrupt, codec.ErrCorrupt, codec.ErrCorrupt,
		},
		{
			"V9 size 2^31-1", `0000000000000000 7fffffff 00000000 02 34c2594d 0000 00000000
			00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff 00000001 10000000026b026100`,
			nil, codec.ErrShort, codec.ErrShort,
		},
		{
			"V11 two records in no bytes", `0000000000000000 00000031 00000000 02 2fdc4c75 0000 00000001
			00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff 00000002`,
			nil, codec.ErrCorrupt, codec.ErrCorrupt,
		},
		{
			"V13 record longer than the batch", `0000000000000000 0000003b 00000000 02 d6eb6a71 0000 00000000
			00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff 00000001 c801000000026b026100`,
			nil, nil, codec.ErrCorrupt,
		},
		{
			"V14 checksum 0", `0000000000000000 0000003a 00000000 02 00000000 0000 00000000
			00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff 00000001 10000000026b026100`,
			nil, codec.ErrCorrupt, nil,
		},
		{
			"V16 another epoch, the same checksum", `0000000000000000 0000003a 00000007 02 34c2594d 0000 00000000
			00000000000003e8 00000000000003e8 ffffffffffffffff ffff ffffffff 00000001 10000000026b026100`,
			nil, nil, nil,
		},
		{"zeros", `00000000000000000000000000000000000000000000`, codec.ErrCorrupt, codec.ErrCorrupt, codec.ErrCorrupt},
		{
			"magic 3", `0000000000000000 00000031 00000000 03 2fdc4c75 0000 00000001 0000`,
			codec.ErrMagic, codec.ErrMagic, codec.ErrMagic,
		},
		{"magic 0 of 25 bytes", `0000000000000000 0000000d 9c3f52cd 00 00 ffffffff ffffff`, codec.ErrCorrupt, codec.ErrCorrupt, codec.ErrCorrupt},
		{
			"magic 1 with the size of magic 0", `0000000000000000 0000000e 9c3f52cd 01 00 ffffffff ffffffff`,
			codec.ErrCorrupt, codec.ErrCorrupt, codec.ErrCorrupt,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			if strings.HasPrefix(row.name, "V9") && strconv.IntSize == 32 {
				t.Skip("no batch is so large here")
			}
			batch := unhex(t, row.hex)
			c := codec.Kafka()
			_, err := c.Header(batch)
			require.ErrorIs(t, err, row.header, "Header")
			require.ErrorIs(t, c.Verify(batch), row.verify, "Verify")
			_, err = collect(c, batch)
			require.ErrorIs(t, err, row.records, "Records")
		})
	}
}

// TestVerifyFields: fields that contradict each other are found although the checksum fits.
func TestVerifyFields(t *testing.T) {
	one := rawRecord(0, 0, 1, "k", 1, "v", 0)
	two := append(bytes.Clone(one), rawRecord(0, 1, 1, "k", 1, "v", 0)...)
	for _, row := range []struct {
		name    string
		count   int32
		delta   int32
		records []byte
		want    error
	}{
		{"as it should be", 2, 1, two, nil},
		{"more offsets than records", 2, 5, two, nil},
		{"more records than offsets", 2, 0, two, codec.ErrCorrupt},
		{"last offset before the first", 0, -1, nil, codec.ErrCorrupt},
		{"negative count", -1, 0, one, codec.ErrCorrupt},
		{"records in no bytes", 1, 0, nil, codec.ErrCorrupt},
		{"bytes in no records", 0, 0, one, codec.ErrCorrupt},
		{"more records than fit", 3, 5, bytes.Repeat([]byte{0}, 20), codec.ErrCorrupt},
		{"as many as may fit", 3, 5, bytes.Repeat([]byte{0}, 21), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			batch := raw(row.count, row.records, func(b []byte) { be.PutUint32(b[lastDeltaAt:], uint32(row.delta)) })
			require.ErrorIs(t, codec.Kafka().Verify(batch), row.want)
		})
	}
	negative := raw(1, one, func(b []byte) { b[0] = 0x80 })
	require.ErrorIs(t, codec.Kafka().Verify(negative), codec.ErrCorrupt)
	last := raw(2, two, func(b []byte) { be.PutUint64(b, math.MaxInt64) })
	require.ErrorIs(t, codec.Kafka().Verify(last), codec.ErrCorrupt, "its last offset runs over")
}

func TestChecksumErrorHasBoth(t *testing.T) {
	batch := encode(t, codec.NewHeader(2), some(0))
	h, err := codec.Kafka().Header(batch)
	require.NoError(t, err)
	be.PutUint32(batch[crcAt:], 0x12345678)
	err = codec.Kafka().Verify(batch)
	require.ErrorIs(t, err, codec.ErrCorrupt)
	require.ErrorContains(t, err, "12345678")
	require.ErrorContains(t, err, codecHex(h.CRC))
}

func codecHex(v uint32) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 8)
	for i := range b {
		b[i] = digits[v>>(28-4*i)&0xf]
	}
	return string(b)
}
