package index

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// warmBytes are at the end of an index, where most look-ups lead to.
const warmBytes = 8192

// search finds the last of the n entries in b whose key is at most key. Where they are not in order, it
// answers with any of them or none.
//
// The last warmBytes are tried first: their pages stay in memory, while a plain binary search of a growing
// index comes to other pages by and by, and waits for the disk (KAFKA-6432).
func (f *format) search(b []byte, n int, key int64) (e Entry, ok bool) {
	t := f.key.target(key)
	begin := 0 // of the entries that are searched
	switch warm := n - 1 - f.warm; {
	case warm > 0 && t.atLeast(b[warm*f.entryBytes:]) == 1:
		begin, n = warm*f.entryBytes, f.warm+1
	case n == 0 || t.atLeast(b) == 0:
		return Entry{}, false
	case warm > 0:
		n = warm
	}
	begin += t.last(b[begin:], f.entryBytes, n)
	return f.decode(b[begin:]), true
}

// target is a key that entries are compared with: one of 8 bytes, or one of 4 and what follows it in an entry.
// Its order is that of unsigned numbers.
type target uint64

// signBit turns the order of signed numbers into that of unsigned ones.
const signBit = 1 << 63

// target is the target that entries with keys up to key are at most.
func (f field) target(key int64) target {
	stored := f.as(key)
	if f.bytes == 4 {
		stored = min(max(stored, math.MinInt32), math.MaxInt32)<<32 | math.MaxUint32
	}
	return target(uint64(stored) ^ signBit)
}

// atLeast is 1 where the key of the entry at the beginning of b is at most t's, otherwise 0.
func (t target) atLeast(b []byte) int {
	_, less := bits.Sub64(uint64(t), binary.BigEndian.Uint64(b)^signBit, 0)
	return int(less ^ 1)
}

// last is where the last of n entries of size bytes begins whose key is at most t's; that of the first one is.
//
// A step leaves a quarter, and has no branch: which way a look-up goes cannot be predicted, and the three
// entries that a step looks at come from memory side by side.
func (t target) last(b []byte, size, n int) (pos int) {
	for n > 3 {
		quarter := n >> 2
		step := quarter * size
		pos += step * (t.atLeast(b[pos+step:]) + t.atLeast(b[pos+2*step:]) + t.atLeast(b[pos+3*step:]))
		n -= 3 * quarter
	}
	for ; n > 1; n-- {
		pos += size * t.atLeast(b[pos+size:])
	}
	return pos
}
