package codec_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// wrapper is a message of magic whose value is run, packed, with the right checksum.
func wrapper(t *testing.T, magic int8, c codec.Compressor, offset int64, run []byte) []byte {
	t.Helper()
	b := be.AppendUint64(nil, uint64(offset))
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, byte(magic), byte(c.Compression()))
	if magic == 1 {
		b = be.AppendUint64(b, 1005)
	}
	b = append(b, 0xff, 0xff, 0xff, 0xff)
	packed, err := c.Compress(nil, run)
	require.NoError(t, err)
	b = be.AppendUint32(b, uint32(len(packed)))
	return sign(append(b, packed...))
}

// inner is messages of magic with the given offsets, as a wrapper holds them.
func inner(t *testing.T, magic int8, offsets ...int64) (run []byte) {
	t.Helper()
	for _, offset := range offsets {
		run = append(run, encode(t, header(magic, func(h *codec.Header) { h.BaseOffset = offset }),
			[]codec.Record{{Offset: offset, Timestamp: 1000 + offset, Value: []byte("v")}})...)
	}
	return run
}

// wrapperCompressors are those that magic 0 and 1 know.
func wrapperCompressors() []codec.Compressor {
	return []codec.Compressor{codec.NewGzip(0), codec.NewSnappy(), codec.NewLZ4(0)}
}

// TestWrapperOffsets reads wrappers whose offsets Kafka tells in different ways.
func TestWrapperOffsets(t *testing.T) { // C8, C9
	for _, row := range []struct {
		name   string
		magic  int8
		offset int64
		inner  []int64
		want   []int64
		err    error
	}{
		{"absolute", 0, 502, []int64{500, 501, 502}, []int64{500, 501, 502}, nil},
		{"absolute with gaps", 0, 510, []int64{500, 503, 510}, []int64{500, 503, 510}, nil},
		{"absolute, the wrapper's is 0", 0, 0, []int64{0, 1, 2}, []int64{0, 1, 2}, nil},
		{"relative", 1, 502, []int64{0, 1, 2}, []int64{500, 501, 502}, nil},
		{"relative with gaps", 1, 507, []int64{0, 3, 7}, []int64{500, 503, 507}, nil},
		{"relative, not from 0", 1, 507, []int64{3, 7}, []int64{503, 507}, nil},
		{"relative, the wrapper's is 0", 1, 0, []int64{0, 1, 2}, []int64{0, 1, 2}, nil},
		{"relative, the wrapper's is that of the last", 1, 2, []int64{0, 1, 2}, []int64{0, 1, 2}, nil},
		{"the wrapper's is too low", 1, 1, []int64{0, 1, 2}, nil, codec.ErrCorrupt},
		{"the same twice", 1, 502, []int64{0, 0}, []int64{502}, codec.ErrCorrupt},
		{"backwards", 0, 502, []int64{2, 1}, []int64{2}, codec.ErrCorrupt},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, c := range wrapperCompressors() {
				batch := wrapper(t, row.magic, c, row.offset, inner(t, row.magic, row.inner...))
				require.NoError(t, codec.Kafka().Verify(batch))
				recs, err := collect(codec.Kafka(), batch)
				require.ErrorIs(t, err, row.err)
				var got []int64
				for _, r := range recs {
					got = append(got, r.Offset)
				}
				require.Equal(t, row.want, got)
			}
		})
	}
}

// TestWrapperHeader: what only the records tell is not in the header.
func TestWrapperHeader(t *testing.T) {
	for magic := range int8(2) {
		batch := wrapper(t, magic, codec.NewGzip(0), 502, inner(t, magic, 0, 1, 2))
		h, err := codec.Kafka().Header(batch)
		require.NoError(t, err)
		want := header(magic, func(h *codec.Header) {
			h.BaseOffset, h.LastOffset, h.Size, h.Count = codec.NoOffset, 502, len(batch), -1
			h.Attributes = codec.Attributes(codec.GZIP)
			if magic == 1 {
				h.BaseTimestamp, h.MaxTimestamp = 1005, 1005
			}
		})
		want.CRC = h.CRC
		require.Equal(t, want, h)
	}
}

