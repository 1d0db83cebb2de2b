package crashfs

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// choice says how a pick is made. Its text is in CrashID.Choice.
type choice struct {
	how  how
	n    int
	lost []loss // of reduced
	torn bool   // reduced keeps what was drawn besides digits
}

// loss is a digit that is not at its highest.
type loss struct {
	unit  int
	digit int32
}

// how is the way of a choice.
type how uint8

const (
	prefix  how = iota // the first n items
	drop               // all but the n-th
	keep               // the n-th alone
	all                // the n-th of all states
	drawn              // at random
	reduced            // all but the losses named
)

const choiceRand = "rand"

var hows = [...]string{prefix: "prefix", drop: "drop", keep: "keep", all: "all", drawn: choiceRand, reduced: "lost"}

// String is the text of c, for example "drop:12" or "lost:3=0.5=1".
func (c choice) String() string {
	switch c.how {
	case drawn:
		return choiceRand
	case reduced:
		var b strings.Builder
		b.WriteString(hows[reduced])
		if c.torn {
			b.Reset()
			b.WriteString("torn")
		}
		for i, l := range c.lost {
			fmt.Fprintf(&b, "%c%d=%d", ":."[min(i, 1)], l.unit, l.digit)
		}
		return b.String()
	}
	return hows[c.how] + ":" + strconv.Itoa(c.n)
}

// parseChoice reads what String writes.
func parseChoice(s string) (choice, error) {
	word, rest, _ := strings.Cut(s, ":")
	c := choice{torn: word == "torn"}
	if c.torn {
		word = hows[reduced]
	}
	i := slices.Index(hows[:], word)
	if i < 0 {
		return choice{}, fmt.Errorf("crashfs: unknown choice %q", s)
	}
	c.how = how(i)
	var err error
	switch c.how {
	case drawn:
	case reduced:
		for part := range strings.SplitSeq(rest, ".") {
			var l loss
			if part == "" {
				continue
			}
			if _, err := fmt.Sscanf(part, "%d=%d", &l.unit, &l.digit); err != nil {
				return choice{}, fmt.Errorf("crashfs: choice %q: %w", s, err)
			}
			c.lost = append(c.lost, l)
		}
	default:
		if c.n, err = strconv.Atoi(rest); err != nil {
			return choice{}, fmt.Errorf("crashfs: choice %q: %w", s, err)
		}
	}
	return c, nil
}

// choices are those that the policy asks for, with the seed of each.
func (p *plan) choices(seed uint64) iter.Seq2[choice, uint64] {
	return func(yield func(choice, uint64) bool) {
		if p.c.policy.Systematic && !p.systematic(seed, yield) {
			return
		}
		if limit := p.c.policy.ExhaustUpTo; limit > 0 {
			if n := p.states(limit); n <= limit {
				for i := range n {
					if !yield(choice{how: all, n: i}, seed) {
						return
					}
				}
				if !p.drawsMore() {
					return // nothing is left to draw
				}
			}
		}
		for i := range p.c.policy.draws() {
			if !yield(choice{how: drawn}, seed+uint64(i)) {
				return
			}
		}
	}
}

// systematic yields all prefixes, drop-one and keep-one sets.
func (p *plan) systematic(seed uint64, yield func(choice, uint64) bool) bool {
	n := len(p.items)
	for i := range n + 1 {
		if !yield(choice{how: prefix, n: i}, seed) {
			return false
		}
	}
	for i := range n {
		if !yield(choice{how: drop, n: i}, seed) || !yield(choice{how: keep, n: i}, seed) {
			return false
		}
	}
	return true
}

// drawsMore reports whether draws reach images that no digits name.
func (p *plan) drawsMore() bool { return p.c.policy.Data == DataTorn || p.c.policy.Size == SizeGarbage }

// draws is how many images a step are drawn.
func (p *Policy) draws() int {
	switch {
	case p.Random == 0:
		return 4
	case p.Random < 0:
		return 0
	}
	return p.Random
}

// newPick is a pick for use by set.
func (p *plan) newPick() *pick { return &pick{digits: make([]int32, len(p.units))} }

// parse makes a pick of a choice.
func (p *plan) parse(c choice, seed uint64) (*pick, error) {
	k := p.newPick()
	return k, p.set(k, c, seed)
}

// set makes k the pick of a choice. An error says that the choice is not one of this plan.
func (p *plan) set(k *pick, c choice, seed uint64) error {
	k.drawn, k.key = false, p.c.key(seed)
	limit := len(p.items)
	switch c.how {
	case drawn:
		p.drawn(k, seed)
		return nil
	case reduced:
		return p.reduce(k, c)
	case prefix:
		limit++
		p.choose(k.digits, func(i int) bool { return i < c.n })
	case drop:
		p.choose(k.digits, func(i int) bool { return i != c.n })
	case keep:
		p.choose(k.digits, func(i int) bool { return i == c.n })
	case all:
		limit = p.states(mostStates)
		rest := c.n
		for i, u := range p.units {
			k.digits[i] = int32(rest % int(u.radix))
			rest /= int(u.radix)
		}
	}
	if c.n < 0 || c.n >= limit {
		return fmt.Errorf("crashfs: choice %s of %d", c, limit)
	}
	return nil
}

// drawn makes k the pick that is drawn by seed.
func (p *plan) drawn(k *pick, seed uint64) {
	k.drawn, k.key = true, p.c.key(seed)
	p.random(k)
}

// reduce makes k the pick with the losses of c.
func (p *plan) reduce(k *pick, c choice) error {
	copy(k.digits, p.full())
	k.drawn = c.torn
	for _, l := range c.lost {
		if l.unit < 0 || l.unit >= len(p.units) || l.digit < 0 || l.digit >= p.units[l.unit].radix {
			return fmt.Errorf("crashfs: choice %s: no digit %d of unit %d", c, l.digit, l.unit)
		}
		k.digits[l.unit] = l.digit
	}
	return nil
}
