package tree

import (
	"io"
	"io/fs"
	"math"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/internal/gate"
)

// mapping is a Map: a length, and the right to look at a file's windows.
type mapping struct {
	file *file
	prot fsio.Prot

	// gate is held for reading by the calls that Resize and Close wait for.
	gate   sync.RWMutex
	closed bool
	length atomic.Int64 // changed under the gate only
}

var _ fsio.Map = (*mapping)(nil)

// Map is fsio.File's.
func (f *file) Map(size int64, prot fsio.Prot) (fsio.Map, error) {
	f.tree.mu.Lock()
	defer f.tree.mu.Unlock()
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if err := f.mappable(size, prot); err != nil {
		return nil, pathError("map", f.name, err)
	}
	f.node.users++
	f.node.maps++
	m := &mapping{file: f, prot: prot}
	m.length.Store(size)
	return m, nil
}

func (f *file) mappable(size int64, prot fsio.Prot) error {
	if err := f.readable(size); err != nil {
		return err
	}
	switch {
	case prot > fsio.ReadWrite:
		return fs.ErrInvalid
	case prot == fsio.ReadWrite && !f.writable:
		return fs.ErrPermission
	case size > f.node.size:
		return fs.ErrInvalid
	case size > math.MaxInt-f.tree.o.PageBytes:
		return syscall.ENOMEM // no address space has it
	}
	return nil
}

// Len is fsio.Map's.
func (m *mapping) Len() int64 { return m.length.Load() }

// fault is an access to [off, off+n) that err forbade.
func (m *mapping) fault(off, n int64, err error) error {
	return &fsio.FaultError{Path: m.file.name, Off: off, Size: n, Err: err}
}

// pages is how far the file can be accessed: to the end of its last page. The caller holds the node's lock.
func (m *mapping) pages() int64 { return roundUp(m.file.node.size, m.file.tree.o.PageBytes) }

// check is nil where m is open and has [off, off+n). The caller holds the gate.
func (m *mapping) check(off, n int64) error {
	if m.closed {
		return fs.ErrClosed
	}
	if length := m.Len(); off < 0 || n < 0 || n > length || off > length-n {
		return fs.ErrInvalid
	}
	return nil
}

// View is fsio.Map's. No lock but the gate is held while v runs, so that v may use the file.
func (m *mapping) View(off, n int64, v fsio.Viewer) error {
	m.gate.RLock()
	defer m.gate.RUnlock()
	if err := m.check(off, n); err != nil {
		return pathError("view", m.file.name, err)
	}
	if n == 0 {
		return v.View(nil)
	}
	w, err := m.look(off, n)
	if err != nil {
		return err
	}
	err = m.show(w, off, n, v)
	if lost := m.reach(off, n); lost != nil {
		return lost
	}
	return err
}

// look begins a View.
func (m *mapping) look(off, n int64) (*window, error) {
	node := m.file.node
	node.mu.Lock()
	defer node.mu.Unlock()
	if off+n > m.pages() {
		return nil, m.fault(off, n, io.ErrUnexpectedEOF)
	}
	w, err := node.look(off+n, m.file.tree.o.PageBytes)
	if err != nil {
		return nil, m.fault(off, n, faultCause(err))
	}
	return w, nil
}

// show runs v, and ends the View also where v panics.
func (m *mapping) show(w *window, off, n int64, v fsio.Viewer) error {
	node := m.file.node
	defer func() {
		node.mu.Lock()
		defer node.mu.Unlock()
		node.looked(w)
	}()
	return v.View(w.b[off : off+n : off+n])
}

// reach is nil, or the fault of an access to [off, off+n) now. A real mapping would have faulted inside a
// View that lost its bytes.
func (m *mapping) reach(off, n int64) error {
	node := m.file.node
	node.mu.Lock()
	defer node.mu.Unlock()
	if off+n > m.pages() {
		return m.fault(off, n, io.ErrUnexpectedEOF)
	}
	return nil
}

// WriteAt is fsio.Map's.
func (m *mapping) WriteAt(p []byte, off int64) (int, error) {
	m.gate.RLock()
	defer m.gate.RUnlock()
	if err := m.storable(off, int64(len(p))); err != nil {
		return 0, pathError("mapwrite", m.file.name, err)
	}
	if len(p) == 0 {
		return 0, nil
	}
	node := m.file.node
	node.mu.Lock()
	defer node.mu.Unlock()
	return m.store(p, off)
}

// storable is nil where [off, off+n) may be stored to.
func (m *mapping) storable(off, n int64) error {
	if err := m.check(off, n); err != nil {
		return err
	}
	if m.prot != fsio.ReadWrite {
		return fs.ErrPermission
	}
	return nil
}

// store puts p, not empty, where the file has pages for it. What lies past the file's end is lost. The
// caller holds the node's lock.
func (m *mapping) store(p []byte, off int64) (int, error) {
	node, all := m.file.node, int64(len(p))
	reach := min(max(m.pages()-off, 0), all)    // the rest faults
	inside := min(max(node.size-off, 0), reach) // the rest of that is lost
	if inside > 0 {
		done, err := node.content.Store(p[:inside], off)
		node.windows.put(p[:done], off)
		if err != nil {
			return done, m.fault(off, all, faultCause(err))
		}
	}
	if reach < all {
		return int(reach), m.fault(off, all, io.ErrUnexpectedEOF)
	}
	return len(p), nil
}

// Flush is fsio.Map's.
func (m *mapping) Flush(off, n int64) error {
	m.gate.RLock()
	defer m.gate.RUnlock()
	err := m.check(off, n)
	if err == nil {
		node := m.file.node
		node.mu.Lock()
		defer node.mu.Unlock()
		err = node.content.Flush(off, n)
	}
	return pathError("flush", m.file.name, err)
}

// Resize is fsio.Map's.
func (m *mapping) Resize(size int64) error {
	if !gate.Lock(&m.gate) {
		return pathError("resize", m.file.name, fsio.ErrMapBusy)
	}
	defer m.gate.Unlock()
	return pathError("resize", m.file.name, m.resize(size))
}

func (m *mapping) resize(size int64) error {
	if m.closed {
		return fs.ErrClosed
	}
	node, o := m.file.node, &m.file.tree.o
	node.mu.Lock()
	defer node.mu.Unlock()
	if m.prot != fsio.ReadWrite {
		return fs.ErrPermission
	}
	if err := m.file.changeable(size); err != nil {
		return err
	}
	if size > math.MaxInt-o.PageBytes {
		return syscall.EFBIG // no address space has it
	}
	set := node.allocate
	if size < node.size {
		if err := node.pinned(1, o); err != nil {
			return err
		}
		set = node.truncate
	}
	if err := set(size, o); err != nil {
		return err
	}
	m.length.Store(size)
	return nil
}

// Close is fsio.Map's.
func (m *mapping) Close() error {
	if !gate.Lock(&m.gate) {
		return pathError("unmap", m.file.name, fsio.ErrMapBusy)
	}
	defer m.gate.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	m.length.Store(0)
	m.file.node.unmap()
	return pathError("unmap", m.file.name, m.file.tree.release(m.file.node))
}

// unmap counts one Map less, and frees the windows after the last.
func (n *node) unmap() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.maps--
	if n.maps == 0 {
		n.windows = nil
	}
}
