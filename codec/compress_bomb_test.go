package codec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// bombMemory is what unpacking may allocate beside the limit.
const bombMemory = 8 << 20

// bomb is a payload that unpacks, or says that it does, to far more than it is.
type bomb struct {
	name   string
	c      codec.Compressor
	packed []byte
}

// TestDecompressBombs unpacks each bomb under several limits. What is counted is all that is allocated on the
// way, which is at least what is alive at any time.
func TestDecompressBombs(t *testing.T) {
	if raceEnabled {
		t.Skip("with the race detector pools lose buffers on purpose, which are then allocated again")
	}
	limits := []int{0, 1, 4000, 1 << 20, 5 << 20, 16 << 20}
	if testing.Short() {
		limits = []int{1, 1 << 20, 16 << 20}
	}
	count, failures := 0, 0
	for _, b := range bombs(t) {
		for _, limit := range limits {
			count++
			if !defuse(t, b, limit, uint64(limit)+bombMemory) {
				failures++
			}
		}
	}
	for _, b := range claims() {
		count++
		if !defuse(t, b, math.MaxInt, bombMemory) {
			failures++
		}
	}
	fmt.Printf("RESULT bombs=%d failures=%d\n", count, failures)
}

// defuse unpacks a bomb and reports whether that is refused and allocates no more than memory.
func defuse(t *testing.T, b bomb, limit int, memory uint64) bool {
	t.Helper()
	dst := []byte("dst")
	before := totalAlloc()
	got, err := b.c.Decompress(dst, b.packed, limit)
	spent := totalAlloc() - before
	name := fmt.Sprintf("%v: %s under %d", b.c.Compression(), b.name, limit)
	switch {
	case !errors.Is(err, codec.ErrTooLarge) && !errors.Is(err, codec.ErrCorrupt):
		t.Errorf("%s: error %v, want too large or corrupt", name, err)
	case !bytes.Equal(got, dst):
		t.Errorf("%s: dst has %d bytes afterwards, want it as it was", name, len(got))
	case spent > memory:
		t.Errorf("%s: %d bytes allocated, want at most %d", name, spent, memory)
	default:
		return true
	}
	return false
}

// totalAlloc is the number of bytes allocated so far.
func totalAlloc() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// bombs are all bombs.
func bombs(tb testing.TB) []bomb {
	tb.Helper()
	const large = 20 << 20
	zeros := make([]byte, large)
	words := bytes.Repeat([]byte("all work and no play makes Jack a dull boy. "), large/44)
	mixed := bytes.Repeat(append(bytes.Clone(words[:200_000]), zeros[:200_000]...), large/400_000+1)
	var all []bomb
	for _, c := range compressors {
		for name, plain := range map[string][]byte{"zeros": zeros, "words": words, "mixed": mixed} {
			packed, err := c.Compress(nil, plain)
			require.NoError(tb, err)
			all = append(all, bomb{name, c, packed})
		}
		part, err := c.Compress(nil, zeros[:30_000])
		require.NoError(tb, err)
		all = append(all, bomb{"joined", c, bytes.Repeat(part, large/30_000+1)})
	}
	cut := zstdFrame(0, binary.LittleEndian.AppendUint64(nil, 50<<20), 0)
	for range 500 { // packed blocks of 5 bytes, which cannot be unpacked, of 128 KiB each at most
		cut = append(cut, 5<<3|2<<1, 0, 0, 1, 2, 3, 4, 5)
	}
	gz, snappy, lz, zs := compressors[0], compressors[1], compressors[2], compressors[3]
	return append(all,
		bomb{"joined small members", gz, bytes.Repeat(pack(tb, gz, zeros[:100]), large/100+1)},
		bomb{"seven bytes", snappy, []byte{0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x00, 0x00}},
		bomb{"a block that claims all", snappy, xerialStream(snappyClaim(large, 1<<20))},
		bomb{"blocks that claim", snappy, xerialStream(bytes.Repeat(snappyClaim(1<<20, 50_000), 40))},
		bomb{"blocks of 4 MiB", lz, lz4Large(tb, zeros)},
		bomb{"blocks that say little", lz, append([]byte("\x04\x22\x4D\x18\x60\x70\x73"), bytes.Repeat([]byte{2, 0, 0, 0, 0x00, 0x00}, 1000)...)},
		bomb{"repeated bytes", zs, zstdFrame(0x88, nil, 2048)},
		bomb{"a window of 128 MiB", zs, zstdFrame(17<<3, nil, 2048)},
		bomb{"a content size", zs, zstdFrame(0, binary.LittleEndian.AppendUint64(nil, 1<<60), 1)},
		bomb{"a content size that blocks could have", zs, append(cut, 1, 0, 0)},
		bomb{"a content size that is true", zs, zstdFrame(0, binary.LittleEndian.AppendUint64(nil, 2048*128<<10), 2048)},
		bomb{"words in a window of 128 MiB", zs, zstdWindow(tb, pack(tb, zs, mixed), 17<<3)},
		bomb{"words, then repeated bytes", zs, zstdJoin(pack(tb, zs, words[:10<<20]), zstdFrame(0x88, nil, 120))},
		bomb{"the same behind 3 MiB to be skipped", zs, append(append([]byte("\x50\x2A\x4D\x18\x00\x00\x30\x00"), zeros[:3<<20]...),
			zstdJoin(pack(tb, zs, words[:10<<20]), zstdFrame(0x88, nil, 120))...)},
		bomb{"blocks of nothing", zs, append([]byte("\x28\xB5\x2F\xFD\x00\x88"), bytes.Repeat([]byte{2<<3 | 2<<1, 0, 0, 0, 0}, 5000)...)},
	)
}

