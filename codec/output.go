package codec

import "slices"

const (
	// growBytes is how far output grows one slice, copying as it goes; beyond, it takes pieces.
	growBytes = 1 << 20
	// pieceBytes is the size of a piece.
	pieceBytes = 1 << 20
)

// output collects what a decompressor unpacks, never more than limit bytes.
//
// What fits into the caller's slice goes there, and small results grow it. Large ones are held in pieces
// and joined at the end: a slice that doubles would need old and new at once, which for a bomb is far more
// memory than its limit.
type output struct {
	dst   []byte   // as the caller gave it
	tail  []byte   // dst and what follows it, or the last piece
	full  [][]byte // the slices before tail
	size  int      // bytes unpacked
	limit int
}

// newOutput is an empty output behind dst. A negative limit is 0.
func newOutput(dst []byte, limit int) output {
	return output{dst: dst, tail: dst, limit: max(limit, 0)}
}

// left is the number of bytes that may still be unpacked.
func (o *output) left() int { return o.limit - o.size }

// room is where the next bytes go: at least n bytes, which are to be reported with add.
func (o *output) room(n int) []byte {
	if cap(o.tail)-len(o.tail) < n {
		if len(o.full) == 0 && o.size+n <= growBytes {
			o.tail = slices.Grow(o.tail, n)
		} else {
			o.full = append(o.full, o.tail)
			o.tail = make([]byte, 0, max(n, min(pieceBytes, o.left())))
		}
	}
	return o.tail[len(o.tail):cap(o.tail)]
}

// add says that n bytes of the room were filled.
func (o *output) add(n int) {
	o.tail = o.tail[:len(o.tail)+n]
	o.size += n
}

// bytes is dst followed by all that was unpacked.
func (o *output) bytes() []byte {
	if len(o.full) == 0 {
		return o.tail
	}
	all := make([]byte, 0, len(o.dst)+o.size)
	for _, piece := range o.full {
		all = append(all, piece...)
	}
	return append(all, o.tail...)
}
