package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdWindowBytes is the window of what is packed: that of Kafka's level 3.
	zstdWindowBytes = 2 << 20
	// zstdMaxWindow is the largest window that zstd's own reader, and so Kafka, takes.
	zstdMaxWindow = 128 << 20
	// zstdTryBytes is how much room may be tried without knowing that it is enough. It is a bit more than
	// doubled for a moment where it is not, because the library appends a block before it looks.
	zstdTryBytes = 3 << 20
	// zstdSlackBytes is room behind the output with which the library may copy in larger steps.
	zstdSlackBytes = 16

	zstdMinLevel     = -131072
	zstdMaxLevel     = 22
	zstdDefaultLevel = 3
)

// zstdCompressor is Zstd.
type zstdCompressor struct {
	level    zstd.EncoderLevel
	encoders sync.Pool // of *zstd.Encoder
	decoders sync.Pool // of *zstd.Decoder
}

var _ Compressor = (*zstdCompressor)(nil)

// NewZstd packs with level −131072 to 22, where 0 means 3. A level outside is taken as the nearest one
// inside. The library has four levels of its own, of which the one that resembles level most is taken.
func NewZstd(level int) Compressor {
	if level == 0 {
		level = zstdDefaultLevel
	}
	level = min(max(level, zstdMinLevel), zstdMaxLevel)
	return &zstdCompressor{level: zstd.EncoderLevelFromZstd(level)}
}

// Compression implements Compressor.
func (*zstdCompressor) Compression() Compression { return Zstd }

// Compress implements Compressor. Like Kafka's, the frame has neither content size nor checksum.
func (c *zstdCompressor) Compress(dst, src []byte) ([]byte, error) {
	if len(src) == 0 {
		return append(dst, zstdEmptyFrame...), nil
	}
	encoder, ok := c.encoders.Get().(*zstd.Encoder)
	if !ok {
		var err error
		encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(c.level), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(zstdWindowBytes), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(false))
		if err != nil {
			return dst, fmt.Errorf("zstd: %w", err)
		}
	}
	defer c.encoders.Put(encoder)
	out := encoder.EncodeAll(src, dst)
	return out[:len(dst)+len(dropZstdSize(out[len(dst):]))], nil
}

// Decompress implements Compressor.
func (c *zstdCompressor) Decompress(dst, src []byte, limit int) ([]byte, error) {
	limit = max(limit, 0)
	extent, err := zstdExtentOf(src)
	if err != nil {
		return dst, err
	}
	if extent.least > int64(limit) {
		return dst, zstdTooLarge(limit)
	}
	room, err := zstdRoom(src, extent, limit, cap(dst)-len(dst))
	if err != nil {
		return dst, err
	}
	out, n, err := c.decode(dst, src, room)
	if zstdShortOfRoom(err, n, room) && room < extent.bound(limit) {
		if room, err = zstdSecondRoom(src, extent, limit); err != nil {
			return dst, err
		}
		out, n, err = c.decode(dst, src, room)
	}
	switch {
	case n > limit || errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return dst, zstdTooLarge(limit)
	case err != nil:
		return dst, fmt.Errorf("zstd: %w: %w", ErrCorrupt, err)
	}
	return out, nil
}

// decode unpacks src behind dst, into room bytes and a little more. It returns how much was unpacked, with
// an error too.
func (c *zstdCompressor) decode(dst, src []byte, room int) (out []byte, n int, err error) {
	decoder, ok := c.decoders.Get().(*zstd.Decoder)
	if !ok {
		decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdMaxWindow), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, 0, err
		}
	}
	defer c.decoders.Put(decoder)
	out = dst
	if cap(dst)-len(dst) < room {
		out = make([]byte, len(dst), len(dst)+room+zstdSlackBytes)
		copy(out, dst)
	}
	// The library is given an empty slice, and not out, since behind other bytes it unpacks aside and copies.
	end := min(len(out)+room+zstdSlackBytes, cap(out))
	unpacked, err := decoder.DecodeAll(src, out[len(out):len(out):end])
	if err != nil {
		return nil, len(unpacked), err
	}
	return out[:len(out)+len(unpacked)], len(unpacked), nil
}

// zstdShortOfRoom reports whether err, after n bytes, may come from the room and not from the input: to the
// library a block that does not fit is like one that is damaged.
func zstdShortOfRoom(err error, n, room int) bool {
	return errors.Is(err, zstd.ErrDecoderSizeExceeded) || err != nil && room-n < zstdBlockBytes
}

// zstdRoom is the room for the first attempt: the caller's where it is likely to do, or what mostly does.
func zstdRoom(src []byte, extent zstdExtent, limit, free int) (int, error) {
	size := min(len(src), math.MaxInt/8)
	if free < min(2*size, limit) {
		free = 8 * size
	}
	room := min(extent.bound(limit), free)
	if int64(room) < extent.most && room > zstdTryBytes {
		return zstdCount(src, extent, limit)
	}
	return room, nil
}

// zstdSecondRoom is the room for the second and last attempt: all that there may be where that is little,
// otherwise what there is.
func zstdSecondRoom(src []byte, extent zstdExtent, limit int) (int, error) {
	if bound := extent.bound(limit); bound <= zstdTryBytes {
		return bound, nil
	}
	return zstdCount(src, extent, limit)
}

// zstdCount unpacks without keeping, and returns how much it was. That takes memory for a window, which is held
// against the limit.
func zstdCount(src []byte, extent zstdExtent, limit int) (int, error) {
	if extent.window > int64(limit)+zstdTryBytes {
		// The window alone would be more memory than the limit allows.
		if extent.most <= int64(limit) {
			return int(extent.most), nil
		}
		return 0, zstdTooLarge(limit)
	}
	decoder, err := zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdMaxWindow))
	if err != nil {
		return 0, fmt.Errorf("zstd: %w: %w", ErrCorrupt, err)
	}
	defer decoder.Close()
	size := 0
	for buf := make([]byte, 32<<10); ; {
		n, err := decoder.Read(buf)
		if size += n; size > limit {
			return 0, zstdTooLarge(limit)
		}
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return 0, fmt.Errorf("zstd: %w: %w", ErrCorrupt, err)
		}
	}
}

// zstdTooLarge is the error of what unpacks to more than limit.
func zstdTooLarge(limit int) error {
	return fmt.Errorf("zstd: unpacks to more than the limit of %d: %w", limit, ErrTooLarge)
}

// dropZstdSize takes the content size out of the header of frame, in place, and returns the shorter frame.
func dropZstdSize(frame []byte) []byte {
	if len(frame) < zstdDescriptorAt+2 {
		return frame
	}
	size := 1 << (frame[zstdDescriptorAt] >> 6) // 2, 4 or 8 bytes; 1 stands for none
	if size == 1 {
		return frame
	}
	frame[zstdDescriptorAt] &= 1<<6 - 1
	return slices.Delete(frame, zstdDescriptorAt+2, zstdDescriptorAt+2+size)
}
