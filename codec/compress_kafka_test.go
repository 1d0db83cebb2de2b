package codec_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// payload is what Kafka compressed, as testdata/payloads/README.md says.
type payload struct {
	name   string
	packed []byte
	sum    string // of the unpacked bytes
	size   int    // of the unpacked bytes
}

// legacyLZ4 reports whether the frame's header has the checksum of KAFKA-3160.
func (p payload) legacyLZ4() bool { return strings.Contains(p.name, "v0-lz4") }

// compressor is the one that unpacks p.
func (p payload) compressor() codec.Compressor {
	for _, c := range compressors {
		if strings.Contains(p.name, "-"+c.Compression().String()+"-") {
			return c
		}
	}
	panic("no compressor for " + p.name)
}

// payloads are all payloads.
func payloads(tb testing.TB) []payload {
	tb.Helper()
	dir := filepath.Join("testdata", "payloads")
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256"))
	require.NoError(tb, err)
	var all []payload
	for line := range strings.Lines(string(sums)) {
		var p payload
		_, err := fmt.Sscan(line, &p.sum, &p.size, &p.name)
		require.NoError(tb, err)
		p.packed, err = os.ReadFile(filepath.Join(dir, p.name))
		require.NoError(tb, err)
		all = append(all, p)
	}
	return all
}

func TestDecompressKafka(t *testing.T) {
	for _, p := range payloads(t) {
		t.Run(p.name, func(t *testing.T) {
			c := p.compressor()
			if p.legacyLZ4() {
				_, err := c.Decompress(nil, p.packed, p.size)
				require.ErrorIs(t, err, codec.ErrCorrupt, "the header checksum of magic 0")
				p.packed[6] = 0x82
			}
			got, err := c.Decompress(nil, p.packed, p.size)
			require.NoError(t, err)
			sum := sha256.Sum256(got)
			assert.Equal(t, p.sum, hex.EncodeToString(sum[:]))
			assert.Len(t, got, p.size)

			_, err = c.Decompress(nil, p.packed, p.size-1)
			assert.ErrorIs(t, err, codec.ErrTooLarge)

			packed, err := c.Compress(nil, got)
			require.NoError(t, err)
			again, err := c.Decompress(nil, packed, p.size)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(got, again), "packed anew")
		})
	}
}

// TestCompressFraming looks at the bytes that other readers will see.
func TestCompressFraming(t *testing.T) { // B8, B16, C-04
	plain := bytes.Repeat([]byte("what Kafka's readers see "), 12_000)
	packed := map[codec.Compression][]byte{}
	empty := map[codec.Compression][]byte{}
	for _, c := range compressors {
		var err error
		packed[c.Compression()], err = c.Compress(nil, plain)
		require.NoError(t, err)
		empty[c.Compression()], err = c.Compress(nil, nil)
		require.NoError(t, err)
	}

	b := packed[codec.GZIP]
	assert.Equal(t, "1f8b0800000000", hex.EncodeToString(b[:7]), "gzip: deflate, no flags, no time")
	assert.Equal(t, byte(0xFF), b[9], "gzip: no operating system")

	b = packed[codec.Snappy]
	assert.Equal(t, "82534e41505059000000000100000001", hex.EncodeToString(b[:16]), "snappy: xerial header")
	assert.Equal(t, "808002", hex.EncodeToString(b[20:23]), "snappy: the first block is of 32 KiB")
	assert.Len(t, empty[codec.Snappy], 16, "snappy: the header alone")

	b = packed[codec.LZ4]
	assert.Equal(t, "04224d18604082", hex.EncodeToString(b[:7]), "lz4: independent blocks of 64 KiB, no checksums")
	assert.Equal(t, "00000000", hex.EncodeToString(b[len(b)-4:]), "lz4: the end mark")
	assert.Equal(t, "04224d1860408200000000", hex.EncodeToString(empty[codec.LZ4]), "lz4: header and end mark")

	b = packed[codec.Zstd]
	assert.Equal(t, "28b52ffd00", hex.EncodeToString(b[:5]), "zstd: no content size, no checksum, a window")
	assert.Equal(t, "28b52ffd00", hex.EncodeToString(empty[codec.Zstd][:5]), "zstd: the same")
}

// TestCompressStored finds what does not get shorter in an lz4 frame as it is.
func TestCompressStored(t *testing.T) { // B16
	plain := shapes()["random 65537"]
	got, err := codec.NewLZ4(0).Compress(nil, plain)
	require.NoError(t, err)
	want := "04224d18604082" + "00000180" + hex.EncodeToString(plain[:64<<10]) +
		"01000080" + hex.EncodeToString(plain[64<<10:]) + "00000000"
	assert.Equal(t, want, hex.EncodeToString(got))
}

