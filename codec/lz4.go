package codec

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/pierrec/lz4/v4"
)

// lz4Compressor is LZ4: frames of independent blocks. The frames are handled here and the blocks by the
// library, because Kafka has rules for frames that the library's reader has not, and because its reader
// allocates what a frame says instead of what there is.
type lz4Compressor struct {
	depth  int       // of the search for matches; 0 means the fast algorithm
	fast   sync.Pool // of *lz4.Compressor
	high   sync.Pool // of *lz4.CompressorHC
	blocks sync.Pool // of *[]byte, where a block is unpacked to that may be over the limit
}

var _ Compressor = (*lz4Compressor)(nil)

// lz4DefaultLevel is Kafka's default, and the one level that lz4-java packs with the fast algorithm.
const lz4DefaultLevel = 9

// NewLZ4 packs as frames with level 1 to 17, where 0 means 9. A level outside is taken as the nearest one
// inside. As with Kafka's library, 9 is the fast algorithm, and the others search for 2^(level−1) steps.
//
// The wrong header checksum in wrappers of magic 0 is the business of Kafka's Codec, not of the Compressor.
func NewLZ4(level int) Compressor {
	if level == 0 || level == lz4DefaultLevel {
		return &lz4Compressor{}
	}
	return &lz4Compressor{depth: 1 << (min(max(level, 1), 17) - 1)}
}

// Compression implements Compressor.
func (*lz4Compressor) Compression() Compression { return LZ4 }

// Compress implements Compressor: blocks of 64 KiB without checksums, as Kafka's writer.
func (c *lz4Compressor) Compress(dst, src []byte) ([]byte, error) {
	out := append(dst, lz4KafkaHeader...)
	for block := range slices.Chunk(src, lz4KafkaBlockBytes) {
		out = slices.Grow(out, lz4SizeBytes+len(block))
		start := len(out) + lz4SizeBytes
		room := out[start : start+len(block)]
		size, flag := c.pack(room, block), uint32(0)
		if size == 0 {
			size, flag = copy(room, block), lz4StoredBit
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(size)|flag)
		out = out[:start+size]
	}
	return append(out, 0, 0, 0, 0), nil // the end mark
}

// pack packs one block into dst, which is as long as it, and returns 0 where that does not make it shorter.
func (c *lz4Compressor) pack(dst, block []byte) int {
	var n int
	var err error // that dst is too short
	if c.depth == 0 {
		fast, ok := c.fast.Get().(*lz4.Compressor)
		if !ok {
			fast = new(lz4.Compressor)
		}
		defer c.fast.Put(fast)
		n, err = fast.CompressBlock(block, dst)
	} else {
		high, ok := c.high.Get().(*lz4.CompressorHC)
		if !ok {
			high = &lz4.CompressorHC{Level: lz4.CompressionLevel(c.depth)}
		}
		defer c.high.Put(high)
		n, err = high.CompressBlock(block, dst)
	}
	if err != nil || n >= len(block) {
		return 0
	}
	return n
}

// Decompress implements Compressor. Frames may be joined, and have skippable frames between them.
func (c *lz4Compressor) Decompress(dst, src []byte, limit int) ([]byte, error) {
	if len(src) == 0 {
		return dst, fmt.Errorf("lz4: empty: %w", ErrCorrupt)
	}
	out := newOutput(dst, limit)
	for rest := src; len(rest) > 0; {
		if n, ok := lz4Skippable(rest); ok {
			rest = rest[n:]
			continue
		}
		frame, err := parseLZ4(rest)
		if err != nil {
			return dst, err
		}
		if rest, err = c.unpack(&out, frame, rest[frame.headerBytes:]); err != nil {
			return dst, err
		}
	}
	return out.bytes(), nil
}

// unpack unpacks the blocks of one frame, and returns what is behind the frame.
func (c *lz4Compressor) unpack(out *output, frame lz4Frame, blocks []byte) (rest []byte, err error) {
	start := out.size
	var content xxh32
	for {
		block, stored, rest, err := frame.block(blocks)
		if err != nil {
			return nil, err
		}
		if block == nil {
			return frame.end(rest, out.size-start, content.sum())
		}
		blocks = rest
		plain, err := c.unpackBlock(out, frame, block, stored)
		if err != nil {
			return nil, err
		}
		if frame.contentChecksum {
			content.write(plain)
		}
	}
}

// unpackBlock unpacks one block to out and returns what it was unpacked to.
func (c *lz4Compressor) unpackBlock(out *output, frame lz4Frame, block []byte, stored bool) ([]byte, error) {
	if stored {
		if len(block) > out.left() {
			return nil, lz4TooLarge(out.limit)
		}
		plain := out.room(len(block))[:copy(out.room(len(block)), block)]
		out.add(len(plain))
		return plain, nil
	}
	most := min(frame.blockBytes, lz4Most(len(block)))
	if most > out.left() {
		return c.unpackLast(out, most, block)
	}
	plain := out.room(most)[:most]
	n, err := lz4.UncompressBlock(block, plain)
	if err != nil {
		return nil, fmt.Errorf("lz4: %w: %w", ErrCorrupt, err)
	}
	out.add(n)
	return plain[:n], nil
}

// unpackLast unpacks a block that may be over the limit. Only beside the output can it be seen whether it is
// that or damaged, for to the library both are a block that does not fit.
func (c *lz4Compressor) unpackLast(out *output, most int, block []byte) ([]byte, error) {
	beside, ok := c.blocks.Get().(*[]byte)
	if !ok {
		beside = new([]byte)
	}
	defer c.blocks.Put(beside)
	*beside = slices.Grow((*beside)[:0], most)
	n, err := lz4.UncompressBlock(block, (*beside)[:most])
	switch {
	case err != nil:
		return nil, fmt.Errorf("lz4: %w: %w", ErrCorrupt, err)
	case n > out.left():
		return nil, lz4TooLarge(out.limit)
	}
	plain := out.room(n)[:copy(out.room(n), (*beside)[:n])]
	out.add(n)
	return plain, nil
}

// lz4Most is more than n bytes of a block can unpack to: in a long match each byte stands for 255.
func lz4Most(n int) int { return 255*min(n, lz4MaxBlockBytes/255+1) + 64 }

// lz4TooLarge is the error of what unpacks to more than limit.
func lz4TooLarge(limit int) error {
	return fmt.Errorf("lz4: unpacks to more than the limit of %d: %w", limit, ErrTooLarge)
}
