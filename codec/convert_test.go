package codec_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

func convert(t *testing.T, b []byte, magic int8, first int64) []byte {
	t.Helper()
	got, err := codec.Convert(codec.Kafka(), []byte("before"), b, magic, first)
	require.NoError(t, err)
	require.Equal(t, "before", string(got[:6]))
	return got[6:]
}

// shallow are the headers of the batches in b.
func shallow(t *testing.T, b []byte) (headers []codec.Header) {
	t.Helper()
	for batch, err := range codec.Batches(codec.Kafka(), b) {
		require.NoError(t, err)
		require.NoError(t, codec.Kafka().Verify(batch.Bytes))
		headers = append(headers, batch.Header)
	}
	return headers
}

// TestConvert converts three records of every format to every magic: only what the new format has not is lost.
func TestConvert(t *testing.T) { // C13, C102
	formats(t, func(t *testing.T, magic int8, c codec.Compression) {
		for to := range int8(3) {
			h := compressed(magic, c)
			h.BaseOffset = 100
			in := encode(t, h, some(100))
			if c == codec.Zstd && to < 2 {
				dst, err := codec.Convert(codec.Kafka(), []byte("before"), in, to, 0)
				require.ErrorIs(t, err, codec.ErrCompression)
				require.Equal(t, "before", string(dst))
				continue
			}
			out := convert(t, in, to, 0)
			if to == magic {
				require.Equal(t, in, out)
			}
			want := some(100)
			if magic == 0 || to == 0 {
				for i := range want {
					want[i].Timestamp = codec.NoTimestamp
				}
			}
			require.Equal(t, want, readAll(t, out), "to %d", to)
			for _, h := range shallow(t, out) {
				require.Equal(t, to, h.Magic)
				require.Equal(t, c, h.Attributes.Compression())
			}
			wantBatches := 1
			if c == codec.None && to < 2 {
				wantBatches = 3
			}
			require.Len(t, shallow(t, out), wantBatches)
		}
	})
}

// TestConvertLosses: markers and headers are left out on the way down, timestamp types stay.
func TestConvertLosses(t *testing.T) { // C29, M-18
	withHeaders := some(0)
	withHeaders[0].Headers = []codec.RecordHeader{{Key: []byte("h"), Value: []byte("x")}}
	b := encode(t, header(2, func(h *codec.Header) { h.Attributes, h.MaxTimestamp = codec.LogAppendTimeBit, 7000 }), withHeaders)
	b, err := codec.AppendMarker(b, header(2, func(h *codec.Header) { h.BaseOffset, h.ProducerID, h.ProducerEpoch = 3, 1, 0 }), codec.Marker{}, 5)
	require.NoError(t, err)
	h := header(2, func(h *codec.Header) { h.BaseOffset, h.ProducerID, h.ProducerEpoch, h.BaseSequence = 4, 1, 0, 0 })
	b = append(b, encode(t, h, some(4))...)
	b, err = codec.AppendMarker(b, header(2, func(h *codec.Header) { h.BaseOffset, h.ProducerID, h.ProducerEpoch = 7, 1, 0 }), codec.Marker{Commit: true}, 5)
	require.NoError(t, err)

	want := append(some(0), some(4)...)
	for i := range want[:3] {
		want[i].Timestamp = 7000
	}
	out := convert(t, b, 1, 0)
	require.Equal(t, want, readAll(t, out))
	for i, h := range shallow(t, out) {
		require.Equal(t, i < 3, h.Attributes.LogAppendTime(), "message %d", i)
	}
	require.Empty(t, convert(t, b[len(b)-78:], 1, 0), "a marker alone")
	require.Equal(t, b, convert(t, b, 2, 0))
}

// TestConvertFrom: what is not compressed is cut at the first offset, what is compressed stays whole.
func TestConvertFrom(t *testing.T) { // C30, M-18
	v0 := encode(t, codec.NewHeader(0), some(0)[:1])
	plain := encode(t, header(2, func(h *codec.Header) { h.BaseOffset = 1 }), some(1))
	h := compressed(2, codec.GZIP)
	h.BaseOffset = 4
	packed := encode(t, h, some(4))
	out := convert(t, bytes.Join([][]byte{v0, plain, packed}, nil), 1, 6)
	var offsets []int64
	for _, r := range readAll(t, out) {
		offsets = append(offsets, r.Offset)
	}
	require.Equal(t, []int64{0, 4, 5, 6}, offsets, "magic 0 is copied, magic 2 cut, gzip kept")
	require.Equal(t, int8(0), shallow(t, out)[0].Magic)
}

