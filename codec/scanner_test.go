package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// stream is n batches of magic with three records each, from offset 100 on, of rising epochs.
func stream(tb testing.TB, c codec.Codec, magic int8, compression codec.Compression, n int) (b []byte, ends []int) {
	tb.Helper()
	for i := range n {
		offset := int64(100 + 3*i)
		h := header(magic, func(h *codec.Header) {
			h.BaseOffset = offset
			h.Attributes = codec.Attributes(compression)
			if magic == 2 {
				h.LeaderEpoch = int32(1 + i/2)
			}
		})
		var recs []codec.Record
		for j := range int64(3) {
			recs = append(recs, codec.Record{
				Offset:    offset + j,
				Timestamp: 1000 + offset + j,
				Key:       fmt.Appendf(nil, "key %d", j),
				Value:     fmt.Appendf(nil, "value %d of batch %d", j, i),
			})
		}
		var err error
		b, err = c.Append(b, h, recs)
		require.NoError(tb, err)
		ends = append(ends, len(b))
	}
	return b, ends
}

// scan collects the pieces of b, without the batches' bytes, and checks that they have no gap.
func scan(tb testing.TB, c codec.Codec, r io.Reader, e codec.Expect, size int) (pieces []codec.Piece) {
	tb.Helper()
	s := codec.NewScanner(c, r, e)
	position := int64(0)
	for {
		p, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(tb, err)
		require.Equal(tb, position, p.Position, "pieces without a gap")
		require.Positive(tb, p.Size)
		if p.Err == nil {
			require.Len(tb, p.Batch.Bytes, int(p.Size))
		}
		position += p.Size
		p.Batch.Bytes = nil
		pieces = append(pieces, p)
	}
	require.Equal(tb, int64(size), position, "all bytes are in a piece")
	return pieces
}

func TestScannerGood(t *testing.T) {
	c := codec.Kafka()
	for _, row := range []struct {
		magic       int8
		compression codec.Compression
		pieces      int
	}{{0, codec.None, 30}, {1, codec.None, 30}, {1, codec.LZ4, 10}, {2, codec.None, 10}, {2, codec.Snappy, 10}} {
		b, _ := stream(t, c, row.magic, row.compression, 10)
		for name, r := range map[string]io.Reader{
			"whole":    bytes.NewReader(b),
			"one byte": iotest.OneByteReader(bytes.NewReader(b)),
			"data err": iotest.DataErrReader(bytes.NewReader(b)),
		} {
			t.Run(fmt.Sprint(row.magic, row.compression, name), func(t *testing.T) {
				pieces := scan(t, c, r, codec.Expect{Offset: 100, Bytes: int64(len(b))}, len(b))
				require.Len(t, pieces, row.pieces)
				for _, p := range pieces {
					require.NoError(t, p.Err)
				}
			})
		}
	}
}

// TestScannerFlips flips every bit of the middle batch of three: that one is reported with its place and
// offsets, and the others are read.
func TestScannerFlips(t *testing.T) {
	c := codec.Kafka()
	flips := 0
	for _, compression := range []codec.Compression{codec.None, codec.LZ4} {
		b, ends := stream(t, c, 2, compression, 3)
		for bit := ends[0] * 8; bit < ends[1]*8; bit++ {
			damaged := bytes.Clone(b)
			damaged[bit/8] ^= 1 << (bit % 8)
			pieces := scan(t, c, bytes.NewReader(damaged), codec.Expect{Offset: 100}, len(b))
			require.Len(t, pieces, 3, "bit %d of byte %d", bit%8, bit/8-ends[0])
			bad := pieces[1]
			require.ErrorContains(t, bad.Err, "codec: ", "bit %d of byte %d", bit%8, bit/8-ends[0])
			require.NoError(t, errors.Join(pieces[0].Err, pieces[2].Err))
			bad.Err = nil
			require.Equal(t, codec.Piece{
				Position: int64(ends[0]), Size: int64(ends[1] - ends[0]), FirstOffset: 103, NextOffset: 106,
			}, bad, "bit %d of byte %d", bit%8, bit/8-ends[0])
			flips++
		}
	}
	t.Logf("flips=%d", flips)
}

