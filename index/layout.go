package index

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Layout is how an Entry lies on disk. A number of 4 bytes, and a relative one, is within [0, 2³¹); others
// are any.
type Layout struct {
	KeyBytes, ValueBytes       int  // 4 or 8 each
	KeyRelative, ValueRelative bool // stored minus Options.Base
}

// Kafka's layouts.
var (
	OffsetLayout = Layout{KeyBytes: 4, ValueBytes: 4, KeyRelative: true}   // offset → position
	TimeLayout   = Layout{KeyBytes: 8, ValueBytes: 4, ValueRelative: true} // timestamp → offset
)

// EntryBytes is the size of one entry.
func (l Layout) EntryBytes() int { return l.KeyBytes + l.ValueBytes }

// valid reports whether l is a Layout.
func (l Layout) valid() bool {
	return (l.KeyBytes == 4 || l.KeyBytes == 8) && (l.ValueBytes == 4 || l.ValueBytes == 8)
}

// format is a Layout for one base. Each number is stored minus the base of its field.
type format struct {
	keyBytes, entryBytes int
	key, value           field
}

// field is how one number is stored.
type field struct {
	bytes int
	base  int64 // subtracted; 0 where the number is absolute
	small bool  // stored within [0, 2³¹)
}

func newFormat(l Layout, base int64) format {
	return format{
		keyBytes:   l.KeyBytes,
		entryBytes: l.EntryBytes(),
		key:        newField(l.KeyBytes, l.KeyRelative, base),
		value:      newField(l.ValueBytes, l.ValueRelative, base),
	}
}

func newField(bytes int, relative bool, base int64) field {
	f := field{bytes: bytes, small: relative || bytes == 4}
	if relative {
		f.base = base
	}
	return f
}

// holds reports whether v can be stored. The difference does not overflow: base is not negative, and v not
// below it.
func (f field) holds(v int64) bool {
	return !f.small || v >= f.base && v-f.base <= math.MaxInt32
}

// put stores v at the beginning of b.
func (f field) put(b []byte, v int64) {
	if f.bytes == 4 {
		binary.BigEndian.PutUint32(b, uint32(v-f.base))
	} else {
		binary.BigEndian.PutUint64(b, uint64(v-f.base))
	}
}

// stored is the number that b begins with, as it is stored.
func (f field) stored(b []byte) int64 {
	if f.bytes == 4 {
		return int64(int32(binary.BigEndian.Uint32(b)))
	}
	return int64(binary.BigEndian.Uint64(b))
}

// encode stores e in b, which has room for it.
func (f *format) encode(b []byte, e Entry) {
	f.key.put(b, e.Key)
	f.value.put(b[f.keyBytes:], e.Value)
}

// decode is the entry that b begins with.
func (f *format) decode(b []byte) Entry {
	return Entry{
		Key:   f.key.base + f.key.stored(b),
		Value: f.value.base + f.value.stored(b[f.keyBytes:]),
	}
}

// warmBytes are at the end of an index, where most look-ups lead to.
const warmBytes = 8192

// search finds the last entry in b whose key is at most key. Where b holds no entries in order, it answers
// with any of them or none.
//
// The last warmBytes are tried first: their pages stay in memory, while a plain binary search of a growing
// index comes to other pages by and by, and waits for the disk (KAFKA-6432).
func (f *format) search(b []byte, key int64) (e Entry, ok bool) {
	n := len(b) / f.entryBytes
	low, high := 0, n-1 // the entry is in [low, high], if there is one
	if warm := n - 1 - warmBytes/f.entryBytes; warm > 0 {
		if f.keyAt(b, warm) <= key {
			low = warm
		} else {
			high = warm - 1
		}
	}
	if low == 0 && (n == 0 || f.keyAt(b, 0) > key) {
		return Entry{}, false
	}
	for low < high {
		middle := int(uint(low+high+1) >> 1)
		if f.keyAt(b, middle) <= key {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return f.decode(b[low*f.entryBytes:]), true
}

// keyAt is the key of the i-th entry in b.
func (f *format) keyAt(b []byte, i int) int64 {
	return f.key.base + f.key.stored(b[i*f.entryBytes:])
}

// follows is why e cannot be an entry, with last before it (nil: none), or nil.
func (f *format) follows(last *Entry, e Entry) error {
	switch {
	case last != nil && e.Key <= last.Key:
		return fmt.Errorf("key %d after %d: %w", e.Key, last.Key, ErrOrder)
	case last != nil && e.Value < last.Value:
		return fmt.Errorf("value %d after %d: %w", e.Value, last.Value, ErrOrder)
	case !f.key.holds(e.Key):
		return fmt.Errorf("key %d with base %d: %w", e.Key, f.key.base, ErrRange)
	case !f.value.holds(e.Value):
		return fmt.Errorf("value %d with base %d: %w", e.Value, f.value.base, ErrRange)
	}
	return nil
}
