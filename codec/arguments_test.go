package codec_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// TestWrongArguments gives what no caller should: errors of a known class, and no batch that means another thing.
func TestWrongArguments(t *testing.T) {
	c := codec.Kafka()
	plain := encode(t, codec.NewHeader(2), some(0))
	for _, compression := range []codec.Compression{5, 7, 8, 9, 200, 255} {
		for magic := range int8(3) {
			r := codec.Rules{Magic: magic, MaxAge: -1, MaxAhead: -1, Recompress: true, Compression: compression}
			for name, v := range validators() {
				_, err := codec.Validate(v, nil, bytes.Clone(plain), r)
				require.ErrorIs(t, err, codec.ErrCompression, "%s: to compression %d of magic %d", name, compression, magic)
			}
		}
	}
	for _, magic := range []int8{-1, 3, math.MaxInt8, math.MinInt8} {
		_, err := codec.Validate(c, nil, bytes.Clone(plain), codec.Rules{Magic: magic, MaxAge: -1, MaxAhead: -1})
		require.ErrorIs(t, err, codec.ErrMagic, "to magic %d", magic)
		_, err = codec.Convert(c, nil, plain, magic, 0)
		require.ErrorIs(t, err, codec.ErrMagic, "to magic %d", magic)
	}
	for _, offset := range []int64{-1, math.MinInt64, math.MaxInt64, math.MaxInt64 - 1} {
		for magic := range int8(3) {
			for in := range int8(3) {
				batches := encode(t, codec.NewHeader(in), some(0))
				for name, v := range validators() {
					_, err := codec.Validate(v, nil, batches, codec.Rules{Offset: offset, Magic: magic, MaxAge: -1, MaxAhead: -1})
					require.ErrorIs(t, err, codec.ErrInvalid, "%s: magic %d to %d at %d", name, in, magic, offset)
				}
			}
		}
	}
	for name, run := range map[string]func() error{
		"nothing to Header":      func() error { _, err := c.Header(nil); return err },
		"nothing to Verify":      func() error { return c.Verify(nil) },
		"nothing to Records":     func() error { _, err := collect(c, nil); return err },
		"nothing to Restamp":     func() error { return c.Restamp(nil, codec.Stamp{}) },
		"nothing to VerifyInner": func() error { return c.(codec.InnerVerifier).VerifyInner(nil) },
	} {
		require.ErrorIs(t, run(), codec.ErrShort, name)
	}
	got, err := codec.Convert(c, nil, nil, 0, math.MinInt64)
	require.NoError(t, err)
	require.Empty(t, got)
}

// numbered is a Compressor of any number.
type numbered struct {
	codec.Compressor
	number codec.Compression
}

func (n numbered) Compression() codec.Compression { return n.number }

// TestOddCompressors: a Compressor of a number that no batch can have is not taken for another one's.
func TestOddCompressors(t *testing.T) {
	gzip := codec.NewGzip(0)
	for _, number := range []codec.Compression{0, 8, 9, 255} {
		c := codec.KafkaWith(codec.Options{Compressors: []codec.Compressor{numbered{gzip, number}, nil}})
		for compression := codec.GZIP; compression < 8; compression++ {
			_, err := c.Append(nil, compressed(2, compression), some(0))
			require.ErrorIs(t, err, codec.ErrCompression, "compressor %d, compression %d", number, compression)
		}
		_, err := c.Append(nil, compressed(2, codec.None), some(0))
		require.NoError(t, err)
	}
	own := codec.KafkaWith(codec.Options{Compressors: []codec.Compressor{numbered{gzip, 7}}})
	batch, err := own.Append(nil, compressed(2, 7), some(0))
	require.NoError(t, err)
	recs, err := collect(own, batch)
	require.NoError(t, err)
	require.Equal(t, some(0), recs)
}

// TestLargeNumbers are offsets and timestamps that 32 bits do not hold, and those at the end of 64: M-26.
func TestLargeNumbers(t *testing.T) {
	c := codec.Kafka()
	for _, base := range []int64{math.MaxInt32, math.MaxUint32, 1 << 40, math.MaxInt64 - 9} {
		for magic := range int8(3) {
			h := header(magic, func(h *codec.Header) { h.BaseOffset = base })
			recs := []codec.Record{{Offset: base, Timestamp: math.MaxInt64}, {Offset: base + 9, Timestamp: 0}}
			if magic < 2 {
				recs = recs[:1]
			}
			got := readAll(t, encode(t, h, recs))
			if magic == 0 {
				recs[0].Timestamp = codec.NoTimestamp
			}
			require.Equal(t, recs, got)
		}
	}
	over := encode(t, header(2, func(h *codec.Header) { h.LastOffset = 9 }), some(0))
	be.PutUint64(over, math.MaxInt64-8)
	require.ErrorIs(t, c.Verify(over), codec.ErrCorrupt)
	_, err := collect(c, over)
	require.ErrorIs(t, err, codec.ErrCorrupt)
	require.ErrorIs(t, c.Restamp(over, codec.Stamp{LastOffset: 8}), codec.ErrInvalid)

	wrap := encode(t, codec.NewHeader(2), []codec.Record{{Timestamp: math.MaxInt64}, {Offset: 1, Timestamp: codec.NoTimestamp}})
	require.Equal(t, codec.NoTimestamp, readAll(t, wrap)[1].Timestamp)
}

