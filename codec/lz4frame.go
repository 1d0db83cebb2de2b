package codec

import (
	"encoding/binary"
	"fmt"
)

// The LZ4 frame format, little-endian:
//
//	0  uint32 magic
//	4  uint8  FLG: version 01, block independence, block checksums, content size, content checksum, -, -
//	5  uint8  BD: -, block size code 4 to 7, four bits -
//	6  uint64 content size, if FLG says so
//	   uint8  second byte of the xxHash-32 of what is between the magic and here
//	   blocks: uint32 size, top bit set where stored as it is; the bytes; their uint32 xxHash-32 if FLG says so
//	   uint32 0, the end mark
//	   uint32 xxHash-32 of the content, if FLG says so
const (
	lz4Magic      uint32 = 0x184D2204
	lz4SkipMagic  uint32 = 0x184D2A50 // and the 15 numbers that follow
	lz4SkipHeader        = 8
	lz4MagicBytes        = 4
	lz4SizeBytes         = 4
	lz4StoredBit  uint32 = 1 << 31

	lz4Version           = 0x40
	lz4VersionBits       = 0xC0
	lz4IndependentBit    = 0x20
	lz4BlockSumBit       = 0x10
	lz4ContentSizeBit    = 0x08
	lz4ContentSumBit     = 0x04
	lz4ReservedFLG       = 0x03
	lz4ReservedBD        = 0x8F
	lz4MinSizeCode       = 4
	lz4MaxBlockBytes     = 4 << 20
	lz4KafkaBlockBytes   = 64 << 10
	lz4KafkaHeader       = "\x04\x22\x4D\x18\x60\x40\x82"
	lz4DescriptorBytes   = 2
	lz4ContentSizeBytes  = 8
	lz4BlockSizeCodeBits = 0x70
)

// lz4Frame is what a frame's header says.
type lz4Frame struct {
	headerBytes     int
	blockBytes      int
	blockChecksums  bool
	contentChecksum bool
	contentSize     int64 // -1 where the header has none
}

// parseLZ4 reads the header that b begins with, as strictly as Kafka does.
func parseLZ4(b []byte) (lz4Frame, error) {
	pos, right, _, err := lz4HeaderChecksum(b)
	if err != nil {
		return lz4Frame{}, err
	}
	flg, bd := b[lz4MagicBytes], b[lz4MagicBytes+1]
	code := bd & lz4BlockSizeCodeBits >> 4
	switch {
	case flg&lz4VersionBits != lz4Version:
		return lz4Frame{}, fmt.Errorf("lz4: version %d: %w", flg>>6, ErrCorrupt)
	case flg&lz4ReservedFLG != 0 || bd&lz4ReservedBD != 0:
		return lz4Frame{}, fmt.Errorf("lz4: reserved bits in %#02x %#02x: %w", flg, bd, ErrCorrupt)
	case flg&lz4IndependentBit == 0:
		return lz4Frame{}, fmt.Errorf("lz4: linked blocks, which Kafka does not read: %w", ErrCorrupt)
	case code < lz4MinSizeCode:
		return lz4Frame{}, fmt.Errorf("lz4: block size code %d: %w", code, ErrCorrupt)
	case b[pos] != right:
		return lz4Frame{}, fmt.Errorf("lz4: header checksum %#02x, not %#02x: %w", b[pos], right, ErrCorrupt)
	}
	frame := lz4Frame{
		headerBytes:     pos + 1,
		blockBytes:      1 << (2*code + 8),
		blockChecksums:  flg&lz4BlockSumBit != 0,
		contentChecksum: flg&lz4ContentSumBit != 0,
		contentSize:     -1,
	}
	if flg&lz4ContentSizeBit != 0 {
		size := binary.LittleEndian.Uint64(b[lz4MagicBytes+lz4DescriptorBytes:])
		frame.contentSize = int64(size &^ (1 << 63)) // so large it is wrong anyway
	}
	return frame, nil
}

