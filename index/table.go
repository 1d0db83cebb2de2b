package index

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync"
	"sync/atomic"

	"github.com/stratalog/strata/fsio"
)

// table is the Index of both backends.
//
// Readers see a state: pages, and the number of entries in them, stored after their bytes. Truncate makes a
// new state over other pages, and waits for the readers of the old one: so no Append stores into bytes that
// somebody still takes for an entry, and a look-up needs no lock.
type table struct {
	format
	file     fsio.File
	room     int64 // entries that fit into the reserved space
	readOnly bool

	state  atomic.Pointer[state]
	fault  atomic.Pointer[error] // why a reader got no answer; the next call that can takes it
	failed atomic.Pointer[error] // of the first Sync that failed
	closed atomic.Bool
	left   atomic.Bool // Abandon was called

	// The appender's.
	sealed  bool
	longer  bool // the file is longer than its entries
	last    Entry
	scratch [16]byte
}

// state is what readers see.
type state struct {
	pages backing
	n     atomic.Int64
}

// publish lets readers see n entries in pages.
func (x *table) publish(pages backing, n int64) *state {
	s := &state{pages: pages}
	s.n.Store(n)
	x.state.Store(s)
	return s
}

// Lookup is Index's.
func (x *table) Lookup(key int64) (Entry, bool) {
	s := x.state.Load()
	for s != nil {
		n := s.n.Load()
		if n == 0 {
			break
		}
		e, ok, err := x.view(s, 0, n, key)
		if err == nil {
			return e, ok
		}
		s = x.after(s, err)
	}
	return Entry{}, false
}

// At is Index's.
func (x *table) At(i int) Entry {
	s := x.state.Load()
	for s != nil {
		if n := s.n.Load(); i < 0 || int64(i) >= n {
			panic(fmt.Sprintf("index: entry %d of %d", i, n))
		}
		e, _, err := x.view(s, int64(i), 1, math.MaxInt64)
		if err == nil {
			return e
		}
		s = x.after(s, err)
	}
	return Entry{}
}

// Len is Index's.
func (x *table) Len() int { return int(x.state.Load().n.Load()) }

// finder searches the bytes that it is shown.
type finder struct {
	format *format
	n      int // entries
	key    int64
	entry  Entry
	ok     bool
}

// View is fsio.Viewer's.
func (f *finder) View(b []byte) error {
	f.entry, f.ok = f.format.search(b, f.n, f.key)
	return nil
}

// finders lets a look-up allocate nothing.
var finders = sync.Pool{New: func() any { return new(finder) }}

// view searches key in the n entries of s from entry i on.
func (x *table) view(s *state, i, n, key int64) (e Entry, ok bool, err error) {
	f := finders.Get().(*finder)
	f.format, f.n, f.key = &x.format, int(n), key
	size := int64(x.entryBytes)
	err = s.pages.View(i*size, n*size, f)
	e, ok = f.entry, f.ok
	*f = finder{}
	finders.Put(f)
	return e, ok, err
}

// after is the state to look at after err in s. A Truncate or Close may have replaced s meanwhile; if not,
// there is none, and err is for the next call that returns one.
func (x *table) after(s *state, err error) *state {
	if now := x.state.Load(); now != s {
		return now
	}
	x.fault.CompareAndSwap(nil, &err)
	return nil
}

