package codec_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// flippable are batches of all formats, every bit of which is flipped.
func flippable(t *testing.T) (batches [][]byte) {
	t.Helper()
	for _, v := range vectors {
		batches = append(batches, unhex(t, v.hex))
	}
	withHeaders := some(100)
	withHeaders[1].Headers = bytesHeaders(2)
	formats(t, func(t *testing.T, magic int8, c codec.Compression) {
		recs := some(100)
		switch {
		case magic == 2:
			recs = withHeaders
		case c == codec.None:
			recs = recs[:1]
		}
		h := compressed(magic, c)
		h.BaseOffset = 100
		if magic == 2 {
			h.LeaderEpoch = 4
		}
		batches = append(batches, encode(t, h, recs))
	})
	return batches
}

// TestFlips flips every bit of a set of batches. Each flip is refused by Verify, or is in the bytes that no
// checksum covers: offset and leader epoch, of which all that differs is what they say, or what a neighbour
// finds.
func TestFlips(t *testing.T) { // C2, C63
	c := codec.Kafka()
	flips, refused, found, harmless, wrong := 0, 0, 0, 0, 0
	for _, batch := range flippable(t) {
		h, err := c.Header(batch)
		require.NoError(t, err)
		recs, err := collect(c, batch)
		require.NoError(t, err)
		for bit := range len(batch) * 8 {
			flips++
			damaged := bytes.Clone(batch)
			damaged[bit/8] ^= 1 << (bit % 8)
			switch {
			case c.Verify(damaged) != nil:
				refused++
			case foundByNeighbours(c, damaged, h):
				found++
			case !sameBut(c, damaged, recs, bit/8):
				wrong++
				t.Errorf("magic %d: bit %d of byte %d goes unnoticed", h.Magic, bit%8, bit/8)
			default: // an epoch, in a log that has none
				harmless++
				require.Equal(t, leaderEpochAt, bit/8)
				require.Equal(t, codec.NoLeaderEpoch, h.LeaderEpoch)
			}
		}
	}
	fmt.Printf("RESULT flips=%d refused=%d neighbours=%d harmless=%d wrong=%d\n", flips, refused, found, harmless, wrong)
	require.Zero(t, wrong)
}

// foundByNeighbours reports whether the batches around one of the true header h contradict damaged.
func foundByNeighbours(c codec.Codec, damaged []byte, h codec.Header) bool {
	got, err := c.Header(damaged)
	if err != nil {
		return true
	}
	first := h.BaseOffset
	if first == codec.NoOffset {
		first = h.LastOffset // of a wrapper no more is known
	}
	expect := codec.Expect{Offset: first, Epoch: h.LeaderEpoch, Bytes: int64(h.Size)}
	next := header(h.Magic, func(n *codec.Header) {
		n.BaseOffset, n.LastOffset, n.LeaderEpoch = h.NextOffset(), h.NextOffset(), h.LeaderEpoch
	})
	return expect.Check(got) != nil || expect.Behind(got).Check(next) != nil
}

// sameBut reports whether damaged, of which the given byte differs, still has the keys and values of recs.
func sameBut(c codec.Codec, damaged []byte, recs []codec.Record, at int) bool {
	if at >= sizeAt && at < leaderEpochAt {
		return false
	}
	got, err := collect(c, damaged)
	if err != nil || len(got) != len(recs) {
		return false
	}
	for i := range got {
		if !bytes.Equal(got[i].Key, recs[i].Key) || !bytes.Equal(got[i].Value, recs[i].Value) {
			return false
		}
	}
	return true
}

// lengthField is a field that says a length or a count.
type lengthField struct {
	name   string
	batch  []byte // with the right checksum
	at     int
	bytes  int // 4, or 0 for a varint of one byte
	signed bool
}