// TestConvertUp: plain messages that follow one another become one batch.
func TestConvertUp(t *testing.T) {
	first := encode(t, codec.NewHeader(1), some(0))
	appended := encode(t, header(1, func(h *codec.Header) {
		h.BaseOffset, h.Attributes, h.MaxTimestamp = 3, codec.LogAppendTimeBit, 9000
	}), some(3))
	h := compressed(1, codec.LZ4)
	h.BaseOffset = 6
	packed := encode(t, h, some(6))
	far := encode(t, header(1, func(h *codec.Header) { h.BaseOffset = 1 << 33 }), some(1<<33))
	in := bytes.Join([][]byte{first, appended, packed, encode(t, header(1, func(h *codec.Header) { h.BaseOffset = 9 }), some(9)), far}, nil)

	out := convert(t, in, 2, 0)
	var got [][2]int64
	for _, h := range shallow(t, out) {
		got = append(got, [2]int64{h.BaseOffset, h.LastOffset})
	}
	require.Equal(t, [][2]int64{{0, 2}, {3, 5}, {6, 8}, {9, 11}, {1 << 33, 1<<33 + 2}}, got)
	require.True(t, shallow(t, out)[1].Attributes.LogAppendTime())
	require.Equal(t, readAll(t, in), readAll(t, out))
}

// TestConvertAppendTimes: messages that were appended at different times do not fit into one batch.
func TestConvertAppendTimes(t *testing.T) {
	var in []byte
	for i, at := range []int64{7000, 7000, 8000} {
		in = append(in, encode(t, header(1, func(h *codec.Header) {
			h.BaseOffset, h.Attributes, h.MaxTimestamp = int64(i), codec.LogAppendTimeBit, at
		}), []codec.Record{{Offset: int64(i)}})...)
	}
	out := convert(t, in, 2, 0)
	require.Len(t, shallow(t, out), 2)
	require.Equal(t, readAll(t, in), readAll(t, out))
}

func TestConvertBad(t *testing.T) { // C100
	good := encode(t, codec.NewHeader(2), some(0))
	for _, row := range []struct {
		name string
		in   []byte
		want error
	}{
		{"wrong checksum", func() []byte { b := bytes.Clone(good); b[len(b)-2] ^= 1; return b }(), codec.ErrCorrupt},
		{"no batch", append(bytes.Clone(good), make([]byte, 40)...), codec.ErrCorrupt},
		{"bad record", raw(1, rawRecord(0, 0, 5, "k", 1, "v", 0), nil), codec.ErrCorrupt},
		{"too wide for a wrapper's codec", raw(1, []byte("xx"), func(b []byte) { b[attributesAt+1] = 6 }), codec.ErrCompression},
	} {
		t.Run(row.name, func(t *testing.T) {
			dst, err := codec.Convert(codec.Kafka(), []byte("before"), row.in, 1, 0)
			require.ErrorIs(t, err, row.want)
			require.Equal(t, "before", string(dst))
		})
	}
	require.Equal(t, convert(t, good, 1, 0), convert(t, append(bytes.Clone(good), good[:70]...), 1, 0), "the beginning of a batch is left out")
}

// TestConvertMixed is the mixture of formats with headers and large values that old consumers stumbled over.
func TestConvertMixed(t *testing.T) { // C102, M-18
	r := rand.New(rand.NewPCG(1, 2))
	var in []byte
	var want []codec.Record
	for i := range int64(30) {
		recs := some(3 * i)
		recs[1].Value = textOf(r, 4096)
		h := compressed([]int8{2, 1, 2}[i%3], []codec.Compression{codec.None, codec.GZIP, codec.LZ4, codec.Snappy}[i%4])
		h.BaseOffset = 3 * i
		if h.Magic == 2 {
			recs[0].Headers = []codec.RecordHeader{{Key: []byte("h"), Value: []byte("x")}}
		}
		in = append(in, encode(t, h, recs)...)
		recs[0].Headers = nil
		want = append(want, recs...)
	}
	require.Equal(t, want, readAll(t, convert(t, in, 1, 0)))
	for i := range want {
		want[i].Timestamp = codec.NoTimestamp
	}
	require.Equal(t, want, readAll(t, convert(t, in, 0, 0)))
}