// TestDecompressVectors has the forms that readers take and refuse, made by hand or by the formats' tools.
func TestDecompressVectors(t *testing.T) { // B4, B5, B7, B9, B13, B14, C-04, C-05, C-11
	const (
		lz4Hello    = "04224d186040820500008068656c6c6f00000000"
		gzipHel     = "1f8b08000000000000ffcb48cd01001bf10be503000000"
		gzipLo      = "1f8b08000000000000ffcbc907009d4a9c5502000000"
		xerial      = "82534e41505059000000000100000001"
		snappyHello = "051068656c6c6f"
		snappyBlock = "00000007" + snappyHello
		zstdHello   = "28b52ffd006810000068" + "650000"
	)
	for _, row := range []struct {
		name, c, hex, want string
		err                error
	}{
		{"two members", "gzip", gzipHel + gzipLo, "hello", nil},
		{"wrong checksum", "gzip", gzipHel[:30] + "00" + gzipHel[32:], "", codec.ErrCorrupt},
		{"wrong size", "gzip", gzipHel[:38] + "04000000", "", codec.ErrCorrupt},
		{"junk behind", "gzip", gzipHel + "000000", "", codec.ErrCorrupt},
		{"half a member behind", "gzip", gzipHel + gzipLo[:30], "", codec.ErrCorrupt},

		{"xerial", "snappy", xerial + snappyBlock, "hello", nil},
		{"xerial, two blocks", "snappy", xerial + snappyBlock + snappyBlock, "hellohello", nil},
		{"xerial, no blocks", "snappy", xerial, "", nil},
		{"joined streams", "snappy", xerial + snappyBlock + xerial + snappyBlock, "hellohello", nil},
		{"raw", "snappy", snappyHello, "hello", nil},
		{"version 0", "snappy", "82534e41505059000000000000000001" + snappyBlock, "", codec.ErrCorrupt},
		{"version 2", "snappy", "82534e41505059000000000200000001" + snappyBlock, "hello", nil},
		{"negative size", "snappy", xerial + "ffffffff" + snappyHello, "", codec.ErrCorrupt},
		{"cut block", "snappy", xerial + "00000008" + snappyHello, "", codec.ErrCorrupt},
		{"empty block", "snappy", xerial + "00000000", "", codec.ErrCorrupt},
		{"junk behind", "snappy", xerial + snappyBlock + "0000", "", codec.ErrCorrupt},
		{"half a header behind", "snappy", xerial + snappyBlock + xerial[:20], "", codec.ErrCorrupt},
		{"other header behind", "snappy", xerial + "82534e4150505901" + "0000000100000001", "", codec.ErrCorrupt},

		{"stored block", "lz4", lz4Hello, "hello", nil},
		{"two frames", "lz4", lz4Hello + lz4Hello, "hellohello", nil},
		{"skippable frame between", "lz4", lz4Hello + "5f2a4d1803000000aabbcc" + lz4Hello, "hellohello", nil},
		{"cut skippable frame", "lz4", lz4Hello + "502a4d1804000000aabbcc", "", codec.ErrCorrupt},
		{"linked blocks", "lz4", "04224d184040c00500008068656c6c6f00000000", "", codec.ErrCorrupt},
		{"content checksum", "lz4", "04224d186440a70500008068656c6c6f00000000f97700fb", "hello", nil},
		{"wrong content checksum", "lz4", "04224d186440a70500008068656c6c6f00000000f97700fa", "", codec.ErrCorrupt},
		{"wrong content size", "lz4", "04224d1868400400000000000000cd0500008068656c6c6f00000000", "", codec.ErrCorrupt},
		{"legacy header checksum", "lz4", "04224d1860401a0500008068656c6c6f00000000", "", codec.ErrCorrupt},
		{"two bytes", "lz4", "0422", "", codec.ErrCorrupt},
		{"no magic", "lz4", "00224d186040820500008068656c6c6f00000000", "", codec.ErrCorrupt},
		{"no end mark", "lz4", "04224d186040820500008068656c6c6f", "", codec.ErrCorrupt},
		{"block over the maximum", "lz4", "04224d1860408201000181" + strings.Repeat("00", 65537) + "00000000", "", codec.ErrCorrupt},
		{"empty frame", "lz4", "04224d1860408200000000", "", nil},
		{"junk behind", "lz4", lz4Hello + "0000", "", codec.ErrCorrupt},

		{"two frames and a skippable one", "zstd", "28b52ffd000019000068656c502a4d1802000000090928b52ffd00001100006c6f", "hello", nil},
		{"streamed", "zstd", "28b52ffd006810000068651900006c6c6f", "hello", nil},
		{"cut", "zstd", zstdHello, "", codec.ErrCorrupt},
		{"empty frame", "zstd", "28b52ffd0000010000", "", nil},
		{"one byte behind", "zstd", "28b52ffd006810000068651900006c6c6f00", "", codec.ErrCorrupt},
		{"three bytes behind", "zstd", "28b52ffd006810000068651900006c6c6f010203", "", codec.ErrCorrupt},
		{"wrong content size", "zstd", "28b52ffd2004290000" + "68656c6c6f", "", codec.ErrCorrupt},
		{"content size", "zstd", "28b52ffd2005290000" + "68656c6c6f", "hello", nil},
		{"dictionary", "zstd", "28b52ffd210705290000" + "68656c6c6f", "", codec.ErrCorrupt},
		{"window past Kafka's", "zstd", "28b52ffd0090290000" + "68656c6c6f", "", codec.ErrTooLarge},
	} {
		t.Run(row.c+"/"+row.name, func(t *testing.T) {
			b, err := hex.DecodeString(row.hex)
			require.NoError(t, err)
			for _, c := range compressors {
				if c.Compression().String() != row.c {
					continue
				}
				got, err := c.Decompress(nil, b, math.MaxInt)
				assert.ErrorIs(t, err, row.err)
				assert.Equal(t, row.want, string(got))
			}
		})
	}
}

// TestDecompressLZ4Checksums changes each byte of a frame with all checksums: each change is found.
func TestDecompressLZ4Checksums(t *testing.T) { // B6
	c := codec.NewLZ4(0)
	frame, plain := lz4WithChecksums(t)
	got, err := c.Decompress(nil, frame, len(plain))
	require.NoError(t, err)
	require.True(t, bytes.Equal(got, plain))
	for i := range frame {
		bad := bytes.Clone(frame)
		bad[i] ^= 0x10
		_, err := c.Decompress(nil, bad, math.MaxInt)
		require.ErrorIs(t, err, codec.ErrCorrupt, "byte %d", i)
	}
}
