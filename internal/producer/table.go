package producer

import (
	"hash/maphash"
	"iter"
)

// table is producers by id. Each append asks for one of very many, which are in no cache, and behind each system
// call no address translation is, either: so it counts how many places in memory a look-up comes to. Here it is
// a slot and the entry; in a map of Go's there are five.
//
// A producer is in the slot that the hash of its id names, or in the next free one behind it, which has no
// entry. At least half of the slots are free. Entries lie in chunks, and stay where they are until keep.
type table struct {
	seed   maphash.Seed // so that nobody can choose ids that all name one slot
	slots  []slot       // a power of two of them
	n      int          // of producers
	chunks []*[chunkEntries]entry
}

// slot is where a producer is found.
type slot struct {
	id    int64
	entry *entry
}

const (
	chunkEntries = 64
	leastSlots   = 8
)

// newTable is an empty table with room for n producers.
func newTable(n int) table {
	t := table{seed: maphash.MakeSeed()}
	t.resize(n)
	return t
}

// resize makes room for n producers, and puts those that there are into their slots.
func (t *table) resize(n int) {
	size := leastSlots
	for size < 2*n {
		size *= 2
	}
	t.slots = make([]slot, size)
	for e := range t.all() {
		*t.find(e.id) = slot{e.id, e}
	}
}

// find is the slot of the producer, or the one that it would take.
func (t *table) find(id int64) *slot {
	last := len(t.slots) - 1
	for i := int(maphash.Comparable(t.seed, id)) & last; ; i = (i + 1) & last {
		if s := &t.slots[i]; s.entry == nil || s.id == id {
			return s
		}
	}
}

// get is the producer's entry, or nil.
func (t *table) get(id int64) *entry { return t.find(id).entry }

// put adds an entry, or puts it in the place of the one that its producer has.
func (t *table) put(e *entry) {
	s := t.find(e.id)
	if s.entry == nil {
		if t.n%chunkEntries == 0 {
			t.chunks = append(t.chunks, new([chunkEntries]entry))
		}
		*s = slot{e.id, &t.chunks[t.n/chunkEntries][t.n%chunkEntries]}
		t.n++
	}
	*s.entry = *e
	if 2*t.n > len(t.slots) {
		t.resize(t.n)
	}
}

// keep drops the producers that keep is not true for.
func (t *table) keep(keep func(e *entry) bool) {
	kept := newTable(0)
	for e := range t.all() {
		if keep(e) {
			kept.put(e)
		}
	}
	*t = kept
}

// all yields all producers, in no order that means something.
func (t *table) all() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for i := range t.n {
			if !yield(&t.chunks[i/chunkEntries][i%chunkEntries]) {
				return
			}
		}
	}
}
