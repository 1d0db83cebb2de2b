package crashfs

import (
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
)

// key is where the draws of an image begin.
func (c *cursor) key(seed uint64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.policy.Name)) // a hash takes all
	return scramble(seed ^ scramble(h.Sum64()^scramble(uint64(c.step))))
}

// draw is a random number for one object and one place in it. Others do not disturb it.
func (p *plan) draw(k *pick, object, sub uint64) uint64 {
	var pcg rand.PCG
	pcg.Seed(k.key, scramble(object)^sub)
	return pcg.Uint64()
}

// below maps a random number to [0, n).
func below(random uint64, n int) int {
	hi, _ := bits.Mul64(random, uint64(n))
	return int(hi)
}

// random draws all digits.
func (p *plan) random(k *pick) {
	for i, u := range p.units {
		k.digits[i] = 0
		if u.radix > 1 {
			k.digits[i] = int32(below(p.draw(k, u.object, u.sub), int(u.radix)))
		}
	}
}

// spoil makes in p.buf what DataTorn and SizeGarbage may leave of a sector of which version v was taken, and
// reports whether they left something else.
func (p *plan) spoil(fp *filePlan, s *sector, v int, k *pick) bool {
	if p.c.policy.Data == DataTorn && v < len(s.effects) && !fp.f.effects[s.effects[v]].cut {
		rng := rand.New(rand.NewPCG(k.key, scramble(fp.f.number)^(uint64(s.number)*subKinds+subTorn)))
		if rng.IntN(4) == 0 {
			p.tear(fp, s, v, rng)
			return true
		}
	}
	if p.c.policy.Size == SizeGarbage && v == 0 && len(p.c.rubbish) > 0 && (s.number+1)*p.c.sums.unit > fp.f.size {
		return p.fillGarbage(fp, s, k)
	}
	return false
}

// tear makes s as it is while the next effect is being written.
func (p *plan) tear(fp *filePlan, s *sector, v int, rng *rand.Rand) {
	unit, sums := p.c.sums.unit, &p.c.sums
	next := &fp.f.effects[s.effects[v]]
	from, to := max(next.off-s.number*unit, 0), min(next.end()-s.number*unit, unit)
	if p.c.policy.NoPSOW {
		from, to = 0, unit
	}
	copy(p.buf, fp.f.version(s, v, sums).bytes)
	a := from + rng.Int64N(to-from)
	b := a + 1 + rng.Int64N(to-a)
	switch rng.IntN(3) {
	case 0:
		clear(p.buf[a:b])
	case 1:
		for i := a; i < b; i++ {
			p.buf[i] = byte(rng.Uint32())
		}
	case 2: // some of the old, some of the new
		whole := fp.f.version(s, v+1, sums).bytes
		for i := a; i < b; i++ {
			if rng.IntN(2) == 0 {
				p.buf[i] = whole[i]
			}
		}
	}
}

// fillGarbage makes s what a removed file had in the same place or, once in two, from its beginning on.
func (p *plan) fillGarbage(fp *filePlan, s *sector, k *pick) bool {
	object := p.draw(k, fp.f.number, subGarbage)
	if p.draw(k, fp.f.number, uint64(s.number)*subKinds+subGarbage)&1 == 0 {
		return false // zeros
	}
	old := &p.c.rubbish[below(object, len(p.c.rubbish))]
	unit := p.c.sums.unit
	at := s.number * unit
	if object&1 == 0 {
		at -= fp.f.size / unit * unit
	}
	old.read(p.buf, at)
	if in := fp.f.size - s.number*unit; in > 0 {
		copy(p.buf, fp.f.version(s, 0, &p.c.sums).bytes[:in])
	}
	return true
}