// lengthFields are all length fields of the formats.
func lengthFields(t *testing.T) []lengthField {
	t.Helper()
	v2 := raw(1, rawRecord(0, 0, 1, "k", 2, "vv", 1, 1, "h", 1, "x"), nil)
	v1 := encode(t, codec.NewHeader(1), []codec.Record{{Key: []byte("k"), Value: []byte("vv")}})
	v0 := encode(t, codec.NewHeader(0), []codec.Record{{Key: []byte("k"), Value: []byte("vv")}})
	fields := []lengthField{
		{"size of magic 2", v2, sizeAt, 4, false},
		{"last offset delta", v2, lastDeltaAt, 4, true},
		{"count", v2, countAt, 4, true},
		{"record size", v2, recordsAt, 0, true},
		{"key size", v2, recordsAt + 4, 0, true},
		{"value size", v2, recordsAt + 6, 0, true},
		{"number of headers", v2, recordsAt + 9, 0, true},
		{"header key size", v2, recordsAt + 10, 0, true},
		{"header value size", v2, recordsAt + 12, 0, true},
		{"size of magic 1", v1, sizeAt, 4, false},
		{"key size of magic 1", v1, 26, 4, true},
		{"value size of magic 1", v1, 31, 4, true},
		{"size of magic 0", v0, sizeAt, 4, false},
		{"key size of magic 0", v0, 18, 4, true},
		{"value size of magic 0", v0, 23, 4, true},
	}
	for _, f := range fields {
		require.NoError(t, codec.Kafka().Verify(f.batch), f.name)
	}
	return fields
}

// value is what the field says now.
func (f lengthField) value() int64 {
	if f.bytes == 4 {
		return int64(int32(be.Uint32(f.batch[f.at:])))
	}
	v, _ := binary.Varint(f.batch[f.at:]) // Kafka's varints are those of encoding/binary
	return v
}

// with is the batch in which the field says v.
func (f lengthField) with(v int64) []byte {
	b := bytes.Clone(f.batch)
	if f.bytes == 4 {
		be.PutUint32(b[f.at:], uint32(v))
	} else {
		b = bytes.Join([][]byte{b[:f.at], binary.AppendVarint(nil, v), b[f.at+1:]}, nil)
	}
	if !f.signed {
		return b
	}
	return sign(b)
}

// TestLengths puts telling values into every length field: nothing but an error comes of it, or, where null is
// meant, or a batch with fewer records than offsets, a batch that reads otherwise.
func TestLengths(t *testing.T) { // M-04
	c := codec.Kafka()
	count, failures := 0, 0
	for _, f := range lengthFields(t) {
		is := f.value()
		for _, v := range []int64{0, 1, -1, is - 1, is + 1, math.MaxInt32, math.MaxUint32, math.MaxInt64, math.MinInt32} {
			if v == is {
				continue
			}
			count++
			b := f.with(v)
			_, headerErr := c.Header(b)
			requireClass(t, headerErr)
			_, err := collect(c, b)
			requireClass(t, err)
			requireClass(t, c.Verify(b))
			_, validateErr := codec.Validate(c, nil, bytes.Clone(b), codec.Rules{Magic: 2, MaxAge: -1, MaxAhead: -1, FromClient: true})
			requireClass(t, validateErr)
			_, convertErr := codec.Convert(c, nil, b, 0, 0)
			requireClass(t, convertErr)
			if err == nil && f.name != "last offset delta" {
				failures++
				t.Errorf("%s: %d for %d goes unnoticed", f.name, v, is)
			}
		}
	}
	inCount, inFailures := lengthsInside(t)
	fmt.Printf("RESULT lengths=%d failures=%d\n", count+inCount, failures+inFailures)
}

// insideField is a length field in what is compressed, or in what a compression puts around it.
type insideField struct {
	name string
	in   []byte
	at   int
	number
	read func(in []byte) (got string, _ error) // what in says, or why it says nothing
	torn bool                                  // a size that is too large leaves what is before it, as in Kafka
}

// number is how a field holds a number.
type number struct {
	get func(b []byte) int64
	put func(b []byte, v int64) []byte // over what b begins with
}

var (
	be32 = number{
		func(b []byte) int64 { return int64(int32(be.Uint32(b))) },
		func(b []byte, v int64) []byte { be.PutUint32(b, uint32(v)); return b },
	}
	le32 = number{
		func(b []byte) int64 { return int64(binary.LittleEndian.Uint32(b)) },
		func(b []byte, v int64) []byte { binary.LittleEndian.PutUint32(b, uint32(v)); return b },
	}
	le64 = number{
		func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) },
		func(b []byte, v int64) []byte { binary.LittleEndian.PutUint64(b, uint64(v)); return b },
	}
	oneByte = number{
		func(b []byte) int64 { return int64(b[0]) },
		func(b []byte, v int64) []byte { b[0] = byte(v); return b },
	}
	uvarint = number{ // of one byte, until it is replaced
		func(b []byte) int64 { return int64(b[0]) },
		func(b []byte, v int64) []byte { return append(binary.AppendUvarint(nil, uint64(v)), b[1:]...) },
	}
	zstdBlock = number{ // above three bits that say what the block is
		func(b []byte) int64 { return int64(b[0])>>3 | int64(b[1])<<5 | int64(b[2])<<13 },
		func(b []byte, v int64) []byte {
			header := uint32(b[0])&7 | uint32(v)<<3
			b[0], b[1], b[2] = byte(header), byte(header>>8), byte(header>>16)
			return b
		},
	}
)

