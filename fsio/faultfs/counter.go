package faultfs

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/internal/names"
)

// counter is a Rule at work. Its counts are guarded by Faults.mu.
type counter struct {
	*Rule
	seed, number uint64 // what its draws come from

	written int64             // by matching calls
	matched int               // calls, once the bytes of AfterBytes were written
	firings int               // calls at which something was done
	drawn   map[string]uint64 // draws, by path
}

// matches reports whether the conditions hold that look at op only. It runs without a lock, since When is the
// user's.
func (r *Rule) matches(op *fsio.Op) bool {
	has := func(c condition) bool { return r.conds&c != 0 }
	return r.kinds.Has(op.Kind) &&
		(!has(condPath) || names.Match(r.glob, op.Path) || op.To != "" && names.Match(r.glob, op.To)) &&
		(!has(condRange) || positioned.Has(op.Kind) && r.touches(op.Off, op.Size)) &&
		(!has(condWhen) || r.when(op))
}

// touches reports whether [off, off+n) has a byte of the Rule's Range.
func (r *Rule) touches(off, n int64) bool {
	switch {
	case off < 0 || n <= 0:
		return false
	case off < r.off:
		return r.off-off < n
	}
	return off-r.off < r.size
}

// fires counts a matching call and reports whether the conditions hold that look at those before, too. random
// is what the call's draws come from.
func (c *counter) fires(path string) (random *rand.Rand, fires bool) {
	has := func(cond condition) bool { return c.conds&cond != 0 }
	if has(condProb) || c.acts&flip != 0 {
		random = c.draw(path)
	}
	if has(condAfterBytes) && c.written < c.afterBytes {
		return random, false
	}
	c.matched++
	return random, (!has(condNth) || c.matched == c.nth) &&
		(!has(condFrom) || c.matched >= c.from) &&
		(!has(condProb) || random.Float64() < c.prob) &&
		(!has(condTimes) || c.firings < c.times)
}

// draw returns the random numbers of one call: those of the seed, the Rule, the path and the calls on it.
func (c *counter) draw(path string) *rand.Rand {
	if c.drawn == nil {
		c.drawn = map[string]uint64{}
	}
	c.drawn[path]++
	key := binary.BigEndian.AppendUint64(nil, c.number)
	key = binary.BigEndian.AppendUint64(key, c.drawn[path])
	h := fnv.New64a()
	h.Write(append(key, path...))
	return rand.New(rand.NewPCG(c.seed, h.Sum64()))
}

// doable is the actions of the Rule that can be done to op.
func (r *Rule) doable(op *fsio.Op) (acts action) {
	for a := range r.acts.each {
		if actions[a.index()].kinds.Has(op.Kind) && r.changes(a, op) {
			acts |= a
		}
	}
	return acts
}

// changes reports whether an action makes op another call.
func (r *Rule) changes(a action, op *fsio.Op) bool {
	switch a {
	case short:
		return op.Size > int64(r.keep)
	case flip, zero:
		return op.Size > 0
	case misdirect:
		return r.moved(op.Off) != op.Off
	}
	return true
}
