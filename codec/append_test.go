package codec_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

func TestAppendHeader(t *testing.T) { // C60, C61, M-24
	for _, row := range []struct {
		name string
		h    codec.Header
		recs []codec.Record
		want func(*codec.Header) // the changes to what NewHeader gives
	}{
		{
			"all fields", header(2, func(h *codec.Header) {
				h.BaseOffset, h.LeaderEpoch, h.ProducerID, h.ProducerEpoch, h.BaseSequence = 10, 5, 7, 3, 40
				h.Attributes = codec.TransactionalBit
			}), some(10), func(h *codec.Header) {
				h.BaseOffset, h.LastOffset, h.LeaderEpoch, h.ProducerID, h.ProducerEpoch, h.BaseSequence = 10, 12, 5, 7, 3, 40
				h.Attributes = codec.TransactionalBit
				h.BaseTimestamp, h.MaxTimestamp, h.Count = 1000, 1005, 3
			},
		},
		{
			"range kept by compaction", header(2, func(h *codec.Header) { h.BaseOffset, h.LastOffset = 8, 20 }),
			some(10), func(h *codec.Header) {
				h.BaseOffset, h.LastOffset, h.BaseTimestamp, h.MaxTimestamp, h.Count = 8, 20, 1000, 1005, 3
			},
		},
		{
			"log append time", header(2, func(h *codec.Header) { h.Attributes, h.MaxTimestamp = codec.LogAppendTimeBit, 1234567 }),
			some(0), func(h *codec.Header) {
				h.Attributes, h.LastOffset, h.BaseTimestamp, h.MaxTimestamp, h.Count = codec.LogAppendTimeBit, 2, 1000, 1234567, 3
			},
		},
		{
			"no timestamps", codec.NewHeader(2),
			[]codec.Record{{Timestamp: -1}, {Offset: 1, Timestamp: -1}},
			func(h *codec.Header) { h.LastOffset, h.Count = 1, 2 },
		},
		{
			"no records", header(2, func(h *codec.Header) {
				h.BaseOffset, h.LastOffset, h.MaxTimestamp, h.BaseTimestamp = 100, 109, 2000, 1500
				h.Attributes = codec.Attributes(codec.GZIP) | codec.TransactionalBit
			}), nil, func(h *codec.Header) {
				h.BaseOffset, h.LastOffset, h.MaxTimestamp, h.Attributes = 100, 109, 2000, codec.TransactionalBit
			},
		},
		{
			"no records, delete horizon", header(2, func(h *codec.Header) {
				h.BaseTimestamp, h.Attributes = 1500, codec.DeleteHorizonBit
			}), nil, func(h *codec.Header) { h.BaseTimestamp, h.Attributes = 1500, codec.DeleteHorizonBit },
		},
		{
			"largest range", header(2, func(h *codec.Header) { h.LastOffset = math.MaxInt32 }),
			[]codec.Record{{Offset: math.MaxInt32}},
			func(h *codec.Header) {
				h.LastOffset, h.BaseTimestamp, h.MaxTimestamp, h.Count = math.MaxInt32, 0, 0, 1
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			batch := encode(t, row.h, row.recs)
			got, err := codec.Kafka().Header(batch)
			require.NoError(t, err)
			require.NoError(t, codec.Kafka().Verify(batch))
			want := header(2, row.want)
			want.Size, want.CRC = len(batch), got.CRC
			require.Equal(t, want, got)
		})
	}
}

