package fsio

import "io"

// interceptFile is a File of an interceptFS.
type interceptFile struct {
	inner File
	i     Interceptor
}

// ReadAt is File's.
func (f *interceptFile) ReadAt(p []byte, off int64) (int, error) {
	op := Op{Kind: OpReadAt, Path: f.Name(), Off: off, Size: int64(len(p)), Data: p}
	n, made := 0, false
	err := guard(f.i, &op, func() error {
		made = true
		got, err := f.inner.ReadAt(op.Data, op.Off)
		op.Data = op.Data[:got]
		return err
	})
	if made {
		n = copy(p, op.Data) // onto itself, unless i put another slice in p's place
	}
	return n, shortage(&op, f.Name(), int64(n), int64(len(p)), err, io.ErrUnexpectedEOF)
}

// WriteAt is File's.
func (f *interceptFile) WriteAt(p []byte, off int64) (int, error) {
	op := Op{Kind: OpWriteAt, Path: f.Name(), Off: off, Size: int64(len(p)), Data: p}
	return write(f.i, &op, f.inner.WriteAt)
}

// write is WriteAt of a File or a Map.
func write(i Interceptor, op *Op, writeAt func(p []byte, off int64) (int, error)) (int, error) {
	path, want, n, made := op.Path, len(op.Data), 0, false
	err := guard(i, op, func() (err error) {
		made = true
		n, err = writeAt(op.Data, op.Off)
		return err
	})
	if !made && err == nil { // claimed
		n = len(op.Data)
	}
	n = min(n, want)
	return n, shortage(op, path, int64(n), int64(want), err, io.ErrShortWrite)
}

// Close is File's.
func (f *interceptFile) Close() error {
	return guard(f.i, &Op{Kind: OpClose, Path: f.Name()}, f.inner.Close)
}

// Name is File's.
func (f *interceptFile) Name() string { return f.inner.Name() }

// Size is File's.
func (f *interceptFile) Size() (int64, error) {
	var size int64
	err := guard(f.i, &Op{Kind: OpSize, Path: f.Name()}, func() (err error) {
		size, err = f.inner.Size()
		return err
	})
	if err != nil {
		return 0, err
	}
	return size, nil
}

// Truncate is File's.
func (f *interceptFile) Truncate(size int64) error {
	op := Op{Kind: OpTruncate, Path: f.Name(), Size: size}
	return guard(f.i, &op, func() error { return f.inner.Truncate(op.Size) })
}

// Allocate is File's.
func (f *interceptFile) Allocate(size int64) error {
	op := Op{Kind: OpAllocate, Path: f.Name(), Size: size}
	return guard(f.i, &op, func() error { return f.inner.Allocate(op.Size) })
}

// Sync is File's.
func (f *interceptFile) Sync() error {
	return guard(f.i, &Op{Kind: OpSync, Path: f.Name()}, f.inner.Sync)
}

// Map is File's.
func (f *interceptFile) Map(size int64, prot Prot) (Map, error) {
	op := Op{Kind: OpMap, Path: f.Name(), Size: size}
	m, err := obtain(f.i, &op, func() (Map, error) { return f.inner.Map(op.Size, prot) })
	if err != nil {
		return nil, err
	}
	return &interceptMap{inner: m, file: f.inner, i: f.i, name: f.Name()}, nil
}

// CopyTo is File's.
func (f *interceptFile) CopyTo(w io.Writer, off, n int64) (int64, error) {
	op := Op{Kind: OpCopyTo, Path: f.Name(), Off: off, Size: n}
	var sent int64
	err := guard(f.i, &op, func() (err error) {
		sent, err = f.inner.CopyTo(w, op.Off, op.Size)
		return err
	})
	return sent, shortage(&op, f.Name(), sent, n, err, io.ErrUnexpectedEOF)
}

var _ File = (*interceptFile)(nil)
