package codec_test

import (
	"encoding/hex"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// unhex decodes hexadecimal with spaces and bars in it.
func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || r == '|'
	}), ""))
	require.NoError(tb, err)
	return b
}

// bare is Kafka's Codec without a Compressor.
func bare() codec.Codec { return codec.KafkaWith(codec.Options{Compressors: []codec.Compressor{}}) }

// collect returns copies of the records of batch, and the error that ended them.
func collect(c codec.Codec, batch []byte) (recs []codec.Record, err error) {
	for r, err := range c.Records(batch) {
		if err != nil {
			return recs, err
		}
		recs = append(recs, r.Clone())
	}
	return recs, nil
}

// header returns the header of magic 2 with changes.
func header(magic int8, change func(*codec.Header)) codec.Header {
	h := codec.NewHeader(magic)
	if change != nil {
		change(&h)
	}
	return h
}

// vectors are batches whose bytes were computed independently of this package, and agree with Kafka.
var vectors = []struct {
	name   string
	hex    string
	header codec.Header // as it is read; Size and CRC are those of the bytes
	recs   []codec.Record
}{
	{
		name: "magic 0",
		hex:  "0000000000000000 00000014 a4cdab3a 00 00 00000001 6b 00000005 68656c6c6f",
		header: header(0, func(h *codec.Header) {
			h.CRC, h.Count = 0xa4cdab3a, 1
		}),
		recs: []codec.Record{{Timestamp: -1, Key: []byte("k"), Value: []byte("hello")}},
	},
	{
		name: "magic 1",
		hex:  "0000000000000005 0000001c cdcd4203 01 00 00000000499602d2 00000001 6b 00000005 68656c6c6f",
		header: header(1, func(h *codec.Header) {
			h.BaseOffset, h.LastOffset, h.CRC, h.Count = 5, 5, 0xcdcd4203, 1
			h.BaseTimestamp, h.MaxTimestamp = 1234567890, 1234567890
		}),
		recs: []codec.Record{{Offset: 5, Timestamp: 1234567890, Key: []byte("k"), Value: []byte("hello")}},
	},
	{
		name:   "magic 1, nulls",
		hex:    "0000000000000000 00000016 5b41f4e3 01 00 ffffffffffffffff ffffffff ffffffff",
		header: header(1, func(h *codec.Header) { h.CRC, h.Count = 0x5b41f4e3, 1 }),
		recs:   []codec.Record{{Timestamp: -1}},
	},
	{
		name: "magic 1, log append time",
		hex:  "0000000000000007 00000017 1ee7c2a6 01 08 00000000000003e8 ffffffff 00000001 76",
		header: header(1, func(h *codec.Header) {
			h.BaseOffset, h.LastOffset, h.CRC, h.Count = 7, 7, 0x1ee7c2a6, 1
			h.BaseTimestamp, h.MaxTimestamp, h.Attributes = 1000, 1000, codec.LogAppendTimeBit
		}),
		recs: []codec.Record{{Offset: 7, Timestamp: 1000, Value: []byte("v")}},
	},
	{
		name: "magic 2, nulls and headers",
		hex: `0000000000000000 0000004a ffffffff 02 30213778 0000 00000001 00000000000003e8 00000000000003ed
			ffffffffffffffff ffff ffffffff 00000002 |
			14 00 00 00 04 6b31 04 7631 00 | 1a 00 0a 02 01 01 04 02 68 02 78 02 6e 01`,
		header: header(2, func(h *codec.Header) {
			h.LastOffset, h.CRC, h.Count = 1, 0x30213778, 2
			h.BaseTimestamp, h.MaxTimestamp = 1000, 1005
		}),
		recs: []codec.Record{
			{Timestamp: 1000, Key: []byte("k1"), Value: []byte("v1")},
			{Offset: 1, Timestamp: 1005, Headers: []codec.RecordHeader{
				{Key: []byte("h"), Value: []byte("x")}, {Key: []byte("n")},
			}},
		},
	},
	{
		name: "magic 2, commit marker",
		hex: `0000000000000000 00000042 ffffffff 02 a1ae70e8 0030 00000000 00000000000003e8 00000000000003e8
			000000000000002a 0003 ffffffff 00000001 | 20 00 00 00 08 0000 0001 0c 0000 00000000 00`,
		header: header(2, func(h *codec.Header) {
			h.CRC, h.Count, h.Attributes = 0xa1ae70e8, 1, codec.TransactionalBit|codec.ControlBit
			h.BaseTimestamp, h.MaxTimestamp, h.ProducerID, h.ProducerEpoch = 1000, 1000, 42, 3
		}),
		recs: []codec.Record{{Timestamp: 1000, Key: []byte{0, 0, 0, 1}, Value: make([]byte, 6)}},
	},
	{
		name: "magic 2, emptied by compaction",
		hex: `0000000000000064 00000031 00000000 02 bc839fa6 0000 00000009 ffffffffffffffff 00000000000007d0
			000000000000002a 0003 00000007 00000000`,
		header: header(2, func(h *codec.Header) {
			h.BaseOffset, h.LastOffset, h.CRC, h.LeaderEpoch = 100, 109, 0xbc839fa6, 0
			h.MaxTimestamp, h.ProducerID, h.ProducerEpoch, h.BaseSequence = 2000, 42, 3, 7
		}),
	},
	{
		name: "magic 2, two records",
		hex: `0000000000000000 00000043 00000000 02 333f3ff1 0000 00000001 00000000000003e8 00000000000003e9
			ffffffffffffffff ffff ffffffff 00000002 | 10 00 00 00 02 6b 02 61 00 | 10 00 02 02 02 6b 02 62 00`,
		header: header(2, func(h *codec.Header) {
			h.LastOffset, h.CRC, h.Count, h.LeaderEpoch = 1, 0x333f3ff1, 2, 0
			h.BaseTimestamp, h.MaxTimestamp = 1000, 1001
		}),
		recs: []codec.Record{
			{Timestamp: 1000, Key: []byte("k"), Value: []byte("a")},
			{Offset: 1, Timestamp: 1001, Key: []byte("k"), Value: []byte("b")},
		},
	},
	{
		name: "magic 2, compacted: five offsets, two records",
		hex: `0000000000000000 00000043 00000000 02 193c694a 0000 00000005 00000000000003e8 00000000000003e9
			ffffffffffffffff ffff ffffffff 00000002 | 10 00 00 00 02 6b 02 61 00 | 10 00 02 02 02 6b 02 62 00`,
		header: header(2, func(h *codec.Header) {
			h.LastOffset, h.CRC, h.Count, h.LeaderEpoch = 5, 0x193c694a, 2, 0
			h.BaseTimestamp, h.MaxTimestamp = 1000, 1001
		}),
		recs: []codec.Record{
			{Timestamp: 1000, Key: []byte("k"), Value: []byte("a")},
			{Offset: 1, Timestamp: 1001, Key: []byte("k"), Value: []byte("b")},
		},
	},
	{
		name: "magic 2, null key and value",
		hex: `0000000000000000 00000038 00000000 02 cfb21e43 0000 00000000 00000000000003e8 00000000000003e8
			ffffffffffffffff ffff ffffffff 00000001 | 0c 00 00 00 01 01 00`,
		header: header(2, func(h *codec.Header) {
			h.CRC, h.Count, h.LeaderEpoch = 0xcfb21e43, 1, 0
			h.BaseTimestamp, h.MaxTimestamp = 1000, 1000
		}),
		recs: []codec.Record{{Timestamp: 1000}},
	},
	{
		name:   "magic 0, nulls of bugs L0",
		hex:    "0000000000000000 00000010 9c3f52cd 00 00 00000001 6b 00000001 61",
		header: header(0, func(h *codec.Header) { h.CRC, h.Count = 0x9c3f52cd, 1 }),
		recs:   []codec.Record{{Timestamp: -1, Key: []byte("k"), Value: []byte("a")}},
	},
	{
		name: "magic 1, tombstone",
		hex:  "0000000000000001 00000017 a4fabc97 01 00 00000000000003e9 00000001 6b ffffffff",
		header: header(1, func(h *codec.Header) {
			h.BaseOffset, h.LastOffset, h.CRC, h.Count = 1, 1, 0xa4fabc97, 1
			h.BaseTimestamp, h.MaxTimestamp = 1001, 1001
		}),
		recs: []codec.Record{{Offset: 1, Timestamp: 1001, Key: []byte("k")}},
	},
}