// insideFields are all of them.
func insideFields(t *testing.T) (fields []insideField) {
	t.Helper()
	texts := func(batch []byte) (text string, err error) {
		recs, err := collect(codec.Kafka(), batch)
		for _, r := range recs {
			text += fmt.Sprintf("%q %q;", r.Key, r.Value)
		}
		return text, err
	}
	for _, c := range wrapperCompressors() {
		for magic := range int8(2) {
			keyAt := 18 + 8*int(magic)
			read := func(run []byte) (string, error) { return texts(wrapper(t, magic, c, 1, run)) }
			run := inner(t, magic, 0, 1)
			name := fmt.Sprintf(" in %s of magic %d", c.Compression(), magic)
			fields = append(fields,
				insideField{"size" + name, run, sizeAt, be32, read, true},
				insideField{"last size" + name, run, len(run)/2 + sizeAt, be32, read, true},
				insideField{"key size" + name, run, keyAt, be32, read, false},
				insideField{"value size" + name, run, keyAt + 4, be32, read, false})
			batch := wrapper(t, magic, c, 1, run)
			signed := func(batch []byte) (string, error) { return texts(sign(batch)) }
			fields = append(fields,
				insideField{"wrapper's key size" + name, batch, keyAt, be32, signed, false},
				insideField{"wrapper's value size" + name, batch, keyAt + 4, be32, signed, false})
		}
	}
	unpack := func(c codec.Compressor) func([]byte) (string, error) {
		return func(in []byte) (string, error) {
			got, err := c.Decompress(nil, in, 1<<20)
			return string(got), err
		}
	}
	const lz4Sized = "04224d186840050000000000000061" + "0500008068656c6c6f" + "00000000"
	packedGzip := pack(t, compressors[0], []byte("hello"))
	return append(
		fields,
		insideField{"gzip's size", packedGzip, len(packedGzip) - 4, le32, unpack(compressors[0]), false},
		insideField{"snappy's block", pack(t, compressors[1], []byte("hello")), 16, be32, unpack(compressors[1]), false},
		insideField{"snappy's size", pack(t, compressors[1], []byte("hello")), 20, uvarint, unpack(compressors[1]), false},
		insideField{"lz4's block", pack(t, compressors[2], []byte("hello")), 7, le32, unpack(compressors[2]), false},
		insideField{"lz4's content", unhex(t, lz4Sized), 6, le64, unpack(compressors[2]), false},
		insideField{"zstd's block", unhex(t, "28b52ffd2005290000 68656c6c6f"), 6, zstdBlock, unpack(compressors[3]), false},
		insideField{"zstd's content", unhex(t, "28b52ffd2005290000 68656c6c6f"), 5, oneByte, unpack(compressors[3]), false},
	)
}

// lengthsInside is TestLengths for what is compressed.
func lengthsInside(t *testing.T) (count, failures int) {
	t.Helper()
	for _, f := range insideFields(t) {
		want, err := f.read(bytes.Clone(f.in))
		require.NoError(t, err, f.name)
		seen := map[string]bool{string(f.in): true}
		is := f.get(f.in[f.at:])
		for _, v := range []int64{0, 1, -1, is - 1, is + 1, math.MaxInt32, math.MaxUint32, math.MaxInt64, math.MinInt32} {
			b := append(bytes.Clone(f.in[:f.at]), f.put(bytes.Clone(f.in[f.at:]), v)...)
			if seen[string(b)] {
				continue
			}
			seen[string(b)] = true
			count++
			got, err := f.read(bytes.Clone(b))
			requireClass(t, err)
			if err == nil && got != want && !(f.torn && strings.HasPrefix(want, got)) {
				failures++
				t.Errorf("%s: %d goes unnoticed", f.name, v)
			}
		}
	}
	return count, failures
}
