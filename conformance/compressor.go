package conformance

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stratalog/strata/codec"
)

// TestCompressor checks a Compressor, with bombs among its inputs. Where its number is one of Kafka's, it has
// to unpack what Kafka packed.
func TestCompressor(t *testing.T, c codec.Compressor, skip Skip) {
	t.Helper()
	given(t, c != nil, "the Compressor")
	runRows(t, compressorRows, func(testing.TB) codec.Compressor { return c }, skip)
}

// plains are what the rows pack.
func plains() map[string][]byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 150_000)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	return map[string][]byte{
		"nothing": nil,
		"a byte":  {'x'},
		"text":    bytes.Repeat([]byte("there "), 50),
		"zeros":   make([]byte, 200_000),
		"noise":   noise,
	}
}

// pack is Compress, which must do.
func pack(c *check, z codec.Compressor, src []byte) []byte {
	b, err := z.Compress(nil, src)
	c.ok(err, "Compress")
	return b
}

// compressorRows are the rows of TestCompressor.
var compressorRows = []row[codec.Compressor]{
	{
		name: "the number stays",
		rule: "Compression is the number under which batches name it.",
		run: func(c *check, z codec.Compressor) {
			first := z.Compression()
			if first == codec.None || codec.Attributes(first)&^codec.CompressionMask != 0 {
				c.errorf("Compression() = %d, which no batch can name", first)
			}
			pack(c, z, []byte("text"))
			equal(c, z.Compression(), first, "Compression() afterwards")
		},
	},
	{
		name: "what Kafka packed is unpacked",
		rule: "Compression is the number under which batches name it.",
		run: func(c *check, z codec.Compressor) {
			src := kafkaPayload(c, z.Compression())
			if src == nil {
				c.skip("the number is not one of Kafka's")
			}
			got, err := z.Decompress(nil, src, 1000)
			c.ok(err, "Decompress of what Kafka packed")
			equal(c, string(got), string(kafkaPayload(c, codec.None)), "what Kafka packed")
		},
	},
	{
		name: "packed and unpacked is the same",
		rule: "Decompress appends src, unpacked, to dst and returns the longer slice.",
		run: func(c *check, z codec.Compressor) {
			for name, plain := range plains() {
				got, err := z.Decompress([]byte("before"), pack(c, z, plain), len(plain))
				c.ok(err, "Decompress of "+name)
				equal(c, string(got), "before"+string(plain), name)
			}
		},
	},
	{
		name: "packing appends",
		rule: "Compress appends src, packed, to dst and returns the longer slice.",
		run: func(c *check, z codec.Compressor) {
			for name, plain := range plains() {
				for _, room := range []int{0, 10, 1000, 1 << 20} {
					dst := append(make([]byte, 0, room+6), "before"...)
					got, err := z.Compress(dst, plain)
					c.ok(err, "Compress of "+name)
					if !bytes.HasPrefix(got, dst) {
						c.fatalf("Compress of %s gave %s, want %q first", name, short(string(got)), dst)
					}
					back, err := z.Decompress(nil, got[len(dst):], len(plain))
					c.ok(err, "Decompress of "+name)
					equal(c, string(back), string(plain), name)
				}
			}
		},
	},
	{
		name: "nothing can be packed",
		rule: "An empty src is packed to something that Decompress takes.",
		run: func(c *check, z codec.Compressor) {
			for _, empty := range [][]byte{nil, {}} {
				for _, limit := range []int{0, 1, math.MaxInt} {
					got, err := z.Decompress([]byte("before"), pack(c, z, empty), limit)
					c.ok(err, "Decompress of packed nothing")
					equal(c, string(got), "before", "packed nothing, unpacked behind")
				}
			}
		},
	},
	{
		name: "calls do not disturb each other",
		rule: "Its methods may be called concurrently",
		run: func(c *check, z codec.Compressor) {
			c.together(8, func(who int) {
				plain := bytes.Repeat([]byte{byte('a' + who), byte('A' + who), 'x'}, 2000+who)
				for range 30 {
					b := pack(c, z, plain)
					runtime.Gosched()
					got, err := z.Decompress(nil, b, len(plain))
					c.ok(err, "Decompress")
					equal(c, string(got), string(plain), "beside others, what was packed and unpacked")
				}
			})
		},
	},
	{
		name: "arguments are not kept",
		rule: "keep none of their arguments",
		run: func(c *check, z codec.Compressor) {
			plain := bytes.Repeat([]byte("one "), 100)
			want := string(plain)
			b := pack(c, z, plain)
			equal(c, string(plain), want, "src of Compress, afterwards")
			clear(plain)
			kept := string(b)
			one, err := z.Decompress(nil, b, 400)
			c.ok(err, "Decompress")
			equal(c, string(b), kept, "src of Decompress, afterwards")
			clear(b)
			other := pack(c, z, bytes.Repeat([]byte("two "), 100))
			two, err := z.Decompress(nil, other, 400)
			c.ok(err, "Decompress")
			equal(c, string(one), want, "what was unpacked first")
			clear(one)
			equal(c, string(two), string(bytes.Repeat([]byte("two "), 100)), "what was unpacked then")
		},
	},
	{
		name: "the limit is kept",
		rule: "What would be more than limit bytes is ErrTooLarge, rather than a byte past limit.",
		run: func(c *check, z codec.Compressor) {
			for name, plain := range plains() {
				b := pack(c, z, plain)
				for _, less := range []int{1, 2, 100, len(plain) / 2, len(plain)} {
					if less <= len(plain) && less > 0 {
						_, err := z.Decompress(nil, b, len(plain)-less)
						c.is(err, codec.ErrTooLarge, "Decompress of "+name+" with too low a limit")
					}
				}
				for _, more := range []int{0, 1, 1000} {
					_, err := z.Decompress(nil, b, len(plain)+more)
					c.ok(err, "Decompress of "+name+" with a limit that it keeps")
				}
			}
		},
	},
	{
		name: "claims are not believed",
		rule: "What src claims about its size is not believed: memory grows with what was unpacked.",
		run: func(c *check, z codec.Compressor) {
			for _, src := range append(claims(c, z), kafkaClaims[z.Compression()]...) {
				spent := leastAllocated(claimBytes, func() {
					_, err := z.Decompress(nil, src, math.MaxInt)
					damaged(c, err, "Decompress of a claim")
				})
				if spent > claimBytes {
					c.fatalf("Decompress of %d bytes, %s, allocated %d", len(src), short(string(src)), spent)
				}
			}
		},
	},
	{
		name: "a bomb does not go off",
		rule: "What would be more than limit bytes is ErrTooLarge, rather than a byte past limit.",
		run: func(c *check, z codec.Compressor) {
			bomb := pack(c, z, make([]byte, 8<<20))
			for _, limit := range []int{-1, 0, 1, 1000, 1 << 20, 8<<20 - 1} {
				got, err := z.Decompress([]byte("before"), bomb, limit)
				c.is(err, codec.ErrTooLarge, "Decompress of a bomb")
				if len(got) > len("before")+max(limit, 0) {
					c.errorf("a bomb under a limit of %d gave %d bytes", limit, len(got))
				}
			}
		},
	},
	{
		name: "damage is found",
		rule: "Damaged input is ErrCorrupt.",
		run: func(c *check, z codec.Compressor) {
			for _, junk := range [][]byte{nil, bytes.Repeat([]byte{0xff}, 100), make([]byte, 100)} {
				_, err := z.Decompress(nil, junk, 1<<20)
				c.is(err, codec.ErrCorrupt, "Decompress of what is not packed")
			}
			plain := bytes.Repeat([]byte("there "), 50)
			good := pack(c, z, plain)
			for n := range good {
				got, err := z.Decompress(nil, good[:n], 1<<20)
				damaged(c, err, "Decompress of less than was packed")
				if err == nil && string(got) == string(plain) && n < len(good)/2 {
					c.errorf("%d of %d bytes unpack to all that was packed", n, len(good))
				}
			}
			for i := range good {
				for bit := range 8 {
					bad := bytes.Clone(good)
					bad[i] ^= 1 << bit
					_, err := z.Decompress(nil, bad, 1<<20)
					damaged(c, err, "Decompress of what has a bit flipped")
				}
			}
		},
	},
	{
		name: "an error leaves dst alone",
		rule: "With an error, dst is returned as it was.",
		run: func(c *check, z codec.Compressor) {
			text := pack(c, z, bytes.Repeat([]byte("there "), 50))
			for _, src := range [][]byte{nil, text[:len(text)/2], bytes.Repeat([]byte{0xff}, 100), text} {
				dst := append(make([]byte, 0, 1000), "before"...)
				got, err := z.Decompress(dst, src, 10)
				if err == nil {
					c.errorf("Decompress of %s under a limit of 10 = nil, want an error", short(string(src)))
				}
				equal(c, string(got), "before", "dst with an error")
			}
		},
	},
}

