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
func (f *osFile) CopyTo(w io.Writer, off, n int64) (int64, error) {
	if err := f.readable(min(off, n)); err != nil {
		return 0, f.fail("copy", err)
	}
	short := n > math.MaxInt64-off // the file ends before that, wherever it does
	if short {
		n = math.MaxInt64 - off
	}
	// Whatever stops send, the copy of the rest meets it as well, and tells on which side it is.
	sent := f.handle.send(w, off, n)
	copied, err := f.copyThrough(w, off+sent, n-sent)
	sent += copied
	if err == nil && short {
		err = f.fail("copy", io.ErrUnexpectedEOF)
	}
	return sent, err
}

// copyThrough is CopyTo through a buffer.
func (f *osFile) copyThrough(w io.Writer, off, n int64) (int64, error) {
	buf := copyBuffers.Get().(*[copyBufferSize]byte)
	defer copyBuffers.Put(buf)
	var done int64
	for done < n {
		chunk := buf[:min(copyBufferSize, n-done)]
		got, readErr := f.ReadAt(chunk, off+done)
		put, err := writeAll(w, chunk[:got])
		done += int64(put)
		switch {
		case err != nil:
			return done, err
		case errors.Is(readErr, io.EOF):
			return done, f.fail("copy", io.ErrUnexpectedEOF)
		case readErr != nil:
			return done, f.fail("copy", readErr)
		}
	}
	return done, nil
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
