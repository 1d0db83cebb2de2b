package crashfs

import "hash/maphash"

// Images are told apart by sums: each sector that is not all zeros, each size and each name has a number,
// and they are added up. So an image costs the sectors in which it differs. The numbers differ from process
// to process; they are compared, and never shown.

// seed makes the numbers of this process.
var seed = maphash.MakeSeed()

// sums hashes sectors of one size.
type sums struct {
	unit  int64
	zeros uint64 // of a sector of zeros
}

func newSums(unit int64) sums {
	return sums{unit: unit, zeros: maphash.Bytes(seed, make([]byte, unit))}
}

// sector is the number of the n-th sector with the content b.
func (s *sums) sector(n int64, b []byte) uint64 {
	h := maphash.Bytes(seed, b)
	if h == s.zeros {
		return 0
	}
	return scramble(h ^ scramble(uint64(n)))
}

// table is the sum of t's sectors, as far as they begin before size. Bytes past size count as zeros.
func (s *sums) table(t *table, size int64) (sum uint64) {
	sector := make([]byte, s.unit)
	last := int64(-1)
	t.each(0, size, func(n int64, _ *block) {
		for i := n * blockBytes / s.unit; i*s.unit < min((n+1)*blockBytes, size); i++ {
			if i > last { // a sector may have several blocks
				t.read(sector, i*s.unit)
				clear(sector[min(s.unit, size-i*s.unit):])
				sum += s.sector(i, sector)
				last = i
			}
		}
	})
	return sum
}