func TestAppendErrors(t *testing.T) { // B12, C12, C13, C21, C28
	one := []codec.Record{{Value: []byte("v")}}
	withHeaders := []codec.Record{{Headers: []codec.RecordHeader{{Key: []byte("h")}}}}
	for _, row := range []struct {
		name string
		h    codec.Header
		recs []codec.Record
		want error
	}{
		{"same offset twice", codec.NewHeader(2), append(some(0), some(2)...), codec.ErrInvalid},
		{"before the base offset", header(2, func(h *codec.Header) { h.BaseOffset = 1 }), some(0), codec.ErrInvalid},
		{"negative base offset", header(2, func(h *codec.Header) { h.BaseOffset = -1 }), one, codec.ErrInvalid},
		{"range of more than 2^31", codec.NewHeader(2), []codec.Record{{Offset: 1 << 31}}, codec.ErrInvalid},
		{"negative timestamp", codec.NewHeader(2), []codec.Record{{Timestamp: -2}}, codec.ErrInvalid},
		{"unknown magic", codec.NewHeader(3), one, codec.ErrMagic},
		{"negative magic", codec.NewHeader(-1), one, codec.ErrMagic},
		{"unknown compression", compressed(2, 5), one, codec.ErrCompression},
		{"magic 1, headers", codec.NewHeader(1), withHeaders, codec.ErrFormat},
		{"magic 0, headers", codec.NewHeader(0), withHeaders, codec.ErrFormat},
		{"magic 1, producer", header(1, func(h *codec.Header) { h.ProducerID = 7 }), one, codec.ErrFormat},
		{"magic 1, zero Header", codec.Header{Magic: 1}, one, codec.ErrFormat},
		{"magic 1, transaction", header(1, func(h *codec.Header) { h.Attributes = codec.TransactionalBit }), one, codec.ErrFormat},
		{"magic 1, control", header(1, func(h *codec.Header) { h.Attributes = codec.ControlBit }), one, codec.ErrFormat},
		{"magic 1, delete horizon", header(1, func(h *codec.Header) { h.Attributes = codec.DeleteHorizonBit }), one, codec.ErrFormat},
		{"magic 1, zstd", compressed(1, codec.Zstd), one, codec.ErrFormat},
		{"magic 0, zstd", compressed(0, codec.Zstd), one, codec.ErrFormat},
		{"magic 1, unknown compression", compressed(1, 6), one, codec.ErrCompression},
		{"magic 1, negative timestamp", codec.NewHeader(1), []codec.Record{{Timestamp: -2}}, codec.ErrInvalid},
		{"magic 1, same offset twice", codec.NewHeader(1), append(some(0), some(2)...), codec.ErrInvalid},
		{"magic 1, negative offset", header(1, func(h *codec.Header) { h.BaseOffset = -5 }), []codec.Record{{Offset: -3}}, codec.ErrInvalid},
	} {
		t.Run(row.name, func(t *testing.T) {
			dst := append(make([]byte, 0, 1000), "before"...)
			got, err := codec.Kafka().Append(dst, row.h, row.recs)
			require.ErrorIs(t, err, row.want)
			require.Equal(t, "before", string(got))
		})
	}
}

func TestAppendNothing(t *testing.T) { // C20
	for magic := range int8(2) {
		b, err := codec.Kafka().Append([]byte("before"), codec.NewHeader(magic), nil)
		require.NoError(t, err)
		require.Equal(t, "before", string(b))
	}
	b, err := codec.Kafka().Append([]byte("before"), codec.NewHeader(2), nil)
	require.NoError(t, err)
	require.Len(t, b, len("before")+61)
}

func TestLimits(t *testing.T) { // C80
	value := make([]byte, 10_000)
	recs := []codec.Record{{Value: value}}
	small := codec.KafkaWith(codec.Options{BatchBytes: 9000})
	flat := codec.KafkaWith(codec.Options{InflatedBytes: 9000})
	none := codec.KafkaWith(codec.Options{InflatedBytes: -1})
	formats(t, func(t *testing.T, magic int8, c codec.Compression) {
		h := compressed(magic, c)
		batch := encode(t, h, recs)
		_, err := collect(none, batch)
		require.NoError(t, err)
		if c == codec.None {
			_, err := small.Header(batch)
			require.ErrorIs(t, err, codec.ErrTooLarge)
			_, err = small.Append(nil, h, recs)
			require.ErrorIs(t, err, codec.ErrTooLarge)
			_, err = collect(flat, batch)
			require.NoError(t, err, "nothing is inflated")
			return
		}
		require.NoError(t, flat.Verify(batch), "nothing is inflated")
		_, err = collect(flat, batch)
		require.ErrorIs(t, err, codec.ErrTooLarge)
		_, err = flat.Append(nil, h, recs)
		require.ErrorIs(t, err, codec.ErrTooLarge)
		_, err = small.Append(nil, h, recs)
		require.NoError(t, err, "it is small when packed")
	})
}

