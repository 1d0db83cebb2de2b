package fsio

import (
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"unsafe"

	"github.com/edsrzf/mmap-go"

	"github.com/stratalog/strata/fsio/internal/gate"
)

// pageSize is the unit in which the system maps, faults and flushes.
var pageSize = int64(os.Getpagesize())

// osMap is the Map of OSFS.
type osMap struct {
	file *osFile
	prot Prot

	mu     sync.RWMutex // held by accesses; by Resize and Close alone
	data   mmap.MMap    // empty where no byte is mapped: the system maps no empty range
	closed bool
}

// mapped is Map without the wrapping of its errors.
func (f *osFile) mapped(size int64, prot Prot) (*osMap, error) {
	if err := f.begin(size); err != nil {
		return nil, err
	}
	defer f.end()
	switch {
	case prot != ReadOnly && prot != ReadWrite:
		return nil, fs.ErrInvalid
	case prot == ReadWrite && !f.writable:
		return nil, fs.ErrPermission
	}
	have, err := f.handle.size()
	if err != nil {
		return nil, err
	}
	if have < size {
		return nil, fs.ErrInvalid
	}
	m := &osMap{file: f, prot: prot}
	if err := m.mapFile(size); err != nil {
		return nil, err
	}
	f.handle.retain()
	return m, nil
}

// mapFile maps the first size bytes of the file, which has them. Nothing is mapped before it.
func (m *osMap) mapFile(size int64) error {
	if size == 0 {
		return nil
	}
	if size > math.MaxInt {
		return syscall.ENOMEM // what a 32-bit system says of a range that is only a little smaller
	}
	prot := mmap.RDONLY
	if m.prot == ReadWrite {
		prot = mmap.RDWR
	}
	data, err := mmap.MapRegion(m.file.handle.File, int(size), prot, 0, 0)
	if err != nil {
		return err
	}
	if m.prot == ReadWrite {
		advise(data)
	}
	m.data = data
	return nil
}

// unmap is the opposite of mapFile.
func (m *osMap) unmap() error {
	if len(m.data) == 0 {
		return nil
	}
	return m.data.Unmap()
}

// Len is Map's.
func (m *osMap) Len() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return int64(len(m.data))
}

// View is Map's.
func (m *osMap) View(off, n int64, v Viewer) (err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	b, err := m.slice(off, n)
	if err != nil {
		return m.fail("view", err)
	}
	defer m.caught(debug.SetPanicOnFault(true), off, n, &err)
	return v.View(b)
}

// WriteAt is Map's.
func (m *osMap) WriteAt(p []byte, off int64) (n int, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	b, err := m.slice(off, int64(len(p)))
	if err == nil && m.prot != ReadWrite {
		err = fs.ErrPermission
	}
	if err != nil {
		return 0, m.fail("mapwrite", err)
	}
	defer m.caught(debug.SetPanicOnFault(true), off, int64(len(p)), &err)
	for n < len(p) { // page by page: a fault leaves n at the end of the last whole one
		pageEnd := n + int(pageSize-(off+int64(n))%pageSize)
		n += copy(b[n:], p[n:min(pageEnd, len(p))])
	}
	return n, nil
}

// Flush is Map's.
func (m *osMap) Flush(off, n int64) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, err := m.slice(off, n)
	if err == nil && n > 0 {
		err = flush(m.data, off, n)
	}
	return m.fail("flush", err)
}

// Resize is Map's.
//
// It unmaps first, since Windows resizes no mapped file.
func (m *osMap) Resize(size int64) error {
	if !gate.Lock(&m.mu) {
		return m.fail("resize", ErrMapBusy)
	}
	defer m.mu.Unlock()
	return m.fail("resize", m.resize(size))
}

func (m *osMap) resize(size int64) error {
	switch {
	case m.closed:
		return fs.ErrClosed
	case m.prot != ReadWrite:
		return fs.ErrPermission
	}
	if err := m.file.beginChange(size); err != nil {
		return err
	}
	defer m.file.end()
	before := int64(len(m.data))
	if err := m.unmap(); err != nil {
		return join(err, m.end())
	}
	err := m.file.handle.setSize(size)
	if err != nil {
		size = before
	}
	if failed := m.mapFile(size); failed != nil {
		return join(err, join(failed, m.end()))
	}
	return err
}

// Close is Map's.
func (m *osMap) Close() error {
	if !gate.Lock(&m.mu) {
		return m.fail("unmap", ErrMapBusy)
	}
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	return m.fail("unmap", join(m.unmap(), m.end()))
}

// end closes the Map, whose bytes are unmapped.
func (m *osMap) end() error {
	m.closed = true
	return m.file.handle.release()
}

// slice is the n mapped bytes at off.
func (m *osMap) slice(off, n int64) ([]byte, error) {
	switch size := int64(len(m.data)); {
	case m.closed:
		return nil, fs.ErrClosed
	case off < 0 || n < 0 || off > size || n > size-off:
		return nil, fs.ErrInvalid
	}
	return m.data[off : off+n : off+n], nil
}

// caught is deferred around an access to the n bytes at off. It sets *err where the access faulted, and
// gives the goroutine's setting for faults back, which was before. Panics that are not faults of this
// mapping go on.
func (m *osMap) caught(before bool, off, n int64, err *error) {
	debug.SetPanicOnFault(before)
	r := recover()
	if r == nil {
		return
	}
	fault, ok := r.(interface{ Addr() uintptr })
	if !ok {
		panic(r)
	}
	at := fault.Addr() - uintptr(unsafe.Pointer(unsafe.SliceData(m.data))) // huge where it lies before
	if at >= uintptr(len(m.data)) {
		panic(r)
	}
	*err = &FaultError{Path: m.file.name, Off: off, Size: n, Err: m.file.handle.whyFault(int64(at))}
}

// roundUp is the end of the page in which size lies.
func roundUp(size int64) int64 { return (size + pageSize - 1) / pageSize * pageSize }

// fail is err as Map returns it.
func (m *osMap) fail(op string, err error) error { return pathError(op, m.file.name, err) }

var _ Map = (*osMap)(nil)
