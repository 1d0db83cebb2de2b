package codec

import (
	"encoding/binary"
	"math/bits"
)

// The constants of xxHash-32.
const (
	xxhPrime1 uint32 = 2654435761
	xxhPrime2 uint32 = 2246822519
	xxhPrime3 uint32 = 3266489917
	xxhPrime4 uint32 = 668265263
	xxhPrime5 uint32 = 374761393

	xxhStripeBytes = 16
)

// xxh32 computes xxHash-32 with seed 0, the checksum of LZ4 frames, of what is written. Kafka's own frames
// have it over the few bytes of their descriptor only, others may have it over blocks and content too.
// The zero xxh32 is ready.
type xxh32 struct {
	lanes [4]uint32 // without their start values, so that zero is a start
	part  [xxhStripeBytes]byte
	held  int    // bytes in part
	size  uint32 // bytes written, modulo 2^32
	begun bool   // the start values are in lanes, as after the first whole stripe
}

// checksumXXH32 is xxHash-32 of b.
func checksumXXH32(b []byte) uint32 {
	var h xxh32
	h.write(b)
	return h.sum()
}

// write adds b.
func (h *xxh32) write(b []byte) {
	h.size += uint32(len(b))
	if h.held > 0 {
		n := copy(h.part[h.held:], b)
		h.held += n
		b = b[n:]
		if h.held < xxhStripeBytes {
			return
		}
		h.stripes(h.part[:])
	}
	whole := len(b) / xxhStripeBytes * xxhStripeBytes
	h.stripes(b[:whole])
	h.held = copy(h.part[:], b[whole:])
}

// stripes mixes whole stripes of 16 bytes into the lanes.
func (h *xxh32) stripes(b []byte) {
	lane1, lane2, lane3, lane4 := h.lanes[0], h.lanes[1], h.lanes[2], h.lanes[3]
	if !h.begun && len(b) > 0 {
		h.begun = true
		lane1 += xxhPrime1
		lane1 += xxhPrime2
		lane2 += xxhPrime2
		lane4 -= xxhPrime1
	}
	for ; len(b) >= xxhStripeBytes; b = b[xxhStripeBytes:] {
		lane1 = xxhRound(lane1, binary.LittleEndian.Uint32(b))
		lane2 = xxhRound(lane2, binary.LittleEndian.Uint32(b[4:]))
		lane3 = xxhRound(lane3, binary.LittleEndian.Uint32(b[8:]))
		lane4 = xxhRound(lane4, binary.LittleEndian.Uint32(b[12:]))
	}
	h.lanes = [4]uint32{lane1, lane2, lane3, lane4}
}

// sum is the checksum of what was written.
func (h *xxh32) sum() uint32 {
	sum := xxhPrime5
	if h.begun {
		sum = bits.RotateLeft32(h.lanes[0], 1) + bits.RotateLeft32(h.lanes[1], 7) +
			bits.RotateLeft32(h.lanes[2], 12) + bits.RotateLeft32(h.lanes[3], 18)
	}
	sum += h.size
	rest := h.part[:h.held]
	for ; len(rest) >= 4; rest = rest[4:] {
		sum = bits.RotateLeft32(sum+binary.LittleEndian.Uint32(rest)*xxhPrime3, 17) * xxhPrime4
	}
	for _, c := range rest {
		sum = bits.RotateLeft32(sum+uint32(c)*xxhPrime5, 11) * xxhPrime1
	}
	sum = (sum ^ sum>>15) * xxhPrime2
	sum = (sum ^ sum>>13) * xxhPrime3
	return sum ^ sum>>16
}

// xxhRound mixes one word into a lane.
func xxhRound(lane, word uint32) uint32 {
	return bits.RotateLeft32(lane+word*xxhPrime2, 13) * xxhPrime1
}
