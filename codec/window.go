package codec

import "io"

const (
	// windowBytes is what a window reads at once: blocks of 1 MiB are faster than those of 256 KiB by an
	// eighth.
	windowBytes = 1 << 20
	// idleReads is how often a reader may return nothing before it is called broken.
	idleReads = 100
)

// window is a part of a stream in memory.
type window struct {
	reader     io.Reader
	atOnce     int
	buf        []byte
	start, end int // what of buf is filled and not passed
	done       bool
	err        error // but for io.EOF
}

// newWindow returns a window on r, which has size bytes if that is not 0.
func newWindow(r io.Reader, size int64) window {
	if size <= 0 || size >= windowBytes {
		return window{reader: r, atOnce: windowBytes}
	}
	return window{reader: r, atOnce: int(size) + 1} // one more, to see the end in the same read
}

// bytes are those in the window. They are valid until it is filled.
func (w *window) bytes() []byte { return w.buf[w.start:w.end] }

// fill reads until the window has n bytes, or the stream ends. The memory grows with what was read, not with
// n: that may be what a damaged size says.
func (w *window) fill(n int) {
	for w.end-w.start < n && !w.done {
		switch {
		case w.end < len(w.buf):
		case w.start > 0 && w.end-w.start <= len(w.buf)/2:
			w.end = copy(w.buf, w.bytes())
			w.start = 0
		default:
			grown := make([]byte, max(2*(w.end-w.start), w.atOnce))
			w.end = copy(grown, w.bytes())
			w.start, w.buf = 0, grown
		}
		w.read()
	}
}

// read reads once into the free end of the buffer.
func (w *window) read() {
	for range idleReads {
		n, err := w.reader.Read(w.buf[w.end:])
		w.end += n
		if err != nil {
			w.done = true
			if err != io.EOF { // io.Reader's contract: EOF comes unwrapped
				w.err = err
			}
			return
		}
		if n > 0 {
			return
		}
	}
	w.done, w.err = true, io.ErrNoProgress
}
