package aferofs

import (
	"bytes"
	"errors"
	"io"

	"github.com/spf13/afero"

	"github.com/stratalog/strata/fsio/internal/tree"
)

// zeros is what Allocate reserves with, and compares with: a block of the customary size, so that no hole
// hides beside data.
var zeros [4096]byte

// baseFile is the bytes of a file of a base, under positioned calls alone.
type baseFile struct{ file afero.File }

var _ tree.Content = (*baseFile)(nil)

// ReadAt is tree.Content's. A base may end a read early, with an error or without.
func (f *baseFile) ReadAt(p []byte, off int64) error {
	for len(p) > 0 {
		n, err := f.file.ReadAt(p, off)
		if n <= 0 {
			if err == nil || errors.Is(err, io.EOF) {
				return io.ErrUnexpectedEOF // somebody else cut the file
			}
			return err
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// WriteAt is tree.Content's. A base may end a write early without an error, and goes on then; one that makes no
// progress is not asked again.
func (f *baseFile) WriteAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		put, err := f.file.WriteAt(p[n:], off+int64(n))
		n += max(put, 0)
		if err == nil && put <= 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Store is tree.Content's.
func (f *baseFile) Store(p []byte, off int64) (int, error) { return f.WriteAt(p, off) }

// Truncate is tree.Content's.
func (f *baseFile) Truncate(size int64) error { return f.file.Truncate(size) }

// Allocate is tree.Content's. afero cannot reserve, so zeros are written where there is nothing but zeros,
// as in a hole, and past the end. Where there is no room for them the size is set back.
func (f *baseFile) Allocate(size int64) error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	was := info.Size()
	for off := int64(0); off < size; off += int64(len(zeros)) {
		n := min(size-off, int64(len(zeros)))
		if err := f.reserve(off, n, was); err != nil {
			if size > was {
				err = errors.Join(err, f.file.Truncate(was))
			}
			return err
		}
	}
	return nil
}

// reserve writes zeros over the zeros in [off, off+n), and past the file's end.
func (f *baseFile) reserve(off, n, end int64) error {
	there := make([]byte, min(max(end-off, 0), n))
	if err := f.ReadAt(there, off); err != nil {
		return err
	}
	if bytes.Equal(there, zeros[:len(there)]) {
		there = there[:0]
	}
	_, err := f.WriteAt(zeros[:n-int64(len(there))], off+int64(len(there)))
	return err
}

// Sync is tree.Content's.
func (f *baseFile) Sync() error { return f.file.Sync() }

// Flush is tree.Content's.
func (f *baseFile) Flush(int64, int64) error { return f.file.Sync() }

// Close is tree.Content's.
func (f *baseFile) Close() error { return f.file.Close() }
