package crashfs

import "slices"

// extent is the units [from, to).
type extent struct{ from, to int64 }

// extents are the units that a file owns, in order, never touching. They are not changed in place: add and
// cut return others.
type extents []extent

// total is how many units there are.
func (e extents) total() (n int64) {
	for _, x := range e {
		n += x.to - x.from
	}
	return n
}

// add is e with [from, to).
func (e extents) add(from, to int64) extents {
	if from >= to {
		return e
	}
	first, _ := slices.BinarySearchFunc(e, from, func(x extent, from int64) int {
		if x.to < from {
			return -1
		}
		return 1
	})
	last := first
	for last < len(e) && e[last].from <= to {
		from, to = min(from, e[last].from), max(to, e[last].to)
		last++
	}
	if last == first+1 && e[first] == (extent{from, to}) {
		return e
	}
	return slices.Concat(e[:first], extents{{from, to}}, e[last:])
}

// cut is e without [end, …).
func (e extents) cut(end int64) extents {
	for i, x := range e {
		if x.to > end {
			return e[:i:i].add(x.from, min(x.to, end))
		}
	}
	return e
}

// fit is the largest to' ≤ to for which [from, to') takes at most room units that e does not have.
func (e extents) fit(from, to, room int64) int64 {
	at := from
	for _, x := range e {
		if x.to <= at || at >= to {
			continue
		}
		hole := max(min(x.from, to)-at, 0)
		if hole > room {
			return at + room
		}
		room -= hole
		at = min(x.to, to)
	}
	return min(to, at+room)
}