func TestScannerDamage(t *testing.T) {
	c := codec.Kafka()
	good, ends := stream(t, c, 2, codec.None, 6)
	inner, _ := stream(t, c, 2, codec.None, 8)
	log, err := c.Append(nil, header(2, func(h *codec.Header) { h.BaseOffset = 100 }),
		[]codec.Record{{Offset: 100, Value: inner[ends[0]:]}})
	require.NoError(t, err)
	log[len(log)-2] ^= 1 // in the last batch in the record

	type loss struct{ position, size, first, next int64 }
	for _, row := range []struct {
		name   string
		stream []byte
		good   int
		lost   []loss
	}{
		{"garbage before", append([]byte("some bytes that are no batch"), good...), 6, []loss{{0, 28, 100, 100}}},
		{"garbage behind", append(bytes.Clone(good), "no batch"...), 6, []loss{{int64(len(good)), 8, 118, -1}}},
		{
			"zeros between", bytes.Join([][]byte{good[:ends[1]], make([]byte, 3<<20), good[ends[1]:]}, nil),
			6,
			[]loss{{int64(ends[1]), 3 << 20, 106, 106}},
		},
		{"torn at the end", good[:len(good)-1], 5, []loss{{int64(ends[4]), int64(ends[5] - ends[4] - 1), 115, -1}}},
		{
			"two batches lost in one",
			bytes.Join([][]byte{good[:ends[1]-3], good[ends[2]+2:]}, nil),
			3,
			[]loss{{int64(ends[0]), int64(ends[3] - ends[0] - 5 - ends[2] + ends[1]), 103, 112}},
		},
		{
			"a batch of the past",
			bytes.Join([][]byte{good[:ends[1]], good[:ends[0]], good[ends[1]:]}, nil),
			6,
			[]loss{{int64(ends[1]), int64(ends[0]), 106, 106}},
		},
		{
			"batches in the record of a bad batch",
			bytes.Join([][]byte{log, good[ends[0]:]}, nil),
			5,
			[]loss{{0, int64(len(log)), 100, 103}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, reader := range []io.Reader{bytes.NewReader(row.stream), iotest.HalfReader(bytes.NewReader(row.stream))} {
				var lost []loss
				batches := 0
				for _, p := range scan(t, c, reader, codec.Expect{Offset: 100, Bytes: int64(len(row.stream))}, len(row.stream)) {
					if p.Err == nil {
						batches++
						continue
					}
					lost = append(lost, loss{p.Position, p.Size, p.FirstOffset, p.NextOffset})
				}
				require.Equal(t, row.lost, lost)
				require.Equal(t, row.good, batches)
			}
		})
	}
}

// TestScannerWrappers: the first offset behind damage is only in the wrapper.
func TestScannerWrappers(t *testing.T) {
	c := codec.Kafka()
	b, ends := stream(t, c, 1, codec.GZIP, 3)
	b[ends[1]-1] ^= 1
	pieces := scan(t, c, bytes.NewReader(b), codec.Expect{Offset: 100}, len(b))
	require.Len(t, pieces, 3)
	require.ErrorIs(t, pieces[1].Err, codec.ErrCorrupt)
	require.Equal(t, []int64{103, 106}, []int64{pieces[1].FirstOffset, pieces[1].NextOffset})
}

func TestScannerReadError(t *testing.T) {
	c := codec.Kafka()
	b, ends := stream(t, c, 2, codec.None, 3)
	broken := errors.New("the disk is gone")
	r := io.MultiReader(bytes.NewReader(b[:ends[1]+5]), iotest.ErrReader(broken))
	s := codec.NewScanner(c, r, codec.Expect{})
	var err error
	for range 5 {
		if _, err = s.Next(); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, broken)
	_, err = s.Next()
	require.ErrorIs(t, err, broken, "again")
}

func TestExpect(t *testing.T) {
	e := codec.Expect{Offset: 10, End: 20, Epoch: 3, Bytes: 100}
	for _, row := range []struct {
		name   string
		change func(*codec.Header)
		ok     bool
	}{
		{"as expected", func(*codec.Header) {}, true},
		{"later", func(h *codec.Header) { h.BaseOffset, h.LastOffset = 15, 19 }, true},
		{"a wrapper", func(h *codec.Header) { h.BaseOffset = codec.NoOffset }, true},
		{"no epoch", func(h *codec.Header) { h.LeaderEpoch = codec.NoLeaderEpoch }, true},
		{"an offset too low", func(h *codec.Header) { h.BaseOffset = 9 }, false},
		{"an offset too high", func(h *codec.Header) { h.LastOffset = 20 }, false},
		{"offsets backwards", func(h *codec.Header) { h.LastOffset = 9 }, false},
		{"an epoch of the past", func(h *codec.Header) { h.LeaderEpoch = 2 }, false},
		{"a negative epoch", func(h *codec.Header) { h.LeaderEpoch = -2 }, false},
		{"longer than the stream", func(h *codec.Header) { h.Size = 101 }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := header(2, func(h *codec.Header) {
				h.BaseOffset, h.LastOffset, h.LeaderEpoch, h.Size = 10, 12, 3, 100
				row.change(h)
			})
			err := e.Check(h)
			if row.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, codec.ErrCorrupt)
		})
	}
	h := header(2, func(h *codec.Header) { h.BaseOffset, h.LastOffset, h.LeaderEpoch, h.Size = 10, 12, 4, 70 })
	require.Equal(t, codec.Expect{Offset: 13, End: 20, Epoch: 4, Bytes: 30}, e.Behind(h))
	require.Equal(t, codec.Expect{Offset: 13, End: 1 << 31, Epoch: 4}, codec.Expect{}.Behind(h))
}
