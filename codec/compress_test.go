package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// compressors are the four at their default level.
var compressors = newCompressors()

func newCompressors() []codec.Compressor {
	return []codec.Compressor{codec.NewGzip(0), codec.NewSnappy(), codec.NewLZ4(0), codec.NewZstd(0)}
}

func TestCompressionString(t *testing.T) {
	for c, want := range map[codec.Compression]string{
		codec.None: "none", codec.GZIP: "gzip", codec.Snappy: "snappy", codec.LZ4: "lz4", codec.Zstd: "zstd",
		5: "compression(5)", 7: "compression(7)",
	} {
		assert.Equal(t, want, c.String())
	}
}

// shapes are contents around the block sizes of the formats.
func shapes() map[string][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 300_000)
	words := make([]byte, 0, 300_000)
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	for len(words) < 300_000 {
		words = fmt.Appendf(words, "%04x ", rng.IntN(1000))
	}
	all := map[string][]byte{"empty": {}}
	for _, size := range []int{1, 2, 100, 1000, 32<<10 - 1, 32 << 10, 32<<10 + 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 98304, 128<<10 + 1, 3 * 64 << 10, 300_000} {
		all[fmt.Sprint("zeros ", size)] = make([]byte, size)
		all[fmt.Sprint("ones ", size)] = bytes.Repeat([]byte{0xFF}, size)
		all[fmt.Sprint("random ", size)] = random[:size]
		all[fmt.Sprint("words ", size)] = words[:size]
	}
	all["large words"] = bytes.Repeat(words, 7)
	all["large mixed"] = bytes.Repeat(append(words[:70_000:70_000], random[:70_000]...), 15)
	return all
}

func TestCompressorRoundTrip(t *testing.T) { // B1, C-02, C-13
	prefix := []byte("what was there")
	for _, c := range compressors {
		for name, plain := range shapes() {
			t.Run(c.Compression().String()+"/"+name, func(t *testing.T) {
				packed, err := c.Compress(bytes.Clone(prefix), plain)
				require.NoError(t, err)
				require.True(t, bytes.HasPrefix(packed, prefix), "dst is kept")
				packed = packed[len(prefix):]
				for _, row := range []struct {
					dst   []byte
					limit int
				}{
					{nil, len(plain)},
					{nil, math.MaxInt},
					{bytes.Clone(prefix), len(plain) + 1},
					{make([]byte, 3, 64<<10), len(plain)},
					{make([]byte, 0, len(plain)+64), math.MaxInt},
				} {
					got, err := c.Decompress(row.dst, packed, row.limit)
					require.NoError(t, err)
					require.True(t, bytes.Equal(got[:len(row.dst)], row.dst), "dst is kept")
					require.True(t, bytes.Equal(got[len(row.dst):], plain), "unpacked is what was packed")
				}
				if len(plain) > 0 {
					got, err := c.Decompress(prefix, packed, len(plain)-1)
					require.ErrorIs(t, err, codec.ErrTooLarge)
					require.Equal(t, prefix, got, "dst is returned as it was")
				}
			})
		}
	}
}

// levels are constructors with levels, the lowest, the default, the highest, and one past either end.
var levels = map[string]struct {
	make   func(level int) codec.Compressor
	levels []int
}{
	"gzip": {codec.NewGzip, []int{math.MinInt, -1, 0, 1, 6, 9, math.MaxInt}},
	"lz4":  {codec.NewLZ4, []int{math.MinInt, 0, 1, 5, 9, 12, 17, math.MaxInt}},
	"zstd": {codec.NewZstd, []int{math.MinInt, -131072, -1, 0, 1, 3, 7, 22, math.MaxInt}},
}

func TestCompressorLevels(t *testing.T) { // B1, B2, C-14
	for name, row := range levels {
		all := shapes()
		for _, shape := range []string{"empty", "zeros 1", "zeros 98304", "random 65537", "words 1000", "words 98304"} {
			plain, sizes := all[shape], map[int]int{}
			for _, level := range row.levels {
				c := row.make(level)
				packed, err := c.Compress(nil, plain)
				require.NoError(t, err)
				got, err := c.Decompress(nil, packed, len(plain))
				require.NoError(t, err, "%s level %d, %s", name, level, shape)
				require.True(t, bytes.Equal(got, plain), "%s level %d, %s", name, level, shape)
				sizes[level] = len(packed)
			}
			best := row.levels[len(row.levels)-2]
			require.Equal(t, sizes[best], sizes[math.MaxInt], "too high is the highest")
			if strings.HasPrefix(shape, "words") && len(plain) > 1000 {
				require.Less(t, sizes[best], sizes[1], "%s of %s: the best level packs tighter than the fastest", name, shape)
			}
		}
	}
}

