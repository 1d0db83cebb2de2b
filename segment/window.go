package segment

import (
	"errors"
	"io"
	"sync"
)

const (
	// lookBytes is what a look-up reads: the stretch that one index entry leads to by default, 4096 bytes,
	// and the header of the batch behind it.
	lookBytes = 4608

	// longLookBytes is what a look-up reads at once after a while: it has no index that leads it.
	longLookBytes = 64 << 10

	// scanBytes is what a scan reads at once. Blocks of 1 MiB are 12–18 % faster than such of 256 KiB.
	scanBytes = 1 << 20
)

// window is the part of a file that is in memory. It moves along as bytes are asked for.
type window struct {
	from  io.ReaderAt
	end   int64 // no byte at or behind it is read
	block int   // how much one read asks for; grown by look-ups that go on and on
	buf   []byte
	pos   int64 // of buf in the file
}

// windows and scans keep the buffers of look-ups and of scans for the next.
var (
	windows = sync.Pool{New: func() any { return &window{buf: make([]byte, 0, 2*lookBytes)} }}
	scans   = sync.Pool{New: func() any { return &window{buf: make([]byte, 0, scanBytes)} }}
)

// lookAt returns a window for a few headers, scanOf one for all bytes. free takes them back.
func lookAt(from io.ReaderAt, end int64) *window {
	w := windows.Get().(*window)
	w.reset(from, end, lookBytes)
	return w
}

func scanOf(from io.ReaderAt, end int64) *window {
	w := scans.Get().(*window)
	w.reset(from, end, scanBytes)
	return w
}

func (w *window) reset(from io.ReaderAt, end int64, block int) {
	w.from, w.end, w.block, w.buf, w.pos = from, end, block, w.buf[:0], 0
}

// free gives the window back. What an outsized batch has made larger is left to the garbage collector.
func (w *window) free() {
	w.from = nil
	switch {
	case cap(w.buf) == scanBytes:
		scans.Put(w)
	case cap(w.buf) == 2*lookBytes:
		windows.Put(w)
	}
}

// forget makes the window read anew.
func (w *window) forget() { w.buf = w.buf[:0] }

// at returns the n bytes at pos, or those there are up to the end, valid until the next call.
func (w *window) at(pos int64, n int) ([]byte, error) {
	n = int(min(int64(n), max(0, w.end-pos)))
	if pos < w.pos || pos+int64(n) > w.pos+int64(len(w.buf)) {
		if err := w.move(pos, n); err != nil {
			return nil, err
		}
	}
	i := int(pos - w.pos)
	return w.buf[i : i+n : i+n], nil
}

// move makes the window begin at pos and hold at least n bytes. What it has of them already is kept.
func (w *window) move(pos int64, n int) error {
	kept := 0
	ahead := pos - w.pos
	if ahead >= 0 && ahead < int64(len(w.buf)) {
		kept = copy(w.buf, w.buf[ahead:])
	}
	if near := int64(len(w.buf) + w.block); ahead > 0 && ahead < near && w.block < longLookBytes {
		w.block *= 2
	}
	size := int(min(int64(max(n, w.block)), w.end-pos))
	if size > cap(w.buf) {
		w.buf = append(make([]byte, 0, size), w.buf[:kept]...)
	}
	w.buf, w.pos = w.buf[:size], pos
	got, err := w.from.ReadAt(w.buf[kept:], pos+int64(kept))
	if got < size-kept {
		w.buf = w.buf[:kept+got]
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // the set was cut meanwhile
		}
		if len(w.buf) < n {
			w.buf = w.buf[:0]
			return err
		}
	}
	return nil
}
