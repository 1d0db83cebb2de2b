package codec

import (
	"encoding/binary"
	"fmt"

	"github.com/stratalog/strata/internal/varint"
)

// shape is where the parts of a record of magic 2 lie.
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

// read finds the parts of the record at pos in b, and checks that they fill it.
func (s *shape) read(b []byte, pos int) error {
	end, timestamp, offset, key, keyBytes, value, valueBytes := quickShape(b, pos)
	if end == 0 {
		return s.slow(b, pos)
	}
	s.end, s.timestamp, s.offset = end, timestamp, offset
	s.key, s.keyBytes, s.value, s.valueBytes = key, keyBytes, value, valueBytes
	s.headerCount = 0
	return nil
}

// quickBytes is what quickShape needs to see from a record's begin: everything up to the key's size.
const quickBytes = 9

// quickShape is shape.read for what nearly all records are: sizes and deltas of one or two bytes, no headers.
// It loads eight bytes once and takes the integers from the register; its results too stay in registers. end
// is 0 where slow must look.
func quickShape(b []byte, pos int) (end int, timestamp, offset int64, key, keyBytes, value, valueBytes int) {
	if pos+quickBytes > len(b) {
		return end, timestamp, offset, key, keyBytes, value, valueBytes
	}
	w := binary.LittleEndian.Uint64(b[pos:])
	size, n := varint.Short(w)
	w >>= (n + 8) & 63 // and the attributes; the mask saves the compiler a comparison
	t, m := varint.Short(w)
	w >>= m & 63
	o, l := varint.Short(w)
	stop := pos + int(n>>3+uint(size>>1)) // size>>1 is its zig-zag undone
	key = pos + int((n+m+l)>>3) + 1
	if n == 0 || m == 0 || l == 0 || size&1 != 0 || stop > len(b) || key+2 > stop {
		return 0, 0, 0, 0, 0, 0, 0
	}
	u, n := varint.Short(uint64(binary.LittleEndian.Uint16(b[key:])))
	key += int(n >> 3)
	keyBytes = int(varint.Unzig(u))
	value = key + max(keyBytes, 0)
	if n == 0 || keyBytes < -1 || value+2 > stop {
		return 0, 0, 0, 0, 0, 0, 0
	}
	u, n = varint.Short(uint64(binary.LittleEndian.Uint16(b[value:])))
	value += int(n >> 3)
	valueBytes = int(varint.Unzig(u))
	if n == 0 || valueBytes < -1 || value+max(valueBytes, 0)+1 != stop || b[stop-1] != 0 {
		return 0, 0, 0, 0, 0, 0, 0
	}
	return stop, varint.Unzig(t), varint.Unzig(o), key, keyBytes, value, valueBytes
}

// slow is read for any bytes.
func (s *shape) slow(b []byte, pos int) error {
	c := cursor{b: b, pos: pos}
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
	s.key, s.keyBytes = c.bytes("key", -1)
	s.value, s.valueBytes = c.bytes("value", -1)
	s.headerCount = c.count()
	s.headers = c.pos
	for range s.headerCount {
		c.bytes("header key", 0)
		c.bytes("header value", -1)
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
		key, keyBytes := c.bytes("header key", 0)
		value, valueBytes := c.bytes("header value", -1)
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

// bytes passes over a size and as many bytes. The size may be least or more; −1 is null.
func (c *cursor) bytes(what string, least int32) (pos, n int) {
	size := c.varint32(what)
	if c.err == nil && size < least {
		c.err = fmt.Errorf("record's %s has %d bytes: %w", what, size, ErrCorrupt)
	}
	pos = c.pos
	c.skip(what, int(max(size, 0)))
	return pos, int(size)
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
