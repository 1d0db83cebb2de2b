package codec_test

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// TestCompressorAllocs packs and unpacks into room that is there: nothing is left to allocate for.
func TestCompressorAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools")
	}
	plain := shapes()["words 98304"]
	for _, c := range compressors {
		packed := pack(t, c, plain)
		room := make([]byte, 0, 2*len(plain))
		assert.LessOrEqual(t, testing.AllocsPerRun(50, func() {
			_, err := c.Compress(room, plain)
			require.NoError(t, err)
		}), 1.0, "%v packs", c.Compression())
		assert.LessOrEqual(t, testing.AllocsPerRun(50, func() {
			_, err := c.Decompress(room, packed, len(plain))
			require.NoError(t, err)
		}), 1.0, "%v unpacks", c.Compression())
	}
}

// TestCompressorGoroutines finds no goroutine left after good, bad and large calls: the bubble would not end.
// Its compressors are its own, since the channels in what they keep belong to the bubble.
func TestCompressorGoroutines(t *testing.T) { // C-18
	synctest.Test(t, func(t *testing.T) {
		for _, c := range newCompressors() {
			for _, plain := range [][]byte{nil, []byte("a"), make([]byte, 6<<20)} {
				packed := pack(t, c, plain)
				for _, b := range [][]byte{packed, packed[:len(packed)/2], append(packed, 1)} {
					for _, limit := range []int{len(plain) / 2, len(plain)} {
						_, _ = c.Decompress(nil, b, limit) // TestDecompressDamaged has the errors
					}
				}
			}
		}
	})
}

// libraries unpack with the libraries alone, with their readers kept.
func libraries(tb testing.TB) map[codec.Compression]func(dst, src []byte) []byte {
	tb.Helper()
	gz, err := gzip.NewReader(bytes.NewReader(pack(tb, compressors[0], nil)))
	require.NoError(tb, err)
	lz := lz4.NewReader(nil)
	require.NoError(tb, lz.Apply(lz4.ConcurrencyOption(1)))
	zs, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true)) // else it is slower by a third
	require.NoError(tb, err)
	fill := func(dst []byte, r io.Reader) []byte {
		n, err := io.ReadFull(r, dst)
		require.NoError(tb, err)
		return dst[:n]
	}
	return map[codec.Compression]func(dst, src []byte) []byte{
		codec.GZIP: func(dst, src []byte) []byte {
			require.NoError(tb, gz.Reset(bytes.NewReader(src)))
			return fill(dst, gz)
		},
		codec.Snappy: func(dst, src []byte) []byte { // block by block
			all := dst[:0]
			for src = src[16:]; len(src) > 0; {
				n := 4 + int(src[2])<<8 + int(src[3])
				out, err := snappy.Decode(dst[len(all):], src[4:n])
				require.NoError(tb, err)
				all, src = dst[:len(all)+len(out)], src[n:]
			}
			return all
		},
		codec.LZ4: func(dst, src []byte) []byte {
			lz.Reset(bytes.NewReader(src))
			return fill(dst, lz)
		},
		codec.Zstd: func(dst, src []byte) []byte {
			out, err := zs.DecodeAll(src, dst[:0])
			require.NoError(tb, err)
			return out
		},
	}
}

// BenchmarkCompress packs a batch of about 96 KiB.
func BenchmarkCompress(b *testing.B) {
	plain := shapes()["words 98304"]
	room := make([]byte, 0, 2*len(plain))
	for _, c := range compressors {
		b.Run(c.Compression().String(), func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				_, err := c.Compress(room, plain)
				require.NoError(b, err)
			}
		})
	}
}
