package producer

import (
	"hash/maphash"
	"iter"
)

// table is producers by id. Each append asks for one of very many, which are in no cache, and behind each system
// call no address translation is, either: so it counts how many places in memory a look-up comes to. Here it is
// a slot and the entry; in a map of Go's there are five.
//
// A producer is in the slot that its id names, or in the next free one behind it, which has no entry. At least half
// of the slots are free. Entries lie in chunks, and stay where they are until keep.
//
// Brokers give ids out one after the other, and producers that began together append in about the same turns. So ids
// that differ in their last bits only have one hash and slots next to each other, in one line of the cache.
type table struct {
	seed   maphash.Seed // so that nobody can choose ids that all name one slot
	slots  []slot       // a power of two of them
	n      int          // of producers
	chunks []*[chunkEntries]entry
}

// slot is where a producer is found: eight bytes, without a pointer.
type slot struct {
	number uint32 // of the entry, from 1 on; 0 is a free slot
	tag    uint32 // of the hash, with the last bits of the id: of another producer it is nearly always another
}

const (
	chunkEntries  = 64
	leastSlots    = 8
	neighbourBits = 3 // as many slots are 64 bytes
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
	for i := range t.n {
		s, tag := t.find(t.entry(i).id)
		*s = slot{uint32(i + 1), tag}
	}
}

// entry is the i-th.
func (t *table) entry(i int) *entry { return &t.chunks[i/chunkEntries][i%chunkEntries] }

// find is the slot of the producer, or the free one that it would take, and its tag.
func (t *table) find(id int64) (s *slot, tag uint32) {
	const neighbours = 1<<neighbourBits - 1
	at := maphash.Comparable(t.seed, id>>neighbourBits)&^neighbours | uint64(id)&neighbours
	tag = uint32(at>>32)&^neighbours | uint32(at)&neighbours
	for last := uint64(len(t.slots) - 1); ; at++ {
		s = &t.slots[at&last]
		if s.number == 0 || s.tag == tag && t.entry(int(s.number-1)).id == id {
			return s, tag
		}
	}
}

// get is the producer's entry, or nil.
func (t *table) get(id int64) *entry {
	s, _ := t.find(id)
	if s.number == 0 {
		return nil
	}
	return t.entry(int(s.number - 1))
}

// put adds an entry, or puts it in the place of the one that its producer has.
func (t *table) put(e *entry) {
	s, tag := t.find(e.id)
	if s.number == 0 {
		if t.n%chunkEntries == 0 {
			t.chunks = append(t.chunks, new([chunkEntries]entry))
		}
		t.n++
		*s = slot{uint32(t.n), tag}
	}
	*t.entry(int(s.number - 1)) = *e
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
			if !yield(t.entry(i)) {
				return
			}
		}
	}
}
