package faultfs

import (
	"bytes"
	"math"
	"math/rand/v2"
	"time"

	"github.com/stratalog/strata/fsio"
)

// plan is what is done to one call.
type plan struct {
	faults *Faults
	sleep  func(time.Duration)
	delays []time.Duration // of rules with nothing but Delay
	rule   *Rule           // the one that has the call; nil if none has
	acts   action
	random *rand.Rand
}

// has reports whether a is among the actions to be done.
func (p *plan) has(a action) bool { return p.acts&a != 0 }

// run makes the call op, or does not.
func (p *plan) run(op *fsio.Op, do func() error) error {
	for _, d := range p.delays {
		p.sleep(d)
	}
	p.wait()
	if p.has(panics) {
		panic(p.rule.value)
	}
	if p.has(powerOff) {
		p.faults.switchOff()
	}
	switch {
	case p.faults.isOff(): // by this rule, or while it waited
		return p.faults.dead(op, do)
	case p.has(fail):
		return p.rule.failure.err
	case p.has(drop):
		return nil
	}
	err := p.call(op, do)
	switch {
	case err != nil:
		return err
	case p.has(failAfter):
		return p.rule.lateError.err
	case p.has(short):
		return p.rule.cutError.err // of nil fsio makes one
	}
	return nil
}

// wait is what Delay and Hang do.
func (p *plan) wait() {
	if p.has(delay) {
		p.sleep(p.rule.wait)
	}
	if p.has(hang) {
		select {
		case <-p.rule.release:
		case <-p.faults.off:
		}
	}
}

// call makes the call as Misdirect, Short, FlipBits and Zero will have it. A View whose bytes are altered stays
// where it is: they are known before the call, and those elsewhere are not.
func (p *plan) call(op *fsio.Op, do func() error) error {
	alters := p.has(flip | zero)
	if p.has(misdirect) && !(alters && op.Kind == fsio.OpMapView) {
		op.Off = p.rule.moved(op.Off)
	}
	if p.has(short) {
		p.shorten(op)
	}
	if alters && op.Kind != fsio.OpReadAt {
		op.Data = bytes.Clone(op.Data) // the caller's, or the file's
		p.alter(op.Data)
	}
	err := do()
	if alters && op.Kind == fsio.OpReadAt {
		p.alter(op.Data)
	}
	return err
}

// shorten makes op a call for the Rule's first bytes.
func (p *plan) shorten(op *fsio.Op) {
	if op.Kind == fsio.OpCopyTo {
		op.Size = int64(p.rule.keep)
	} else {
		op.Data = op.Data[:p.rule.keep]
	}
}

// alter does to b what FlipBits and Zero say.
func (p *plan) alter(b []byte) {
	if p.has(zero) {
		clear(b)
	}
	if p.has(flip) {
		flipBits(b, p.rule.bits, p.random)
	}
}

// moved is where Misdirect sends a call for off.
func (r *Rule) moved(off int64) int64 {
	if off < 0 { // refused anyway
		return off
	}
	if r.delta > math.MaxInt64-off {
		return math.MaxInt64
	}
	return max(off+r.delta, 0)
}

// flipBits inverts n bits of b, or all of them: Floyd's draw of n different ones.
func flipBits(b []byte, n int, random *rand.Rand) {
	all := int64(len(b)) * 8
	flipped := map[int64]bool{}
	for next := all - min(int64(n), all); next < all; next++ {
		bit := random.Int64N(next + 1)
		if flipped[bit] {
			bit = next
		}
		flipped[bit] = true
		b[bit/8] ^= 1 << (bit % 8)
	}
}
