package codec_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stratalog/strata/codec"
)

// fuzzLimit is the output limit under the fuzzer.
const fuzzLimit = 256 << 10

func FuzzDecompressGzip(f *testing.F)   { fuzzDecompress(f, codec.NewGzip(0)) }
func FuzzDecompressSnappy(f *testing.F) { fuzzDecompress(f, codec.NewSnappy()) }
func FuzzDecompressLZ4(f *testing.F)    { fuzzDecompress(f, codec.NewLZ4(0)) }
func FuzzDecompressZstd(f *testing.F)   { fuzzDecompress(f, codec.NewZstd(0)) }

// fuzzDecompress unpacks anything: it ends with no more than the limit behind dst, or with dst as it was and
// an error of a known class; and however much room there was, it is the same.
func fuzzDecompress(f *testing.F, c codec.Compressor) {
	f.Helper()
	for _, p := range payloads(f) {
		if p.compressor().Compression() == c.Compression() && len(p.packed) < 3000 {
			f.Add(p.packed)
		}
	}
	for _, plain := range [][]byte{nil, []byte("a"), bytes.Repeat([]byte("seed "), 100), make([]byte, 70_000)} {
		f.Add(pack(f, c, plain))
		f.Add(append(pack(f, c, plain), pack(f, c, []byte("joined"))...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		dst := []byte("dst")
		got, err := c.Decompress(dst, b, fuzzLimit)
		room, errRoom := c.Decompress(make([]byte, 0, fuzzLimit+100), b, fuzzLimit)
		if err != nil {
			if !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, codec.ErrTooLarge) {
				t.Fatalf("error of no class: %v", err)
			}
			if !bytes.Equal(got, dst) || errRoom == nil {
				t.Fatalf("dst = %q after %v, and %v with room", got, err, errRoom)
			}
			return
		}
		if errRoom != nil || !bytes.Equal(got[len(dst):], room) {
			t.Fatalf("%d bytes, with room %d and %v", len(got)-len(dst), len(room), errRoom)
		}
		if len(room) > fuzzLimit {
			t.Fatalf("%d bytes, limit %d", len(room), fuzzLimit)
		}
		again, err := c.Decompress(nil, pack(t, c, room), len(room))
		if err != nil || !bytes.Equal(again, room) {
			t.Fatalf("packed anew: %d bytes and %v, want %d", len(again), err, len(room))
		}
	})
}
