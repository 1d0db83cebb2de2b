package index

import (
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/stratalog/strata/fsio"
)

// backing is how a table reads and writes the bytes of its file.
type backing interface {
	// View is as fsio.Map's.
	View(off, n int64, v fsio.Viewer) error
	// write stores p at off, where no View looks.
	write(p []byte, off int64) error
	// fork returns a backing of the same bytes that outlives this one.
	fork() (backing, error)
	// cut gives back the space behind size, beside Views of what is before it.
	cut(size int64) error
	// Close waits for all Views; later ones may fail. What is written through a fork after it, they have
	// not seen.
	Close() error
}

// newBacking opens a backing of file, which has entries in its first used bytes and is to be written up to
// size.
type newBacking func(file fsio.File, used, size int64, prot fsio.Prot) (backing, error)

// mapped is a backing through a mapping.
type mapped struct {
	fsio.Map
	file fsio.File
	prot fsio.Prot
}

func mapFile(file fsio.File, _, size int64, prot fsio.Prot) (backing, error) {
	m, err := file.Map(size, prot)
	if err != nil {
		return nil, err
	}
	return &mapped{Map: m, file: file, prot: prot}, nil
}

func (m *mapped) write(p []byte, off int64) error {
	_, err := m.WriteAt(p, off)
	return err
}

func (m *mapped) fork() (backing, error) { return mapFile(m.file, 0, m.Len(), m.prot) }

func (m *mapped) cut(size int64) error { return m.Resize(size) }

// buffered is a backing in memory, written through to the file.
//
// The buffer holds what was written, and grows by being copied: a View has one of the copies.
type buffered struct {
	file fsio.File
	buf  atomic.Pointer[[]byte]
}

func bufferFile(file fsio.File, used, _ int64, _ fsio.Prot) (backing, error) {
	buf := make([]byte, used)
	if _, err := file.ReadAt(buf, 0); err != nil {
		return nil, err
	}
	return newBuffered(file, buf), nil
}

func newBuffered(file fsio.File, buf []byte) *buffered {
	b := &buffered{file: file}
	b.buf.Store(&buf)
	return b
}

// View is fsio.Map's.
func (b *buffered) View(off, n int64, v fsio.Viewer) error {
	buf := *b.buf.Load()
	if off+n > int64(len(buf)) {
		return fs.ErrInvalid
	}
	return v.View(buf[off : off+n])
}

func (b *buffered) write(p []byte, off int64) error {
	if _, err := b.file.WriteAt(p, off); err != nil {
		return err
	}
	const firstBytes = 4096
	buf := *b.buf.Load()
	if end := int(off) + len(p); end > len(buf) {
		grown := make([]byte, max(end, 2*len(buf), firstBytes))
		copy(grown, buf)
		buf = grown
		copy(buf[off:], p)
		b.buf.Store(&grown)
		return nil
	}
	copy(buf[off:], p)
	return nil
}

func (b *buffered) fork() (backing, error) {
	return newBuffered(b.file, slices.Clone(*b.buf.Load())), nil
}

func (b *buffered) cut(size int64) error { return b.file.Truncate(size) }

// Close has nobody to wait for: Views keep the buffer, which no fork writes to.
func (b *buffered) Close() error { return nil }

var (
	_ backing = (*mapped)(nil)
	_ backing = (*buffered)(nil)
)
