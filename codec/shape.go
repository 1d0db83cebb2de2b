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

// quickBytes is what quick needs to see from a record's begin: everything up to the key's size.
const quickBytes = 9

// read finds the parts of the record at pos in b, and checks that they fill it.
func (s *shape) read(b []byte, pos int) error {
	if s.quick(b, pos) {
		return nil
	}
	return s.slow(b, pos)
}

// quick is read for the shape that nearly all records have: sizes and deltas of one or two bytes, no
// headers. It loads eight bytes once and takes the integers from the register. false says nothing but that
// slow must look.
func (s *shape) quick(b []byte, pos int) bool {
	if pos+quickBytes > len(b) {
		return false
	}
	w := binary.LittleEndian.Uint64(b[pos:])
	size, n := varint.Short(w)
	w >>= n + 8 // and the attributes
	timestamp, m := varint.Short(w)
	w >>= m
	offset, l := varint.Short(w)
	if n == 0 || m == 0 || l == 0 || size&1 != 0 {
		return false
	}
	end := pos + int(n/8) + int(size>>1)
	p := pos + int((n+m+l)/8) + 1

	keyBytes, n := varint.Short(uint64(binary.LittleEndian.Uint16(b[p:])))
	p += int(n / 8)
	s.key, s.keyBytes = p, int(varint.Unzig(keyBytes))
	p += max(s.keyBytes, 0)
	if n == 0 || s.keyBytes < -1 || end > len(b) || p+2 > end {
		return false
	}
	valueBytes, n := varint.Short(uint64(binary.LittleEndian.Uint16(b[p:])))
	p += int(n / 8)
	s.value, s.valueBytes = p, int(varint.Unzig(valueBytes))
	p += max(s.valueBytes, 0)
	if n == 0 || s.valueBytes < -1 || p+1 != end || b[p] != 0 {
		return false
	}
	s.end, s.headerCount = end, 0
	s.timestamp, s.offset = varint.Unzig(timestamp), varint.Unzig(offset)
	return true
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
