package tree

import (
	"io"
	"io/fs"
)

// copyBytes is how much CopyTo hands over at once.
const copyBytes = 32 << 10

// CopyTo is fsio.File's. The writer runs without a lock: it may be slow, or use the same file.
func (f *file) CopyTo(w io.Writer, off, n int64) (int64, error) {
	if err := f.copyable(off, n); err != nil {
		return 0, pathError("copy", f.name, err)
	}
	buf := make([]byte, min(n, copyBytes))
	var sent int64
	for sent < n {
		got, err := f.read(buf[:min(n-sent, copyBytes)], off+sent)
		if err == nil && got == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return sent, pathError("copy", f.name, err)
		}
		took, err := writeAll(w, buf[:got])
		sent += int64(took)
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// copyable is nil or what CopyTo is refused with.
func (f *file) copyable(off, n int64) error {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if err := f.open(); err != nil {
		return err
	}
	if off < 0 || n < 0 {
		return fs.ErrInvalid
	}
	return nil
}

// writeAll is w.Write, for writers that break their contract, too.
func writeAll(w io.Writer, p []byte) (int, error) {
	n, err := w.Write(p)
	n = min(max(n, 0), len(p))
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}
