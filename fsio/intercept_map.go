package fsio

import (
	"errors"
	"io"
)

// interceptMap is a Map of an interceptFS.
type interceptMap struct {
	inner Map
	file  File // inner's
	i     Interceptor
	name  string
}

// Len is Map's.
func (m *interceptMap) Len() int64 { return m.inner.Len() }

// View is Map's.
func (m *interceptMap) View(off, n int64, v Viewer) error {
	op := Op{Kind: OpMapView, Path: m.name, Off: off, Size: n}
	seen := false
	err := m.inner.View(off, n, ViewFunc(func(b []byte) error {
		seen, op.Data = true, b
		return guard(m.i, &op, func() error {
			if op.Off != off {
				return m.showElsewhere(&op, v, n)
			}
			return m.show(&op, v, n)
		})
	}))
	if seen {
		return err
	}
	// The view was refused, and its interceptor is still to run.
	return guard(m.i, &op, func() error { return err })
}

// show hands op's Data to v, which gets n bytes or is not called.
func (m *interceptMap) show(op *Op, v Viewer, n int64) error {
	if have := int64(len(op.Data)); have < n {
		return shortage(op, m.name, have, n, nil, io.ErrUnexpectedEOF)
	}
	return v.View(op.Data[:n:n])
}

// showElsewhere hands to v the n bytes at the position to which i moved op. It reads them through the File,
// since a View of the same Map inside another could wait for ever.
func (m *interceptMap) showElsewhere(op *Op, v Viewer, n int64) error {
	b := make([]byte, n)
	switch _, err := m.file.ReadAt(b, op.Off); {
	case errors.Is(err, io.EOF):
		return &FaultError{Path: m.name, Off: op.Off, Size: n, Err: io.ErrUnexpectedEOF}
	case err != nil:
		return err
	}
	return v.View(b)
}

// WriteAt is Map's.
func (m *interceptMap) WriteAt(p []byte, off int64) (int, error) {
	op := Op{Kind: OpMapWriteAt, Path: m.name, Off: off, Size: int64(len(p)), Data: p}
	return write(m.i, &op, m.inner.WriteAt)
}

// Flush is Map's.
func (m *interceptMap) Flush(off, n int64) error {
	op := Op{Kind: OpMapFlush, Path: m.name, Off: off, Size: n}
	return guard(m.i, &op, func() error { return m.inner.Flush(op.Off, op.Size) })
}

// Resize is Map's.
func (m *interceptMap) Resize(size int64) error {
	op := Op{Kind: OpMapResize, Path: m.name, Size: size}
	return guard(m.i, &op, func() error { return m.inner.Resize(op.Size) })
}

// Close is Map's.
func (m *interceptMap) Close() error {
	return guard(m.i, &Op{Kind: OpMapClose, Path: m.name}, m.inner.Close)
}

var _ Map = (*interceptMap)(nil)
