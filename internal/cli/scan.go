package cli

import (
	"errors"
	"io"
	"slices"

	"github.com/stratalog/strata/codec"
)

// scanBytes is how much a window reads at a time.
const scanBytes = 1 << 20

// attentive is a file whose reads fail once stop says why: the way over a large hole in a log is one step for
// who reads batches, and an interrupt does not wait for its end.
type attentive struct {
	file io.ReaderAt
	stop func() error
}

// ReadAt reads as the file does.
func (a attentive) ReadAt(p []byte, pos int64) (int, error) {
	if err := a.stop(); err != nil {
		return 0, err
	}
	return a.file.ReadAt(p, pos)
}

// window reads a file by position through a buffer, front to back.
type window struct {
	file io.ReaderAt
	end  int64 // of what is looked at
	buf  []byte
	pos  int64                 // of buf
	size func() (int64, error) // of the file now; nil: it counts as it was
}

// bytes are the n bytes at pos, or what is there of them; they are valid until the next call.
func (w *window) bytes(pos, n int64) ([]byte, error) {
	n = max(0, min(n, w.end-pos))
	if pos < w.pos || pos+n > w.pos+int64(len(w.buf)) {
		if err := w.fill(pos, max(n, min(scanBytes, w.end-pos))); err != nil {
			return nil, err
		}
	}
	from := pos - w.pos
	return w.buf[from:min(from+n, int64(len(w.buf)))], nil
}

// fill reads the n bytes at pos, as far as the file has them.
func (w *window) fill(pos, n int64) error {
	if int64(cap(w.buf)) < n {
		w.buf = make([]byte, n)
	}
	w.buf = w.buf[:max(n, 0)]
	got, err := w.file.ReadAt(w.buf, pos)
	w.buf, w.pos = w.buf[:got], pos
	if errors.Is(err, io.EOF) { // the file became shorter
		err = nil
	}
	return err
}

// zeros reports whether the n bytes at pos are zeros.
func (w *window) zeros(pos, n int64) bool {
	for end := pos + n; pos < end; {
		b, err := w.bytes(pos, min(scanBytes, end-pos))
		if err != nil || len(b) == 0 || slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
			return false
		}
		pos += int64(len(b))
	}
	return true
}

// batchAt is the header of the batch at pos. Where fewer bytes are left than the batch has, the error is
// codec.ErrShort.
func (w *window) batchAt(c codec.Codec, pos int64) (codec.Header, error) {
	h, err := w.headerAt(c, pos)
	if errors.Is(err, codec.ErrShort) && w.grown() {
		h, err = w.headerAt(c, pos)
	}
	return h, err
}

// grown takes the file as it is now, and reports whether it is longer.
func (w *window) grown() bool {
	if w.size == nil {
		return false
	}
	size, err := w.size()
	longer := err == nil && size > w.end
	if longer {
		w.end = size
	}
	return longer
}

// headerAt is the header of the batch at pos, in what is looked at.
func (w *window) headerAt(c codec.Codec, pos int64) (codec.Header, error) {
	b, err := w.bytes(pos, codec.MaxHeaderBytes)
	if err != nil {
		return codec.Header{}, err
	}
	h, err := c.Header(b)
	if err == nil && int64(h.Size) > w.end-pos {
		err = codec.ErrShort
	}
	return h, err
}

// table is a file of entries of equal size, as it lies on disk: also one that is no index that could have
// been written.
type table struct {
	window
	entryBytes int64
}

// len is the number of whole entries.
func (t *table) len() int { return int(t.end / t.entryBytes) }

// at is the i-th entry; zeros where the file has become shorter.
func (t *table) at(i int) ([]byte, error) {
	b, err := t.bytes(int64(i)*t.entryBytes, t.entryBytes)
	if err == nil && int64(len(b)) < t.entryBytes {
		b = make([]byte, t.entryBytes)
	}
	return b, err
}
