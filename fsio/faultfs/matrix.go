package faultfs

import (
	"math/bits"

	"github.com/stratalog/strata/fsio"
)

// Cell is one action of a Rule on one kind of call.
type Cell struct {
	Action string // fail, failafter, short, flip, zero, misdirect, drop, delay, hang, off or panic
	Kind   fsio.Kind
}

// Matrix lists each Cell that can be done, by action and then by kind. A suite that claims to have tried
// every fault ticks them off.
func Matrix() []Cell {
	var cells []Cell
	for _, a := range actions {
		for rest := a.kinds; rest != 0; rest &= rest - 1 {
			cells = append(cells, Cell{Action: a.name, Kind: 1 << bits.TrailingZeros32(uint32(rest))})
		}
	}
	return cells
}

// action is a set of actions.
type action uint16

const (
	fail action = 1 << iota
	failAfter
	short
	flip
	zero
	misdirect
	drop
	delay
	hang
	powerOff
	panics
)

// actions says to which kinds each action can be done, each at the place of its bit.
var actions = [...]struct {
	name  string
	kinds fsio.Kind
}{
	{"fail", fsio.All},
	{"failafter", fsio.All},
	{"short", fsio.OpReadAt | fsio.OpWriteAt | fsio.OpMapWriteAt | fsio.OpCopyTo},
	{"flip", fsio.OpReadAt | fsio.OpMapView | fsio.OpWriteAt | fsio.OpMapWriteAt},
	{"zero", fsio.OpReadAt | fsio.OpMapView},
	{"misdirect", fsio.OpReadAt | fsio.OpMapView | fsio.OpWriteAt | fsio.OpMapWriteAt | fsio.OpCopyTo},
	{"drop", fsio.Mutates&^fsio.OpCreate | fsio.Closes},
	{"delay", fsio.All},
	{"hang", fsio.All},
	{"off", fsio.All},
	{"panic", fsio.All},
}

// each yields the actions of a set, one by one.
func (a action) each(yield func(action) bool) {
	for rest := a; rest != 0; rest &= rest - 1 {
		if !yield(rest & -rest) {
			return
		}
	}
}

// index is the place of a single action in actions.
func (a action) index() int { return bits.TrailingZeros16(uint16(a)) }

// String is the words of a set, joined by " and ".
func (a action) String() string {
	var text string
	for single := range a.each {
		if text != "" {
			text += " and "
		}
		text += actions[single.index()].name
	}
	return text
}