// TestWithoutCompressor: what a Codec cannot unpack it can still verify, restamp and copy.
func TestWithoutCompressor(t *testing.T) {
	only := codec.KafkaWith(codec.Options{Compressors: []codec.Compressor{codec.NewLZ4(0)}})
	formats(t, func(t *testing.T, magic int8, c codec.Compression) {
		if c == codec.None {
			return
		}
		batch := encode(t, compressed(magic, c), some(0))
		require.NoError(t, only.Verify(batch))
		_, recordsErr := collect(only, batch)
		_, appendErr := only.Append(nil, compressed(magic, c), some(0))
		if c == codec.LZ4 {
			require.NoError(t, recordsErr)
			require.NoError(t, appendErr)
			return
		}
		require.ErrorIs(t, recordsErr, codec.ErrCompression)
		require.ErrorIs(t, appendErr, codec.ErrCompression)
		if magic > 0 {
			require.NoError(t, only.Restamp(batch, codec.Stamp{LastOffset: 12, MaxTimestamp: 1005}))
			require.Equal(t, int64(10), readAll(t, batch)[0].Offset)
		}
	})
}

// TestEmptyCompressed: a batch that says that it is compressed, and has no records, has no bytes to unpack.
func TestEmptyCompressed(t *testing.T) {
	batch := raw(0, nil, func(b []byte) { b[attributesAt+1] = byte(codec.GZIP) })
	require.NoError(t, codec.Kafka().Verify(batch))
	require.Empty(t, readAll(t, batch))
}

func TestUnknownCompression(t *testing.T) {
	c := codec.Kafka()
	for number := codec.Compression(5); number < 8; number++ {
		batch := raw(1, rawRecord(0, 0, -1, -1, 0), func(b []byte) { b[attributesAt+1] = byte(number) })
		require.NoError(t, c.Verify(batch))
		_, err := collect(c, batch)
		require.ErrorIs(t, err, codec.ErrCompression)
	}
}

func TestSequences(t *testing.T) { // C61, C68, M-23
	for _, row := range []struct {
		seq  int32
		n    int
		want int32
	}{{5, 5, 10}, {math.MaxInt32, 1, 0}, {math.MaxInt32 - 5, 10, 4}, {0, 0, 0}, {math.MaxInt32 - 1, 3, 1}, {-1, 1, 0}} {
		require.Equal(t, row.want, codec.NextSequence(row.seq, row.n), "NextSequence(%d, %d)", row.seq, row.n)
	}
	wrapped := header(2, func(h *codec.Header) {
		h.BaseOffset, h.LastOffset, h.ProducerID, h.ProducerEpoch, h.BaseSequence = 10, 13, 7, 0, math.MaxInt32-1
	})
	require.Equal(t, int32(1), wrapped.LastSequence())
	require.Equal(t, int64(14), wrapped.NextOffset())
	require.Equal(t, codec.NoSequence, codec.NewHeader(2).LastSequence())
	marker := header(2, func(h *codec.Header) { h.ProducerID, h.ProducerEpoch = 7, 0 })
	require.Equal(t, codec.NoSequence, marker.LastSequence())
}

// TestAppendChain appends batches one behind the other.
func TestAppendChain(t *testing.T) { // C40, C67
	formats(t, func(t *testing.T, magic int8, c codec.Compression) {
		var b []byte
		var want []codec.Record
		for i := range int64(5) {
			h := compressed(magic, c)
			h.BaseOffset = 3 * i
			var err error
			b, err = codec.Kafka().Append(b, h, some(3*i))
			require.NoError(t, err)
			want = append(want, some(3*i)...)
		}
		if magic == 0 {
			for i := range want {
				want[i].Timestamp = codec.NoTimestamp
			}
		}
		require.Equal(t, want, readAll(t, b))
	})
}
