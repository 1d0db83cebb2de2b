package codec

import (
	"math"

	"github.com/stratalog/strata/internal/varint"
)

// walk looks over the records of a batch of magic 2 whose offsets must have no gap. It builds no Record, and keeps
// what rules of a leader ask of all of them.
type walk struct {
	rest    []byte // of the section: what was not looked at
	i, n    uint   // records looked at, and how many there are
	base    int64  // timestamp
	nullKey bool   // of any record

	oldest, newest int64
}

// newWalk is a walk before the first record.
func newWalk(h *Header, section []byte) walk {
	return walk{
		rest: section, n: uint(h.Count), base: h.BaseTimestamp,
		oldest: math.MaxInt64, newest: math.MinInt64,
	}
}

// all looks at all records. It is false if one cannot be read or has another offset than the next, or if bytes are
// left.
func (w *walk) all() bool {
	for w.usual(); w.i < w.n; w.usual() {
		if !w.unusual() {
			return false
		}
	}
	return len(w.rest) == 0
}

// usual goes on to the first record that is not what nearly all are: integers of one or two bytes, no headers. It
// knows the parts of quickShape, but has no use for where they lie; and what it counts stays in registers, since
// no record is a call.
func (w *walk) usual() {
	b, i, oldest, newest := w.rest, w.i, w.oldest, w.newest
	begin := uint(0) // of the record
	for ; i < w.n; i++ {
		size, at := varint.Short(b, begin)
		stop := at + size>>1
		timestamp, at := varint.Short(b, at+1)
		offset, at := varint.Short(b, at)
		if size&1 != 0 || offset != 2*i {
			break
		}
		key, at := varint.Short(b, at)
		value, at := varint.Short(b, skipPart(key, at))
		at = skipPart(value, at)
		if at >= uint(len(b)) || at+1 != stop || b[at] != 0 {
			break
		}
		begin = stop
		t := w.base + varint.Unzig(uint64(timestamp))
		oldest, newest = min(oldest, t), max(newest, t)
		w.nullKey = w.nullKey || key == nullPart
	}
	w.rest, w.i, w.oldest, w.newest = b[begin:], i, oldest, newest
}

// unusual looks at one record.
func (w *walk) unusual() bool {
	var s shape
	if s.slow(w.rest) != nil || s.offset != int64(w.i) {
		return false
	}
	w.rest = w.rest[s.end:]
	w.i++
	t := w.base + s.timestamp
	w.oldest, w.newest = min(w.oldest, t), max(w.newest, t)
	w.nullKey = w.nullKey || s.keyBytes < 0
	return true
}