// lz4HeaderChecksum finds the header checksum of the frame that b begins with: its position, what belongs
// there, and what Kafka's clients up to 0.9 put there instead, and brokers still put into wrappers of magic
// 0: they took the magic for part of what is hashed (KAFKA-3160).
func lz4HeaderChecksum(b []byte) (pos int, right, legacy byte, err error) {
	pos = lz4MagicBytes + lz4DescriptorBytes
	if len(b) <= pos {
		return 0, 0, 0, fmt.Errorf("lz4: header ends after %d bytes: %w", len(b), ErrCorrupt)
	}
	if magic := binary.LittleEndian.Uint32(b); magic != lz4Magic {
		return 0, 0, 0, fmt.Errorf("lz4: magic %#08x: %w", magic, ErrCorrupt)
	}
	if b[lz4MagicBytes]&lz4ContentSizeBit != 0 {
		pos += lz4ContentSizeBytes
	}
	if len(b) <= pos {
		return 0, 0, 0, fmt.Errorf("lz4: header ends after %d bytes: %w", len(b), ErrCorrupt)
	}
	sum := func(b []byte) byte { return byte(checksumXXH32(b) >> 8) }
	return pos, sum(b[lz4MagicBytes:pos]), sum(b[:pos]), nil
}

// block cuts a block off b. At the end mark there is none, and rest is what follows the mark.
func (f lz4Frame) block(b []byte) (block []byte, stored bool, rest []byte, err error) {
	if len(b) < lz4SizeBytes {
		return nil, false, nil, fmt.Errorf("lz4: no end mark: %w", ErrCorrupt)
	}
	size := binary.LittleEndian.Uint32(b)
	b = b[lz4SizeBytes:]
	if size == 0 {
		return nil, false, b, nil
	}
	stored = size&lz4StoredBit != 0
	size &^= lz4StoredBit
	if size > uint32(f.blockBytes) {
		return nil, false, nil, fmt.Errorf("lz4: block of %d bytes in a frame of %d: %w", size, f.blockBytes, ErrCorrupt)
	}
	need := int(size)
	if f.blockChecksums {
		need += lz4SizeBytes
	}
	if need > len(b) {
		return nil, false, nil, fmt.Errorf("lz4: block of %d bytes where %d are left: %w", need, len(b), ErrCorrupt)
	}
	block, rest = b[:size:size], b[need:]
	if f.blockChecksums {
		if got, want := checksumXXH32(block), binary.LittleEndian.Uint32(b[size:]); got != want {
			return nil, false, nil, fmt.Errorf("lz4: block checksum %08x, not %08x: %w", got, want, ErrCorrupt)
		}
	}
	return block, stored, rest, nil
}

// end checks what a frame says about its content against what that was. Kafka up to 4.3 skips both checks,
// which hides damage (KAFKA-20528).
func (f lz4Frame) end(b []byte, size int, sum uint32) (rest []byte, err error) {
	if f.contentSize >= 0 && int64(size) != f.contentSize {
		return nil, fmt.Errorf("lz4: content of %d bytes, not %d: %w", size, f.contentSize, ErrCorrupt)
	}
	if !f.contentChecksum {
		return b, nil
	}
	if len(b) < lz4SizeBytes {
		return nil, fmt.Errorf("lz4: no content checksum: %w", ErrCorrupt)
	}
	if want := binary.LittleEndian.Uint32(b); sum != want {
		return nil, fmt.Errorf("lz4: content checksum %08x, not %08x: %w", sum, want, ErrCorrupt)
	}
	return b[lz4SizeBytes:], nil
}

// lz4Skippable is the size of the skippable frame that b begins with.
func lz4Skippable(b []byte) (size int, ok bool) {
	if len(b) < lz4SkipHeader || binary.LittleEndian.Uint32(b)&^0xF != lz4SkipMagic {
		return 0, false
	}
	content := binary.LittleEndian.Uint32(b[lz4MagicBytes:])
	if uint64(content) > uint64(len(b)-lz4SkipHeader) {
		return 0, false
	}
	return lz4SkipHeader + int(content), true
}