func TestBadWrappers(t *testing.T) { // C4, C5, C9, C12
	gzip := codec.NewGzip(0)
	good := inner(t, 1, 0, 1)
	nullValue := sign(append(wrapper(t, 1, gzip, 1, good)[:30], 0xff, 0xff, 0xff, 0xff))
	badKey := bytes.Clone(good)
	be.PutUint32(badKey[26:], 500)
	short := bytes.Clone(good)
	be.PutUint32(short[8:], 13)
	v2 := encode(t, codec.NewHeader(2), some(0))
	for _, row := range []struct {
		name  string
		batch []byte
		want  error
	}{
		{"null value", nullValue, codec.ErrCorrupt},
		{"no messages", wrapper(t, 1, gzip, 1, nil), codec.ErrCorrupt},
		{"offset of the wrapper too low", wrapper(t, 1, gzip, 1, inner(t, 1, 0, 1, 2)), codec.ErrCorrupt},
		{"wrapper in a wrapper", wrapper(t, 1, gzip, 1, wrapper(t, 1, gzip, 1, good)), codec.ErrCorrupt},
		{"magic 2 in a wrapper", wrapper(t, 1, gzip, 1, v2), codec.ErrCorrupt},
		{"message of 13 bytes", wrapper(t, 1, gzip, 1, short), codec.ErrCorrupt},
		{"key beyond the message", wrapper(t, 1, gzip, 1, badKey), codec.ErrCorrupt},
		{"nothing but the beginning of a message", wrapper(t, 1, gzip, 1, good[:20]), codec.ErrCorrupt},
		{"zstd", wrapper(t, 1, codec.NewZstd(0), 1, good), codec.ErrCompression},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.NoError(t, codec.Kafka().Verify(row.batch), "only the outside is verified")
			_, err := collect(codec.Kafka(), row.batch)
			require.ErrorIs(t, err, row.want)

			class := row.want
			if errors.Is(class, codec.ErrCorrupt) {
				class = codec.ErrInvalid
			}
			_, err = codec.Validate(codec.Kafka(), nil, row.batch, rules(1, func(r *codec.Rules) { r.MaxAge = -1 }))
			require.ErrorIs(t, err, class, "in an append")
		})
	}
}

// TestTornWrapper: a message of which there is only the beginning ends the iteration, as in Kafka.
func TestTornWrapper(t *testing.T) { // M-19
	run := inner(t, 0, 5, 6)
	batch := wrapper(t, 0, codec.NewGzip(0), 6, run[:len(run)-3])
	recs, err := collect(codec.Kafka(), batch)
	require.NoError(t, err)
	require.Len(t, recs, 1)
}

// TestOtherMagicInside reads the wrappers of KAFKA-4298, which validation refuses.
func TestOtherMagicInside(t *testing.T) { // D13, D27, M-14
	for magic := range int8(2) {
		other := 1 - magic
		batch := wrapper(t, magic, codec.NewGzip(0), 2, inner(t, other, 0, 1, 2))
		recs, err := collect(codec.Kafka(), batch)
		require.NoError(t, err)
		for i, r := range recs {
			want := codec.NoTimestamp
			if other == 1 {
				want = 1000 + int64(i)
			}
			require.Equal(t, codec.Record{Offset: int64(i), Timestamp: want, Value: []byte("v")}, r)
		}
		for target := range int8(3) {
			_, err := codec.Validate(codec.Kafka(), nil, bytes.Clone(batch), rules(target, func(r *codec.Rules) { r.MaxAge = -1 }))
			checkRefused(t, err, []int{0, 1, 2}, codec.ErrInvalid, "")
		}
	}
}

// TestOtherMagicAppendTime: what has magic 0 has no timestamp, whatever the wrapper says.
func TestOtherMagicAppendTime(t *testing.T) {
	batch := wrapper(t, 1, codec.NewGzip(0), 2, inner(t, 0, 0, 1, 2))
	batch[17] |= byte(codec.LogAppendTimeBit)
	for _, r := range readAll(t, sign(batch)) {
		require.Equal(t, codec.NoTimestamp, r.Timestamp)
	}
}

// TestValidateWrappers: what a client got wrong inside of a wrapper.
func TestValidateWrappers(t *testing.T) { // C105, D21, D28, M-12
	for _, c := range wrapperCompressors() {
		for magic := range int8(2) {
			run := inner(t, magic, 0, 1, 2)
			run[len(run)-1] ^= 1
			_, err := codec.Validate(codec.Kafka(), nil, wrapper(t, magic, c, 2, run), rules(magic, func(r *codec.Rules) { r.MaxAge = -1 }))
			require.ErrorIs(t, err, codec.ErrCorrupt, "a wrong checksum inside")
			require.NotErrorIs(t, err, codec.ErrInvalid)

			for name, offsets := range map[string][]int64{
				"the same": {0, 0, 0}, "not from 0": {5, 6, 7}, "mixed": {0, 2, 1},
			} {
				batch := wrapper(t, magic, c, offsets[2], inner(t, magic, offsets...))
				got, err := codec.Validate(codec.Kafka(), nil, batch, rules(magic, func(r *codec.Rules) { r.MaxAge = -1 }))
				require.NoError(t, err, name)
				require.False(t, got.InPlace, name)
				recs := readAll(t, got.Batches)
				for i, r := range recs {
					require.Equal(t, 1234567+int64(i), r.Offset, name)
				}
				require.Len(t, recs, 3)
			}
		}
	}
}