func TestVectors(t *testing.T) { // C1, M-05
	c := bare()
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			batch := unhex(t, v.hex)
			want := v.header
			want.Size = len(batch)

			h, err := c.Header(batch)
			require.NoError(t, err)
			require.Equal(t, want, h, "Header")
			require.NoError(t, c.Verify(batch), "Verify")
			recs, err := collect(c, batch)
			require.NoError(t, err)
			require.Equal(t, v.recs, recs, "Records")

			got, err := c.Append([]byte("before"), h, v.recs)
			require.NoError(t, err)
			require.Equal(t, "before"+string(batch), string(got), "Append gives the same bytes")
		})
	}
}

// TestChecksums are the checksums in Kafka's own test of its three formats.
func TestChecksums(t *testing.T) { // C2, C42
	recs := []codec.Record{
		{Offset: 0, Timestamp: 283843, Key: []byte("key1"), Value: []byte("value1")},
		{Offset: 1, Timestamp: 1234, Key: []byte("key2"), Value: []byte("value2")},
	}
	for magic, want := range []uint32{1978725405, 109425508, 3851219455} {
		b, err := bare().Append(nil, codec.NewHeader(int8(magic)), recs)
		require.NoError(t, err)
		h, err := bare().Header(b)
		require.NoError(t, err)
		require.Equal(t, want, h.CRC, "magic %d", magic)
	}
}
