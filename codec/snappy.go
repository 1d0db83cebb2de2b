package codec

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/golang/snappy"
)

// The xerial framing of snappy, which Kafka inherited from snappy-java: a header, then blocks to the end of
// the input, each a size and a raw snappy block. There is no end mark and no checksum.
const (
	xerialMagic       = "\x82SNAPPY\x00"
	xerialHeader      = xerialMagic + "\x00\x00\x00\x01\x00\x00\x00\x01" // version, oldest compatible version
	xerialHeaderBytes = len(xerialHeader)
	xerialSizeBytes   = 4
	// xerialBlockBytes is how much snappy-java packs into one block.
	xerialBlockBytes = 32 << 10
	// snappyRatio is more than snappy can unpack one byte to: a copy of 64 bytes takes 3.
	snappyRatio = 22
)

// snappyCompressor is Snappy.
type snappyCompressor struct{}

var _ Compressor = snappyCompressor{}

// NewSnappy packs in the xerial framing, in blocks of 32 KiB, and unpacks that and a raw block.
func NewSnappy() Compressor { return snappyCompressor{} }

// Compression implements Compressor.
func (snappyCompressor) Compression() Compression { return Snappy }

// Compress implements Compressor.
func (snappyCompressor) Compress(dst, src []byte) ([]byte, error) {
	out := append(dst, xerialHeader...)
	for block := range slices.Chunk(src, xerialBlockBytes) {
		out = slices.Grow(out, xerialSizeBytes+snappy.MaxEncodedLen(len(block)))
		start := len(out) + xerialSizeBytes
		packed := snappy.Encode(out[start:cap(out)], block)
		out = binary.BigEndian.AppendUint32(out, uint32(len(packed)))
		out = out[:start+len(packed)]
	}
	return out, nil
}

// Decompress implements Compressor. The blocks say how much they unpack to, so a first walk adds it up and
// the second one finds the room made: nothing is allocated for what does not fit in limit.
func (snappyCompressor) Decompress(dst, src []byte, limit int) ([]byte, error) {
	size := 0
	err := snappyBlocks(src, func(block []byte) error {
		n, err := snappySize(block)
		if err != nil {
			return err
		}
		if n > limit-size {
			return fmt.Errorf("snappy: unpacks to more than the limit of %d: %w", limit, ErrTooLarge)
		}
		size += n
		return nil
	})
	if err != nil {
		return dst, err
	}
	out := slices.Grow(dst, size)
	err = snappyBlocks(src, func(block []byte) error {
		unpacked, err := snappy.Decode(out[len(out):cap(out)], block)
		if err != nil {
			return fmt.Errorf("snappy: %w: %w", ErrCorrupt, err)
		}
		out = out[:len(out)+len(unpacked)]
		return nil
	})
	if err != nil {
		return dst, err
	}
	return out, nil
}

// snappySize is what a block says that it unpacks to, if its bytes could.
func snappySize(block []byte) (int, error) {
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return 0, fmt.Errorf("snappy: %w: %w", ErrCorrupt, err)
	}
	if n/snappyRatio > len(block) {
		return 0, fmt.Errorf("snappy: %d bytes say that they unpack to %d: %w", len(block), n, ErrCorrupt)
	}
	return n, nil
}

// snappyBlocks gives the raw blocks of src to each. What has no xerial header is one raw block.
func snappyBlocks(src []byte, each func(block []byte) error) error {
	if len(src) < xerialHeaderBytes || string(src[:len(xerialMagic)]) != xerialMagic {
		return each(src)
	}
	for rest := src; len(rest) > 0; {
		if hasXerialMagic(rest) { // streams may be joined
			if err := checkXerialHeader(rest); err != nil {
				return err
			}
			rest = rest[xerialHeaderBytes:]
			continue
		}
		block, err := xerialBlock(rest)
		if err != nil {
			return err
		}
		if err := each(block); err != nil {
			return err
		}
		rest = rest[xerialSizeBytes+len(block):]
	}
	return nil
}

// hasXerialMagic looks at the first word only, as snappy-java does where a block's size would be.
func hasXerialMagic(b []byte) bool {
	return len(b) >= xerialSizeBytes && string(b[:xerialSizeBytes]) == xerialMagic[:xerialSizeBytes]
}

// checkXerialHeader checks the header that b begins with.
func checkXerialHeader(b []byte) error {
	if len(b) < xerialHeaderBytes || string(b[:len(xerialMagic)]) != xerialMagic {
		return fmt.Errorf("snappy: bad xerial header: %w", ErrCorrupt)
	}
	if version := int32(binary.BigEndian.Uint32(b[len(xerialMagic):])); version < 1 {
		return fmt.Errorf("snappy: xerial version %d: %w", version, ErrCorrupt)
	}
	return nil
}

// xerialBlock is the block whose size b begins with.
func xerialBlock(b []byte) ([]byte, error) {
	if len(b) < xerialSizeBytes {
		return nil, fmt.Errorf("snappy: %d bytes behind the last block: %w", len(b), ErrCorrupt)
	}
	size := int32(binary.BigEndian.Uint32(b))
	b = b[xerialSizeBytes:]
	if size < 0 || int(size) > len(b) {
		return nil, fmt.Errorf("snappy: block of %d bytes where %d are left: %w", size, len(b), ErrCorrupt)
	}
	return b[:size], nil
}
