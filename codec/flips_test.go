package codec_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
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
func TestFlips(t *testing.T) {
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
func TestLengths(t *testing.T) {
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
	fmt.Printf("RESULT lengths=%d failures=%d\n", count, failures)
}
