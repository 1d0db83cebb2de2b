package codec

import (
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdEmptyFrame is a frame of one empty block, without content size or checksum.
	zstdEmptyFrame = "\x28\xB5\x2F\xFD\x00\x00\x01\x00\x00"
	// zstdDescriptorAt is where a frame says which fields its header has.
	zstdDescriptorAt = 4

	zstdBlockBytes       = 128 << 10 // the most in a block, packed or unpacked
	zstdBlockHeaderBytes = 3
	zstdChecksumBytes    = 4
)

// The types of blocks.
const (
	zstdRaw = iota
	zstdRepeated
	zstdPacked
)

// zstdExtent is what can be told of frames without unpacking them.
type zstdExtent struct {
	least, most int64 // between which the unpacked size is
	window      int64 // the largest
}

// bound is the room in which everything within limit can be unpacked, and anything over it is seen to be: a
// block that begins below the limit fits.
func (e zstdExtent) bound(limit int) int {
	return int(min(e.most, int64(min(limit, math.MaxInt-2*zstdBlockBytes))+zstdBlockBytes))
}

// zstdExtentOf walks over the frames of src, block by block. So it is known before anything is unpacked
// that they are whole, that nothing follows them, and what the sizes in their headers are worth.
func zstdExtentOf(src []byte) (zstdExtent, error) {
	var all zstdExtent
	if len(src) == 0 {
		return all, fmt.Errorf("zstd: empty: %w", ErrCorrupt)
	}
	for rest := src; len(rest) > 0; {
		var h zstd.Header
		if err := h.Decode(rest); err != nil {
			return all, fmt.Errorf("zstd: %w: %w", ErrCorrupt, err)
		}
		if h.Skippable {
			size := int64(h.HeaderSize) + int64(h.SkippableSize)
			if size > int64(len(rest)) {
				return all, zstdShort()
			}
			rest = rest[size:]
			continue
		}
		if h.WindowSize > zstdMaxWindow {
			return all, fmt.Errorf("zstd: window of %d bytes: %w", h.WindowSize, ErrTooLarge)
		}
		extent, size, err := zstdBlocks(rest[h.HeaderSize:], h)
		if err != nil {
			return all, err
		}
		rest = rest[h.HeaderSize+size:]
		all.least += extent.least
		all.most += extent.most
		all.window = max(all.window, extent.window)
	}
	return all, nil
}

// zstdBlocks walks over the blocks and the checksum of one frame, and says how many bytes they are.
func zstdBlocks(b []byte, h zstd.Header) (extent zstdExtent, size int, err error) {
	for last := false; !last; {
		if len(b)-size < zstdBlockHeaderBytes {
			return extent, 0, zstdShort()
		}
		header := uint32(b[size]) | uint32(b[size+1])<<8 | uint32(b[size+2])<<16
		last = header&1 != 0
		n := int(header >> 3)
		if n > zstdBlockBytes {
			return extent, 0, fmt.Errorf("zstd: block of %d bytes: %w", n, ErrCorrupt)
		}
		size += zstdBlockHeaderBytes
		switch header >> 1 & 3 {
		case zstdRaw:
			size += n
			extent.least += int64(n)
			extent.most += int64(n)
		case zstdRepeated:
			size++
			extent.least += int64(n)
			extent.most += int64(n)
		case zstdPacked:
			size += n
			extent.most += zstdBlockBytes
		default:
			return extent, 0, fmt.Errorf("zstd: unknown type of block: %w", ErrCorrupt)
		}
		if size > len(b) {
			return extent, 0, zstdShort()
		}
	}
	if h.HasCheckSum {
		if size += zstdChecksumBytes; size > len(b) {
			return extent, 0, zstdShort()
		}
	}
	extent.window = int64(h.WindowSize)
	if h.HasFCS {
		if h.FrameContentSize < uint64(extent.least) || h.FrameContentSize > uint64(extent.most) {
			return extent, 0, fmt.Errorf("zstd: content size %d, but %d to %d bytes: %w",
				h.FrameContentSize, extent.least, extent.most, ErrCorrupt)
		}
		extent.least, extent.most = int64(h.FrameContentSize), int64(h.FrameContentSize)
	}
	return extent, size, nil
}

// zstdShort is the error of frames that are not whole.
func zstdShort() error { return fmt.Errorf("zstd: frame is cut: %w", ErrCorrupt) }
