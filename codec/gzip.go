package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// gzipCompressor is GZIP: RFC 1952, one member when packing and any number of them when unpacking.
type gzipCompressor struct {
	level   int
	writers sync.Pool // of *gzipWriter
	readers sync.Pool // of *gzipReader
}

var _ Compressor = (*gzipCompressor)(nil)

// gzipWriter is a gzip.Writer together with what it writes to.
type gzipWriter struct {
	*gzip.Writer
	out appender
}

// gzipReader is a gzip.Reader together with what it reads from.
type gzipReader struct {
	gzip.Reader
	in bytes.Reader
}

// appender is an io.Writer that appends.
type appender []byte

// Write appends p.
func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}

// NewGzip packs with level 1 to 9, where 0 means zlib's default. A level outside is taken as the nearest
// one inside, and −1, which Kafka's topics have for the default, as 0.
func NewGzip(level int) Compressor {
	if level <= 0 {
		return &gzipCompressor{level: gzip.DefaultCompression}
	}
	return &gzipCompressor{level: min(level, gzip.BestCompression)}
}

// Compression implements Compressor.
func (*gzipCompressor) Compression() Compression { return GZIP }

// Compress implements Compressor.
func (c *gzipCompressor) Compress(dst, src []byte) ([]byte, error) {
	w, err := c.writer()
	if err != nil {
		return dst, err
	}
	defer c.writers.Put(w)
	defer func() { w.out = nil }()
	w.out = dst
	w.Reset(&w.out)
	if _, err := w.Write(src); err != nil {
		return dst, fmt.Errorf("gzip: %w", err)
	}
	if err := w.Close(); err != nil {
		return dst, fmt.Errorf("gzip: %w", err)
	}
	return w.out, nil
}

// writer is a writer from the pool, or a new one.
func (c *gzipCompressor) writer() (*gzipWriter, error) {
	if w, ok := c.writers.Get().(*gzipWriter); ok {
		return w, nil
	}
	w, err := gzip.NewWriterLevel(nil, c.level)
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	return &gzipWriter{Writer: w}, nil
}

// Decompress implements Compressor.
func (c *gzipCompressor) Decompress(dst, src []byte, limit int) ([]byte, error) {
	r, ok := c.readers.Get().(*gzipReader)
	if !ok {
		r = new(gzipReader)
	}
	defer c.readers.Put(r)
	defer r.in.Reset(nil)
	r.in.Reset(src)
	if err := r.Reset(&r.in); err != nil {
		return dst, gzipError(err)
	}
	out := newOutput(dst, limit)
	for {
		done, err := r.step(&out, 4*len(src))
		if err != nil {
			return dst, err
		}
		if done {
			return out.bytes(), nil
		}
	}
}

// step unpacks once, as much as there is room for, and reports whether that was the end. While nothing is
// unpacked, guess is about how much it will be.
func (r *gzipReader) step(out *output, guess int) (done bool, err error) {
	if out.left() == 0 {
		return true, r.end()
	}
	want := 512
	if out.size == 0 {
		want = min(max(guess, want), 64<<10)
	}
	room := out.room(min(want, out.left()))
	n, err := r.Read(room[:min(len(room), out.left())])
	out.add(n)
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, io.EOF):
		return true, nil
	default:
		return false, gzipError(err)
	}
}

// end finds the end of the stream where the limit is reached, and ErrTooLarge if there is more.
func (r *gzipReader) end() error {
	var more [1]byte
	n, err := r.Read(more[:])
	switch {
	case n > 0:
		return fmt.Errorf("gzip: unpacks to more than the limit: %w", ErrTooLarge)
	case errors.Is(err, io.EOF):
		return nil
	default:
		return gzipError(err)
	}
}

// gzipError is an error of the library as one of ours.
func gzipError(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("gzip: empty: %w", ErrCorrupt)
	}
	return fmt.Errorf("gzip: %w: %w", ErrCorrupt, err)
}
