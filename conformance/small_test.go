package conformance_test

import (
	"io"
	"sync"
	"syscall"
	"testing"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
)

// smallDisk is a filesystem in memory whose disk can be filled. A file has blocks for a beginning of it: as
// far as it was written or allocated.
type smallDisk struct {
	*twistFS

	mu      sync.Mutex
	full    bool
	blocks  map[string]int64
	open    map[string]int
	removed map[string]bool

	// What may be broken.
	noSpace error // what a full disk says
	counts  func(n, of int) int
	keeps   bool // the space of removed files
	hollow  bool // Allocate reserves nothing
	lavish  bool // Allocate finds room on a full disk
	stuck   bool // Truncate needs room
	silent  bool // a store without a block is lost
}

func newSmallDisk() *smallDisk {
	d := &smallDisk{
		twistFS: &twistFS{FS: aferofs.Mem()}, blocks: map[string]int64{}, open: map[string]int{}, removed: map[string]bool{},
		noSpace: syscall.ENOSPC, counts: func(n, _ int) int { return n },
	}
	twistFiles(d.twistFS, d.twist)
	d.remove = func(name string) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.removed[name] = true
		d.settle(name)
		return d.FS.Remove(name)
	}
	return d
}

// small breaks a small disk.
func small(twist func(d *smallDisk)) breakage {
	return func(testing.TB) fsio.FS {
		d := newSmallDisk()
		twist(d)
		return d
	}
}

func (d *smallDisk) Fill() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = true
	return nil
}

// settle gives the space of a file back that has neither name nor user.
func (d *smallDisk) settle(name string) {
	if d.removed[name] && d.open[name] == 0 && d.blocks[name] > 0 && !d.keeps {
		d.full = false
	}
}

// room is how many of n bytes at off have blocks, or get them.
func (d *smallDisk) room(name string, off, n int64) int64 {
	if end := (d.blocks[name] + 4095) / 4096 * 4096; d.full {
		return min(max(end-off, 0), n)
	}
	d.blocks[name] = max(d.blocks[name], off+n)
	return n
}

// use counts a File or Map, and gives its Close.
func (d *smallDisk) use(name string, c io.Closer) func() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[name]++
	return sync.OnceValue(func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.open[name]--
		d.settle(name)
		return c.Close()
	})
}

func (d *smallDisk) twist(f opened) {
	f.close = d.use(f.path, f.File)
	f.writeAt = func(p []byte, off int64) (int, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		n, err := f.File.WriteAt(p[:d.room(f.path, off, int64(len(p)))], off)
		if err == nil && n < len(p) {
			return d.counts(n, len(p)), d.noSpace
		}
		return n, err
	}
	f.truncate = func(size int64) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.full && d.stuck {
			return syscall.ENOSPC
		}
		d.blocks[f.path] = min(d.blocks[f.path], size)
		return f.File.Truncate(size)
	}
	f.allocate = func(size int64) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.full && size > d.blocks[f.path] && !d.lavish {
			return syscall.ENOSPC
		}
		if !d.hollow {
			d.blocks[f.path] = max(d.blocks[f.path], size)
		}
		return f.File.Allocate(size)
	}
	f.mapped = func(size int64, prot fsio.Prot) (fsio.Map, error) {
		m, err := f.File.Map(size, prot)
		if err != nil {
			return nil, err
		}
		t := &twistMap{Map: m, close: d.use(f.path, m)}
		t.writeAt = func(p []byte, off int64) (int, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.room(f.path, off, int64(len(p))) < int64(len(p)) {
				if d.silent {
					return len(p), nil
				}
				return 0, &fsio.FaultError{Path: f.path, Off: off, Size: int64(len(p)), Err: syscall.ENOSPC}
			}
			return m.WriteAt(p, off)
		}
		return t, nil
	}
}

// brokenDisks break the rules for a full disk.
var brokenDisks = map[string]breakage{
	"a full disk refuses a write":           small(func(d *smallDisk) { d.noSpace = syscall.EIO }),
	"a write that fails midway is a prefix": small(func(d *smallDisk) { d.counts = func(_, of int) int { return of / 2 } }),
	"a full disk can be cut":                small(func(d *smallDisk) { d.stuck = true }),
	"what is allocated has room":            small(func(d *smallDisk) { d.hollow = true }),
	"a full disk refuses to allocate":       small(func(d *smallDisk) { d.lavish = true }),
	"a store without a block is a fault":    small(func(d *smallDisk) { d.silent = true }),
	"a removed file gives its space back":   small(func(d *smallDisk) { d.keeps = true }),
}
