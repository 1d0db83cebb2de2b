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
	warm                 int // entries in the last warmBytes
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
		warm:       warmBytes / l.EntryBytes(),
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

// as is v as it would be stored, or the nearest number to that.
func (f field) as(v int64) int64 {
	if stored := v - f.base; stored <= v { // base is not negative
		return stored
	}
	return math.MinInt64
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