// claimBytes is what unpacking a few hundred bytes may allocate. It is much, since other rows allocate
// meanwhile; who believes a claim, allocates more.
const claimBytes = 512 << 20

// kafkaClaims are inputs that claim to be large and are not, by the format of the number.
var kafkaClaims = map[codec.Compression][][]byte{
	codec.GZIP:   {[]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x03\x00\x00\x00\x00\x00\xff\xff\xff\xff")},
	codec.Snappy: {[]byte("\xff\xff\xff\xff\x0f\x00x"), []byte("\xff\xff\xff\xff\x07\x00x")},
	codec.LZ4:    {[]byte("\x04\x22\x4d\x18\x68\x70\xff\xff\xff\xff\xff\xff\xff\x7f\x00"), []byte("\x04\x22\x4d\x18\x60\x70\x73\xff\xff\xff\x7f")},
	codec.Zstd:   {[]byte("\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\x7f\x01\x00\x00"), []byte("\x28\xb5\x2f\xfd\xa0\xff\xff\xff\x7f\x01\x00\x00")},
}

// claims are a packed text with each run of bytes at its beginning and its end set to a large number.
func claims(c *check, z codec.Compressor) (all [][]byte) {
	good := pack(c, z, bytes.Repeat([]byte("there "), 20))
	for i := range good {
		for _, n := range []int{1, 4, 8} {
			if i+n > len(good) || i >= 24 && i+n < len(good) {
				continue
			}
			for _, b := range []byte{0xff, 0x7f} {
				bad := bytes.Clone(good)
				copy(bad[i:], bytes.Repeat([]byte{b}, n))
				all = append(all, bad)
			}
		}
	}
	return all
}

// leastAllocated is how much is allocated while f runs, or, where that is more than limit, the least of some runs: what
// others allocate meanwhile differs.
func leastAllocated(limit uint64, f func()) uint64 {
	least := uint64(math.MaxUint64)
	for try := 0; try < 5 && least > limit; try++ {
		before := allocated()
		f()
		least = min(least, allocated()-before)
	}
	return least
}

// allocated is the number of bytes allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// damaged notes a failure where err is no error of what may be damaged, and not nil either: not every damage
// can be seen.
func damaged(c *check, err error, what string) {
	if err != nil && !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, codec.ErrTooLarge) {
		c.errorf("%s = %v, want codec.ErrCorrupt", what, err)
	}
}
