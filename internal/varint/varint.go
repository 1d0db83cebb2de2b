// Package varint reads and writes the integers of variable length in Kafka's records: zig-zag, then groups
// of seven bits, the lowest first, with the top bit set in all bytes but the last.
package varint

import (
	"math"
	"math/bits"
)

// The most bytes that an integer takes.
const (
	MaxBytes32 = 5
	MaxBytes64 = 10
)

// Append encodes v behind dst.
func Append(dst []byte, v int64) []byte {
	u := uint64(v<<1) ^ uint64(v>>63)
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

// Put encodes v over the beginning of dst, which must have room, and returns its size.
func Put(dst []byte, v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	i := 0
	for ; u >= 0x80; i++ {
		dst[i] = byte(u) | 0x80
		u >>= 7
	}
	dst[i] = byte(u)
	return i + 1
}

// Size is the number of bytes that Append adds for v.
func Size(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	return (bits.Len64(u|1) + 6) / 7
}

// Read32 decodes the int32 that b begins with, and says how many bytes it has: 0 if b ends before it does,
// −1 if it has more than five. As in Kafka, bits over the 32nd are dropped.
func Read32(b []byte) (v int32, n int) {
	u, n := read(b, MaxBytes32)
	w := uint32(u)
	return int32(w>>1) ^ -int32(w&1), n
}

// Read64 is Read32 for an int64, of at most ten bytes.
func Read64(b []byte) (v int64, n int) {
	u, n := read(b, MaxBytes64)
	return Unzig(u), n
}

func read(b []byte, limit int) (u uint64, n int) {
	for i, c := range b {
		if i == limit {
			return 0, -1
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return u, i + 1
		}
	}
	if len(b) == limit {
		return 0, -1
	}
	return 0, 0
}

// Unzig undoes the zig-zag: 0, 1, 2, 3 are 0, −1, 1, −2.
func Unzig(u uint64) int64 {
	return int64(u>>1) ^ -int64(u&1)
}

// Long is where an integer of more than two bytes ends as far as Short says. It lies behind all bytes, so that
// what is read there is Long, too: a reader of several integers looks once, at the end.
const Long = math.MaxUint

// Short decodes the integer of one or two bytes at b[at], without undoing the zig-zag, and says where it ends: at
// Long if it is longer, or b ends before it does. It is small enough to be inlined: most integers of a record are
// short, and a call for each is more than half the time of a walk over records.
func Short(b []byte, at uint) (u, end uint) {
	if at >= uint(len(b)) {
		return 0, Long
	}
	u = uint(b[at])
	at++
	if u >= 0x80 {
		if at >= uint(len(b)) || b[at] >= 0x80 {
			return 0, Long
		}
		u = u&0x7f | uint(b[at])<<7
		at++
	}
	return u, at
}
