//go:build !unix || portable

package fsio

// ReadAt is File's.
func (f *osFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.begin(off); err != nil {
		return 0, f.fail("read", err)
	}
	defer f.end()
	n, err := f.handle.readAt(p, off)
	return n, f.failRead(err)
}

// WriteAt is File's.
func (f *osFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.beginChange(off); err != nil {
		return 0, f.fail("write", err)
	}
	defer f.end()
	n, err := f.handle.writeAt(p, off)
	return n, f.fail("write", err)
}

// writeAll writes p. With an error the count is 0, whatever was written.
func (h *handle) writeAll(p []byte, off int64) (int, error) { return h.WriteAt(p, off) }
