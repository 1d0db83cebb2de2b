package fsio

import (
	"errors"
	"io"
	"math"
	"sync"
)

const copyBufferSize = 256 << 10

// copyBuffers are for copies that pass through the process.
var copyBuffers = sync.Pool{New: func() any { return new([copyBufferSize]byte) }}

// CopyTo is File's.
//
// A Close meanwhile does not wait, since w may take for ever, and the copy goes on.
func (f *osFile) CopyTo(w io.Writer, off, n int64) (int64, error) {
	if err := f.begin(min(off, n)); err != nil {
		return 0, f.fail("copy", err)
	}
	f.handle.retain()
	f.end()
	sent, err := f.copyTo(w, off, n)
	return sent, join(err, f.fail("close", f.handle.release()))
}

// copyTo is CopyTo of a file that stays open.
func (f *osFile) copyTo(w io.Writer, off, n int64) (int64, error) {
	end := off + min(n, math.MaxInt64-off)
	pos := off + f.handle.send(w, off, end-off)
	// Whatever stopped send, the copy of the rest meets it as well, and tells on which side it is.
	buf := copyBuffers.Get().(*[copyBufferSize]byte)
	defer copyBuffers.Put(buf)
	for pos < end {
		got, readErr := f.handle.readAt(buf[:min(copyBufferSize, end-pos)], pos)
		put, err := writeAll(w, buf[:got])
		pos += int64(put)
		switch {
		case err != nil:
			return pos - off, err
		case errors.Is(readErr, io.EOF):
			return pos - off, f.fail("copy", io.ErrUnexpectedEOF)
		case readErr != nil:
			return pos - off, f.fail("copy", readErr)
		}
	}
	if end-off < n {
		return pos - off, f.fail("copy", io.ErrUnexpectedEOF) // no file reaches beyond MaxInt64
	}
	return pos - off, nil
}

// writeAll writes p to w, and makes a count that w may not return an error.
func writeAll(w io.Writer, p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := w.Write(p)
	if n < 0 || n > len(p) {
		n = 0
		err = join(err, errors.New("fsio: writer returned an invalid count"))
	}
	if n < len(p) && err == nil {
		err = io.ErrShortWrite
	}
	return n, err
}