// takeFault is why a reader got no answer, once.
func (x *table) takeFault() error {
	if err := x.fault.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// refused is the error of a call that the table's condition does not allow.
func (x *table) refused(op string, err error) error {
	return &fs.PathError{Op: op, Path: x.file.Name(), Err: err}
}

// wrong places err at entry n.
func (x *table) wrong(op string, n int64, err error) error {
	return &fsio.PosError{Op: op, Path: x.file.Name(), Pos: n * int64(x.entryBytes), Err: err}
}

// Append is Index's.
func (x *table) Append(e Entry) error {
	if err := x.mayAppend(); err != nil {
		return err
	}
	s := x.state.Load()
	n := s.n.Load()
	var last *Entry
	if n > 0 {
		last = &x.last
	}
	if n >= x.room {
		return x.wrong("append", n, ErrFull)
	}
	if err := x.follows(last, e); err != nil {
		return x.wrong("append", n, err)
	}
	b := x.scratch[:x.entryBytes]
	x.encode(b, e)
	if err := s.pages.write(b, n*int64(x.entryBytes)); err != nil {
		return err
	}
	x.last = e
	s.n.Store(n + 1) // after the bytes
	return nil
}

func (x *table) mayAppend() error {
	switch {
	case x.closed.Load():
		return x.refused("append", fs.ErrClosed)
	case x.readOnly:
		return x.refused("append", fs.ErrPermission)
	case x.sealed:
		return x.refused("append", fs.ErrClosed)
	}
	if err := x.failed.Load(); err != nil {
		return *err
	}
	return x.takeFault()
}

// Truncate is Index's.
func (x *table) Truncate(n int) error {
	switch {
	case x.closed.Load():
		return x.refused("truncate", fs.ErrClosed)
	case x.readOnly:
		return x.refused("truncate", fs.ErrPermission)
	}
	if err := x.takeFault(); err != nil {
		return err
	}
	s := x.state.Load()
	old := s.n.Load()
	switch {
	case n < 0 || int64(n) > old:
		return x.wrong("truncate", int64(n), fmt.Errorf("%d of %d entries: %w", n, old, ErrRange))
	case int64(n) == old:
		return nil
	}
	var last Entry
	if n > 0 {
		var err error
		if last, _, err = x.view(s, int64(n-1), 1, math.MaxInt64); err != nil {
			return err
		}
	}
	if err := x.drop(s, int64(n)); err != nil {
		return err
	}
	x.last, x.longer = last, true
	return nil
}

// drop keeps the first n entries of s. Unless nothing can be appended any more, it does so in a new state.
func (x *table) drop(s *state, n int64) error {
	if x.sealed {
		s.n.Store(n)
		return nil
	}
	pages, err := s.pages.fork()
	if err != nil {
		return err
	}
	next := x.publish(pages, n)
	if err := s.pages.Close(); err != nil { // who knows whether it waited for the readers
		next.n.Store(s.n.Load())
		return err
	}
	return nil
}

// Seal is Index's.
func (x *table) Seal() error {
	switch {
	case x.closed.Load():
		return x.refused("seal", fs.ErrClosed)
	case x.sealed:
		return nil
	}
	if err := x.takeFault(); err != nil {
		return err
	}
	s := x.state.Load()
	if err := s.pages.cut(s.n.Load() * int64(x.entryBytes)); err != nil {
		return err
	}
	x.sealed, x.longer = true, false
	return nil
}

// Sync is Index's. File.Sync covers the stores through mappings, too.
func (x *table) Sync() error {
	if x.closed.Load() {
		return x.refused("sync", fs.ErrClosed)
	}
	if err := x.failed.Load(); err != nil {
		return *err
	}
	err := x.takeFault()
	if err == nil {
		err = x.file.Sync()
	}
	if err != nil {
		x.failed.CompareAndSwap(nil, &err)
	}
	return err
}

// Close is Index's.
func (x *table) Close() error {
	if x.closed.Swap(true) {
		return nil
	}
	s := x.state.Load()
	x.publish(nil, 0)
	err := errors.Join(x.takeFault(), s.pages.Close()) // before the cut: not every system cuts a mapped file
	return errors.Join(err, x.cut(s.n.Load()*int64(x.entryBytes)), x.file.Close())
}

// Abandon is Abandoner's.
func (x *table) Abandon() { x.left.Store(true) }

// cut gives back what is behind size, if that is this Index's: another may have the file by now, to append
// to. It does not make a file longer that somebody has cut.
func (x *table) cut(size int64) error {
	if !x.longer || x.left.Load() {
		return nil
	}
	now, err := x.file.Size()
	if err != nil || now <= size {
		return err
	}
	return x.file.Truncate(size)
}

var (
	_ Index     = (*table)(nil)
	_ Abandoner = (*table)(nil)
)