// TestBothKindsOfFlaw is the test of Kafka in which a timestamp outweighs another magic.
func TestBothKindsOfFlaw(t *testing.T) { // D14
	run := inner(t, 0, 0, 1, 2, 3, 4)
	run = append(run, encode(t, header(1, func(h *codec.Header) { h.BaseOffset = 5 }), []codec.Record{{Offset: 5, Timestamp: 1200}})...)
	_, err := codec.Validate(codec.Kafka(), nil, wrapper(t, 1, codec.NewGzip(0), 5, run), rules(1, func(r *codec.Rules) { r.Now = 0 }))
	checkRefused(t, err, []int{0, 1, 2, 3, 4, 5}, codec.ErrTimestamp, "")
}

// TestNestedFlaw: a wrapper in a wrapper is a bad record to validation.
func TestNestedFlaw(t *testing.T) {
	gzip := codec.NewGzip(0)
	run := append(inner(t, 1, 0), wrapper(t, 1, gzip, 1, inner(t, 1, 0))...)
	_, err := codec.Validate(codec.Kafka(), nil, wrapper(t, 1, gzip, 1, run), rules(1, func(r *codec.Rules) { r.MaxAge = -1 }))
	checkRefused(t, err, []int{1}, codec.ErrInvalid, "")
}

// TestInnerChecksum: a wrong checksum in a wrapper is found by those who ask, and does not keep anybody from
// reading, as in Kafka.
func TestInnerChecksum(t *testing.T) {
	verifier, ok := codec.Kafka().(codec.InnerVerifier)
	require.True(t, ok)
	for _, c := range wrapperCompressors() {
		for magic := range int8(2) {
			run := inner(t, magic, 0, 1, 2)
			good := wrapper(t, magic, c, 2, run)
			require.NoError(t, verifier.VerifyInner(good))
			size := len(run) / 3
			h, err := codec.Kafka().Header(run[size:])
			require.NoError(t, err)
			run[size+size-1] ^= 1 // the value of the message in the middle
			bad := wrapper(t, magic, c, 2, run)
			require.NoError(t, codec.Kafka().Verify(bad))
			require.Len(t, readAll(t, bad), 3)
			err = verifier.VerifyInner(bad)
			require.ErrorIs(t, err, codec.ErrInnerChecksum)
			require.ErrorIs(t, err, codec.ErrChecksum)
			require.ErrorIs(t, err, codec.ErrCorrupt)
			require.ErrorContains(t, err, "message 1 in a wrapper")
			require.ErrorContains(t, err, codecHex(h.CRC))
		}
	}
	formats(t, func(t *testing.T, magic int8, c codec.Compression) {
		batch := encode(t, compressed(magic, c), some(0)[:1])
		require.NoError(t, verifier.VerifyInner(batch))
		require.ErrorIs(t, verifier.VerifyInner(batch[:len(batch)-1]), codec.ErrShort)
		if wrapped := magic < 2 && c != codec.None; !wrapped {
			batch[len(batch)-1] ^= 1
			require.NoError(t, verifier.VerifyInner(batch), "that checksum is Verify's")
		}
	})
}

// TestLZ4HeaderChecksum: magic 0 is written with the checksum of KAFKA-3160 and read with any, magic 1 has the
// right one.
func TestLZ4HeaderChecksum(t *testing.T) { // B3, B16
	const right, legacy = 0x82, 0x1a
	for magic, row := range []struct {
		valueAt int
		written byte
		accepts []byte
		refuses []byte
	}{
		{26, legacy, []byte{right, legacy, 0}, nil},
		{34, right, []byte{right}, []byte{legacy, 0}},
	} {
		batch := encode(t, compressed(int8(magic), codec.LZ4), some(0))
		at := row.valueAt + 6
		require.Equal(t, row.written, batch[at], "magic %d", magic)
		for _, sum := range row.accepts {
			batch[at] = sum
			before := bytes.Clone(sign(batch))
			require.Len(t, readAll(t, batch), 3)
			require.Equal(t, before, batch, "reading changes nothing")
		}
		for _, sum := range row.refuses {
			batch[at] = sum
			_, err := collect(codec.Kafka(), sign(batch))
			require.ErrorIs(t, err, codec.ErrCorrupt)
		}
	}
}
