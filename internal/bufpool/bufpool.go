// Package bufpool lends byte slices, so that work on batches does not allocate one each time.
package bufpool

import "sync"

// keepBytes is the capacity up to which a slice is kept: one of a giant batch would hold its memory for
// good.
const keepBytes = 4 << 20

// Buffer is a borrowed slice. Its holder may put a longer one in its place.
type Buffer struct {
	B []byte
}

var pool = sync.Pool{New: func() any { return new(Buffer) }}

// Get returns a Buffer whose B is empty, with any capacity. It belongs to the caller until Put.
func Get() *Buffer {
	b := pool.Get().(*Buffer)
	b.B = b.B[:0]
	return b
}

// Put gives b back. Nothing may use it, or a part of its bytes, any more.
func Put(b *Buffer) {
	if cap(b.B) > keepBytes {
		b.B = nil
	}
	pool.Put(b)
}