// TestCompressorSlices decodes in the middle of other bytes (KAFKA-9203).
func TestCompressorSlices(t *testing.T) { // B9, C-03
	plain := bytes.Repeat([]byte("sliced "), 20_000)
	for _, c := range compressors {
		packed, err := c.Compress(nil, plain)
		require.NoError(t, err)
		for _, at := range []int{0, 1, 7, 4095} {
			around := bytes.Repeat([]byte{0xA5}, at+len(packed)+100)
			copy(around[at:], packed)
			before := bytes.Clone(around)
			got, err := c.Decompress(nil, around[at:at+len(packed)], len(plain))
			require.NoError(t, err)
			require.True(t, bytes.Equal(got, plain))
			require.True(t, bytes.Equal(around, before), "the input is not written to")
		}
	}
}

// TestCompressorShared runs one compressor on many goroutines, good and bad input in turn, and looks at
// everything that was returned once more in the end.
func TestCompressorShared(t *testing.T) { // C-06, C-12
	for _, c := range compressors {
		t.Run(c.Compression().String(), func(t *testing.T) {
			t.Parallel()
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(7, uint64(g)))
					var kept, wants [][]byte
					for range 40 {
						plain := bytes.Repeat(fmt.Appendf(nil, "%d-%d ", g, rng.Uint32()), rng.IntN(3000))
						packed, err := c.Compress(nil, plain)
						if !assert.NoError(t, err) {
							return
						}
						_, err = c.Decompress(nil, packed[:len(packed)/2], math.MaxInt)
						if len(plain) > 100 {
							assert.ErrorIs(t, err, codec.ErrCorrupt)
						}
						got, err := c.Decompress(nil, packed, len(plain))
						assert.NoError(t, err)
						kept, wants = append(kept, got), append(wants, plain)
					}
					for i := range kept {
						assert.True(t, bytes.Equal(kept[i], wants[i]), "result %d is still what it was", i)
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestDecompressDamaged(t *testing.T) {
	plain := bytes.Repeat([]byte("damaged goods "), 2000)
	for _, c := range compressors {
		packed, err := c.Compress(nil, plain)
		require.NoError(t, err)
		for name, bad := range map[string][]byte{
			"nothing":  {},
			"a byte":   {7},
			"zeros":    make([]byte, 100),
			"garbage":  bytes.Repeat([]byte{0xA7}, 100),
			"one more": append(bytes.Clone(packed), 1),
			"two more": append(bytes.Clone(packed), 1, 2),
			"more":     append(bytes.Clone(packed), "junk"...),
			"long":     append(bytes.Clone(packed), bytes.Repeat([]byte{9}, 50)...),
		} {
			dst := []byte("dst")
			got, err := c.Decompress(dst, bad, len(plain))
			assert.ErrorIs(t, err, codec.ErrCorrupt, "%v of %s", c.Compression(), name)
			assert.Equal(t, dst, got, "dst is returned as it was")
		}
		for n := range len(packed) {
			got, err := c.Decompress(nil, packed[:n], len(plain))
			if c.Compression() == codec.Snappy && err == nil {
				// Between blocks: the framing has no end mark.
				assert.True(t, bytes.HasPrefix(plain, got), "snappy cut at %d", n)
				continue
			}
			assert.ErrorIs(t, err, codec.ErrCorrupt, "%v cut at %d", c.Compression(), n)
		}
	}
}

// TestDecompressFlips flips every bit: what comes is an error of a known class, or no more than the limit.
func TestDecompressFlips(t *testing.T) {
	plain := []byte(strings.Repeat("flip me, flip you ", 60) + strings.Repeat("z", 500))
	for _, c := range compressors {
		packed, err := c.Compress(nil, plain)
		require.NoError(t, err)
		for i := range 8 * len(packed) {
			bad := bytes.Clone(packed)
			bad[i/8] ^= 1 << (i % 8)
			got, err := c.Decompress(nil, bad, 2*len(plain))
			if err != nil {
				known := errors.Is(err, codec.ErrCorrupt) || errors.Is(err, codec.ErrTooLarge)
				require.True(t, known, "%v with bit %d flipped: %v", c.Compression(), i, err)
				continue
			}
			assert.LessOrEqual(t, len(got), 2*len(plain))
		}
	}
}
