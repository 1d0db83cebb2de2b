package tree

import "io"

// CopyTo is fsio.File's. The writer runs without a lock: it may be slow, or use the same file.
func (f *file) CopyTo(w io.Writer, off, n int64) (int64, error) {
	if err := f.copyable(off, n); err != nil {
		return 0, pathError("copy", f.name, err)
	}
	// Of w nothing but Write is used: a ReadFrom would come between w's errors and the caller.
	sent, err := io.Copy(struct{ io.Writer }{w}, io.NewSectionReader(f, off, n))
	if err == nil && sent < n {
		err = pathError("copy", f.name, io.ErrUnexpectedEOF)
	}
	return sent, err
}

// copyable is nil or what CopyTo is refused with.
func (f *file) copyable(off, n int64) error {
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	return f.readable(min(off, n))
}