// claims are payloads that say of themselves that they are large, and are not.
func claims() []bomb {
	_, snappy, lz, zs := compressors[0], compressors[1], compressors[2], compressors[3]
	return []bomb{
		{"seven bytes", snappy, []byte{0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x00, 0x00}},
		{"1 GiB in a block", snappy, xerialStream(snappyClaim(1<<30, 100))},
		{"1 GiB in blocks", snappy, xerialStream(bytes.Repeat(snappyClaim(1<<20, 20), 1024))},
		{"1 GiB of content", lz, []byte("\x04\x22\x4D\x18\x68\x40\x00\x00\x00\x40\x00\x00\x00\x00\xA0\x00\x00\x00\x00")},
		{"2^60 of content", zs, zstdFrame(0, binary.LittleEndian.AppendUint64(nil, 1<<60), 1)},
		{"1 GiB of content", zs, zstdFrame(0, binary.LittleEndian.AppendUint64(nil, 1<<30), 3)},
		{"a window of 128 MiB", zs, append([]byte("\x28\xB5\x2F\xFD\x00\x88"), 5<<3|2<<1|1, 0, 0, 1, 2, 3, 4, 5)},
	}
}

// pack is what c makes of plain.
func pack(tb testing.TB, c codec.Compressor, plain []byte) []byte {
	tb.Helper()
	packed, err := c.Compress(nil, plain)
	require.NoError(tb, err)
	return packed
}

// xerialStream is a stream of blocks.
func xerialStream(blocks []byte) []byte {
	return append([]byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"), blocks...)
}

// snappyClaim is a block of size bytes that claims to be claim ones.
func snappyClaim(claim, size int) []byte {
	block := binary.AppendUvarint(nil, uint64(claim))
	block = append(block, make([]byte, size)...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(block))), block...)
}

// lz4Large is a frame with the largest blocks.
func lz4Large(tb testing.TB, plain []byte) []byte {
	tb.Helper()
	return lz4Frame(tb, plain, lz4.BlockSizeOption(lz4.Block4Mb), lz4.ChecksumOption(false))
}

// lz4WithChecksums is a frame with all that Kafka does not write, and what it unpacks to.
func lz4WithChecksums(tb testing.TB) (frame, plain []byte) {
	tb.Helper()
	plain = append(bytes.Repeat([]byte("checked "), 10_000), shapes()["random 100"]...)
	return lz4Frame(tb, plain, lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(true),
		lz4.BlockChecksumOption(true), lz4.SizeOption(uint64(len(plain)))), plain
}

// lz4Frame is what the library makes of plain.
func lz4Frame(tb testing.TB, plain []byte, options ...lz4.Option) []byte {
	tb.Helper()
	var frame bytes.Buffer
	w := lz4.NewWriter(&frame)
	require.NoError(tb, w.Apply(append(options, lz4.ConcurrencyOption(1))...))
	_, err := w.Write(plain)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return frame.Bytes()
}

// zstdFrame is a frame of blocks of 128 KiB that repeat a byte, with a window or else a content size.
func zstdFrame(window byte, size []byte, blocks int) []byte {
	frame := []byte("\x28\xB5\x2F\xFD\x00")
	if size == nil {
		frame = append(frame, window)
	} else {
		frame[4] = 3<<6 | 1<<5
		frame = append(frame, size...)
	}
	for i := range blocks {
		header := 128<<10<<3 | 1<<1
		if i == blocks-1 {
			header |= 1
		}
		frame = append(frame, byte(header), byte(header>>8), byte(header>>16), 'z')
	}
	return frame
}

// zstdJoin makes one frame of the blocks of two, both with a window and nothing else in their headers.
func zstdJoin(a, b []byte) []byte {
	for at := 6; ; {
		header := int(a[at]) | int(a[at+1])<<8 | int(a[at+2])<<16
		if header&1 != 0 {
			a[at] &^= 1
			return append(a, b[6:]...)
		}
		size := header >> 3
		if header>>1&3 == 1 { // a repeated byte
			size = 1
		}
		at += 3 + size
	}
}

// zstdWindow gives a frame another window.
func zstdWindow(tb testing.TB, frame []byte, window byte) []byte {
	tb.Helper()
	require.Zero(tb, frame[4], "a window and nothing else in the header")
	frame[5] = window
	return frame
}
