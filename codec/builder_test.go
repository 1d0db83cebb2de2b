package codec_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

func TestBuilder(t *testing.T) { // C20, C24, C33
	formats(t, func(t *testing.T, magic int8, c codec.Compression) {
		h := compressed(magic, c)
		h.BaseOffset = 50
		b := codec.NewBuilder(codec.Kafka(), h, 1<<20)
		for round := range 3 {
			out, err := b.AppendTo([]byte("before"))
			require.NoError(t, err)
			require.Equal(t, "before", string(out), "of no records it makes nothing")
			require.Zero(t, b.Size())

			var want []codec.Record
			for i := range int64(100) {
				key, value := []byte{byte(i), byte(round)}, bytes.Repeat([]byte("v"), int(i))
				ok, err := b.Add(codec.Record{Offset: 999, Timestamp: 1000 + i, Key: key, Value: value})
				require.NoError(t, err)
				require.True(t, ok)
				want = append(want, codec.Record{Offset: 50 + i, Timestamp: 1000 + i, Key: bytes.Clone(key), Value: bytes.Clone(value)})
				if magic == 0 {
					want[i].Timestamp = codec.NoTimestamp
				}
				clear(key) // what is kept is a copy
				clear(value)
				require.Equal(t, len(want), b.Len())
			}
			out, err = b.AppendTo(nil)
			require.NoError(t, err)
			require.Equal(t, want, readAll(t, out))
			if c == codec.None {
				require.Equal(t, len(out), b.Size(), "without compression the estimate is exact")
			}
			b.Reset(h)
		}
	})
}

// TestBuilderEmpty: the first bytes that a Builder keeps are none, and are not null for that.
func TestBuilderEmpty(t *testing.T) {
	for magic := range int8(3) {
		b := codec.NewBuilder(codec.Kafka(), codec.NewHeader(magic), 1000)
		want := codec.Record{Timestamp: codec.NoTimestamp, Key: []byte{}}
		ok, err := b.Add(want)
		require.NoError(t, err)
		require.True(t, ok)
		out, err := b.AppendTo(nil)
		require.NoError(t, err)
		require.Equal(t, []codec.Record{want}, readAll(t, out))
	}
}

func TestBuilderLimit(t *testing.T) { // C27, C41
	for magic := range int8(3) {
		b := codec.NewBuilder(codec.Kafka(), codec.NewHeader(magic), 0)
		ok, err := b.Add(codec.Record{Value: make([]byte, 1000)})
		require.NoError(t, err)
		require.True(t, ok, "the first one always fits")
		ok, err = b.Add(codec.Record{})
		require.NoError(t, err)
		require.False(t, ok)
		require.Equal(t, 1, b.Len())

		for limit := 61; limit < 400; limit++ {
			b := codec.NewBuilder(codec.Kafka(), codec.NewHeader(magic), limit)
			for {
				ok, err := b.Add(codec.Record{Timestamp: int64(b.Len() * 100), Value: []byte("value")})
				require.NoError(t, err)
				if !ok {
					break
				}
			}
			out, err := b.AppendTo(nil)
			require.NoError(t, err)
			if b.Len() > 1 {
				require.LessOrEqual(t, len(out), limit)
			}
			room := 1000
			if magic == 2 {
				room = 14 // the next record
			}
			require.Greater(t, len(out)+room, limit)
		}
	}
}

// TestBuilderHeaders: records with headers count them.
func TestBuilderHeaders(t *testing.T) { // C41, C62
	b := codec.NewBuilder(codec.Kafka(), codec.NewHeader(2), 200)
	ok, err := b.Add(codec.Record{})
	require.True(t, ok)
	require.NoError(t, err)
	ok, err = b.Add(codec.Record{Headers: bytesHeaders(10)})
	require.False(t, ok)
	require.NoError(t, err)
	ok, err = b.Add(codec.Record{Headers: bytesHeaders(3)})
	require.True(t, ok)
	require.NoError(t, err)
	out, err := b.AppendTo(nil)
	require.NoError(t, err)
	require.Len(t, out, b.Size())
}

// TestBuilderLearns: with batches that pack well, more records are taken, and the limit is kept.
func TestBuilderLearns(t *testing.T) { // B15
	const limit = 16 << 10
	r := rand.New(rand.NewPCG(3, 4))
	b := codec.NewBuilder(codec.Kafka(), compressed(2, codec.GZIP), limit)
	var first, last int
	for range 200 {
		for {
			ok, err := b.Add(codec.Record{Value: textOf(r, 100)})
			require.NoError(t, err)
			if !ok {
				break
			}
		}
		out, err := b.AppendTo(nil)
		require.NoError(t, err)
		require.Less(t, len(out), limit)
		if first == 0 {
			first = b.Len()
		}
		last = b.Len()
		b.Reset(compressed(2, codec.GZIP))
	}
	require.Greater(t, last, first*5/4)
}

func TestBuilderErrors(t *testing.T) { // C21
	for _, row := range []struct {
		name string
		h    codec.Header
		rec  codec.Record
		add  error
		end  error
	}{
		{"good producer", header(2, func(h *codec.Header) { h.ProducerID, h.ProducerEpoch, h.BaseSequence = 1, 0, 0 }), codec.Record{}, nil, nil},
		{"transaction without producer", header(2, func(h *codec.Header) { h.Attributes = codec.TransactionalBit }), codec.Record{}, nil, codec.ErrInvalid},
		{"producer without epoch", header(2, func(h *codec.Header) { h.ProducerID, h.BaseSequence = 1, 0 }), codec.Record{}, nil, codec.ErrInvalid},
		{"producer without sequence", header(2, func(h *codec.Header) { h.ProducerID, h.ProducerEpoch = 1, 0 }), codec.Record{}, nil, codec.ErrInvalid},
		{"control records have no sequence", header(2, func(h *codec.Header) {
			h.ProducerID, h.ProducerEpoch, h.Attributes = 1, 0, codec.ControlBit
		}), codec.Record{}, nil, nil},
		{"producer in magic 1", header(1, func(h *codec.Header) { h.ProducerID, h.ProducerEpoch, h.BaseSequence = 1, 0, 0 }), codec.Record{}, nil, codec.ErrFormat},
		{"headers in magic 1", codec.NewHeader(1), codec.Record{Headers: bytesHeaders(1)}, codec.ErrFormat, nil},
		{"negative timestamp", codec.NewHeader(2), codec.Record{Timestamp: -2}, codec.ErrInvalid, nil},
		{"zstd in magic 1", compressed(1, codec.Zstd), codec.Record{}, nil, codec.ErrFormat},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := codec.NewBuilder(codec.Kafka(), row.h, 1000)
			ok, err := b.Add(row.rec)
			require.ErrorIs(t, err, row.add)
			require.Equal(t, row.add == nil, ok)
			out, err := b.AppendTo([]byte("before"))
			require.ErrorIs(t, err, row.end)
			if err != nil || !ok {
				require.Equal(t, "before", string(out))
			}
		})
	}
}