// TestOthersUnpack: what is packed here, readers that share no code with it unpack: C-08.
func TestOthersUnpack(t *testing.T) {
	for name, plain := range shapes() {
		if len(plain) > 200_000 {
			continue
		}
		for _, level := range []int{0, 1, 9} {
			packed, err := codec.NewGzip(level).Compress(nil, plain)
			require.NoError(t, err)
			unpack, err := gzip.NewReader(bytes.NewReader(packed))
			require.NoError(t, err)
			got, err := io.ReadAll(unpack)
			require.NoError(t, err)
			require.True(t, bytes.Equal(plain, got), "gzip %d of %s", level, name)
		}
		for _, level := range []int{0, 1, 17} {
			packed, err := codec.NewLZ4(level).Compress(nil, plain)
			require.NoError(t, err)
			got, err := io.ReadAll(lz4.NewReader(bytes.NewReader(packed)))
			require.NoError(t, err)
			require.True(t, bytes.Equal(plain, got), "lz4 %d of %s", level, name)
		}
	}
}

// TestNoPayload: records in a payload of no bytes are damage, whatever the compression: C-15.
func TestNoPayload(t *testing.T) {
	for compression := codec.None; compression <= codec.Zstd; compression++ {
		batch := raw(2, nil, func(b []byte) { b[attributesAt+1] = byte(compression) })
		require.ErrorIs(t, codec.Kafka().Verify(batch), codec.ErrCorrupt)
		_, err := collect(codec.Kafka(), batch)
		require.ErrorIs(t, err, codec.ErrCorrupt)
		_, err = codec.Validate(codec.Kafka(), nil, batch, codec.Rules{Magic: 2, MaxAge: -1, MaxAhead: -1})
		require.Error(t, err)
		if compression == codec.None {
			continue
		}
		packed, err := compressors[compression-1].Compress(raw(2, nil, nil), nil)
		require.NoError(t, err)
		packed[attributesAt+1] = byte(compression)
		_, err = collect(codec.Kafka(), sign(packed))
		require.ErrorIs(t, err, codec.ErrCorrupt, "%s: a payload that unpacks to nothing", compression)
	}
}

// TestDamageIsNotSigned: what is damaged gets no new checksum, whatever the reason to compute one: M-09.
func TestDamageIsNotSigned(t *testing.T) {
	for name, row := range map[string]struct {
		in    []byte
		rules codec.Rules
	}{
		"offsets to put right": {wrapper(t, 1, codec.NewLZ4(0), 7, inner(t, 1, 5, 7)), codec.Rules{Magic: 1}},
		"another compression":  {encode(t, compressed(2, codec.LZ4), some(0)), codec.Rules{Magic: 2, Recompress: true, Compression: codec.GZIP}},
		"another format":       {encode(t, codec.NewHeader(1), some(0)), codec.Rules{Magic: 2}},
		"log append time":      {encode(t, codec.NewHeader(2), some(0)), codec.Rules{Magic: 2, LogAppendTime: true}},
		"create time":          {encode(t, header(2, func(h *codec.Header) { h.Attributes = codec.LogAppendTimeBit }), some(0)), codec.Rules{Magic: 2}},
	} {
		row.rules.MaxAge, row.rules.MaxAhead = -1, -1
		for bit := range 8 {
			in := bytes.Clone(row.in)
			in[len(in)-3] ^= 1 << bit
			before := bytes.Clone(in)
			for which, c := range validators() {
				_, err := codec.Validate(c, nil, in, row.rules)
				require.ErrorIs(t, err, codec.ErrCorrupt, "%s, %s", name, which)
				require.Equal(t, before, in)
			}
		}
	}
}

// TestErrorsNameOffsets: who cannot read a batch is told which offsets it can pass over: C-17.
func TestErrorsNameOffsets(t *testing.T) {
	for compression := codec.GZIP; compression <= codec.Zstd; compression++ {
		batch := raw(10, []byte("\x05\x06\x07 no stream of anything"), func(b []byte) {
			b[attributesAt+1] = byte(compression)
			be.PutUint64(b, 10)
		})
		require.NoError(t, codec.Kafka().Verify(batch))
		_, err := collect(codec.Kafka(), batch)
		require.ErrorIs(t, err, codec.ErrCorrupt)
		require.ErrorContains(t, err, "offsets 10 to 19")
	}
}
