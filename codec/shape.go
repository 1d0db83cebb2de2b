package codec

import (
	"fmt"

	"github.com/stratalog/strata/internal/varint"
)

// shape is where the parts of a record of magic 2 lie, as positions from its beginning.
type shape struct {
	end        int   // position behind the record
	timestamp  int64 // from the base timestamp
	offset     int64 // from the base offset
	key        int   // position
	keyBytes   int   // −1 is null
	value      int
	valueBytes int

	headers     int // position of the first
	headerCount int
}

// read finds the parts of the record that b begins with, and checks that they fill it.
func (s *shape) read(b []byte) error {
	end, timestamp, offset, key, keyBytes, value, valueBytes := quickShape(b)
	if end == 0 {
		return s.slow(b)
	}
	s.end, s.timestamp, s.offset = end, timestamp, offset
	s.key, s.keyBytes, s.value, s.valueBytes = key, keyBytes, value, valueBytes
	s.headerCount = 0
	return nil
}

// quickShape is shape.read for what nearly all records are: integers of one or two bytes, no headers. Its results
// stay in registers. end is 0 where slow must look.
func quickShape(b []byte) (end int, timestamp, offset int64, key, keyBytes, value, valueBytes int) {
	size, at := varint.Short(b, 0)
	stop := at + size>>1 // size>>1 is its zig-zag undone
	if size&1 != 0 || stop > uint(len(b)) {
		return 0, 0, 0, 0, 0, 0, 0
	}
	b = b[:stop]
	t, at := varint.Short(b, at+1) // behind the attributes
	o, at := varint.Short(b, at)
	k, at := varint.Short(b, at)
	key, at = int(at), skipPart(k, at)
	v, at := varint.Short(b, at)
	value, at = int(at), skipPart(v, at)
	if at != uint(len(b))-1 || b[at] != 0 {
		return 0, 0, 0, 0, 0, 0, 0
	}
	return len(b), varint.Unzig(uint64(t)), varint.Unzig(uint64(o)),
		key, int(varint.Unzig(uint64(k))), value, int(varint.Unzig(uint64(v)))
}

// skipPart is the position behind a key or value at at, of the size u before its zig-zag is undone: behind
// everything where that is below null.
func skipPart(u, at uint) uint {
	switch {
	case u&1 == 0:
		return at + u>>1
	case u == nullPart:
		return at
	}
	return varint.Long
}

// nullPart is the size of null, −1, before its zig-zag is undone.
const nullPart = 1

// slow is read for any bytes.
func (s *shape) slow(b []byte) error {
	c := cursor{b: b}
	size := c.varint32("size")
	if c.err == nil && (size < 0 || int(size) > len(b)-c.pos) {
		return fmt.Errorf("record of %d bytes in %d: %w", size, len(b)-c.pos, ErrCorrupt)
	}
	if c.err != nil {
		return c.err
	}
	s.end = c.pos + int(size)
	c.b = b[:s.end]
	c.skip("attributes", 1)
	s.timestamp = c.varint64("timestamp")
	s.offset = int64(c.varint32("offset"))
	s.key, s.keyBytes = c.bytes("key")
	s.value, s.valueBytes = c.bytes("value")
	s.headerCount = c.count()
	s.headers = c.pos
	for range s.headerCount {
		c.headerKey()
		c.bytes("header value")
		if c.err != nil {
			break
		}
	}
	if c.err == nil && c.pos != s.end {
		return fmt.Errorf("record ends %d bytes before its size says: %w", s.end-c.pos, ErrCorrupt)
	}
	return c.err
}

// readHeaders appends the headers of a record whose shape read has checked.
func readHeaders(dst []RecordHeader, b []byte, s *shape) []RecordHeader {
	c := cursor{b: b[:s.end], pos: s.headers}
	for range s.headerCount {
		key, keyBytes := c.headerKey()
		value, valueBytes := c.bytes("header value")
		dst = append(dst, RecordHeader{Key: part(b, key, keyBytes), Value: part(b, value, valueBytes)})
	}
	return dst
}

// cursor reads the fields of a record one after the other. After an error it reads nothing more.
type cursor struct {
	b   []byte
	pos int
	err error
}

// took moves on by a varint of n bytes, which is what package varint says of its size.
func (c *cursor) took(what string, n int) bool {
	switch {
	case n > 0:
		c.pos += n
		return true
	case n == 0:
		c.err = fmt.Errorf("record ends in its %s: %w", what, ErrCorrupt)
	default:
		c.err = fmt.Errorf("record's %s is no integer: %w", what, ErrCorrupt)
	}
	return false
}

func (c *cursor) varint32(what string) int32 {
	if c.err != nil {
		return 0
	}
	v, n := varint.Read32(c.b[c.pos:])
	if !c.took(what, n) {
		return 0
	}
	return v
}

func (c *cursor) varint64(what string) int64 {
	if c.err != nil {
		return 0
	}
	v, n := varint.Read64(c.b[c.pos:])
	if !c.took(what, n) {
		return 0
	}
	return v
}

func (c *cursor) skip(what string, n int) {
	if c.err == nil && n > len(c.b)-c.pos {
		c.err = fmt.Errorf("record's %s has %d bytes of %d: %w", what, len(c.b)-c.pos, n, ErrCorrupt)
	}
	if c.err == nil {
		c.pos += n
	}
}

// bytes passes over a size and as many bytes. Any negative size is null, as in Kafka, which writes −1; n is −1 then.
func (c *cursor) bytes(what string) (pos, n int) {
	size := max(c.varint32(what), -1)
	pos = c.pos
	c.skip(what, int(max(size, 0)))
	return pos, int(size)
}

// headerKey is bytes for the key of a header, which can't be null.
func (c *cursor) headerKey() (pos, n int) {
	const what = "header key"
	pos, n = c.bytes(what)
	if c.err == nil && n < 0 {
		c.err = fmt.Errorf("record's %s is null: %w", what, ErrCorrupt)
	}
	return pos, n
}

// count reads the number of headers, which can't be larger than the bytes that are left allow.
func (c *cursor) count() int {
	n := c.varint32("number of headers")
	if c.err == nil && (n < 0 || int(n) > (len(c.b)-c.pos)/minRecordHdrBytes) {
		c.err = fmt.Errorf("%d headers in %d bytes: %w", n, len(c.b)-c.pos, ErrCorrupt)
	}
	if c.err != nil {
		return 0
	}
	return int(n)
}
