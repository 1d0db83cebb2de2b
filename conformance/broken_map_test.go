package conformance_test

import (
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/stratalog/strata/fsio"
)

// isFault reports whether err is a fault.
func isFault(err error) bool {
	_, ok := errors.AsType[*fsio.FaultError](err)
	return ok
}

// viewsLate shows each store when the next has come. It does so in a copy, under a lock: a race on the map's own
// bytes would be the race detector's find, not the row's.
func viewsLate(m mapped) {
	var mu sync.Mutex
	shown := make([]byte, m.Map.Len())
	late, at := []byte(nil), int64(0)
	m.writeAt = func(p []byte, off int64) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		copy(shown[at:], late)
		late, at = append([]byte(nil), p...), off
		return m.Map.WriteAt(p, off)
	}
	m.view = func(off, n int64, v fsio.Viewer) error {
		mu.Lock()
		b := append([]byte(nil), shown[off:off+n]...)
		mu.Unlock()
		return v.View(b)
	}
}

// brokenMaps break the rules of a Map.
var brokenMaps = map[string]breakage{
	"a map may be used concurrently": oneAtATime(fsio.OpMapFlush),
	"Resize and Close of a map wait": onMap(func(m mapped) { // neither does
		m.resize = func(size int64) error {
			go m.Map.Resize(size)
			return nil
		}
		m.close = func() error {
			go m.Map.Close()
			return nil
		}
	}),
	"a store is seen at once": onMap(func(m mapped) {
		m.writeAt = func(p []byte, off int64) (int, error) { return len(p), nil }
	}),
	"a count orders stores and views": onMap(viewsLate),
	"a map may be closed twice": onMap(func(m mapped) {
		var closed atomic.Bool
		m.close = func() error {
			if closed.Swap(true) {
				return fs.ErrClosed
			}
			return m.Map.Close()
		}
	}),
	"a closed map refuses": become(fsio.OpMapFlush, fs.ErrClosed, nil),

	"a map has its length": onMap(func(m mapped) {
		m.length = func() int64 {
			size, _ := m.file.Size()
			return size
		}
	}),
	"ranges lie in the map": onMap(func(m mapped) {
		m.view = func(off, n int64, v fsio.Viewer) error {
			if size := m.Len(); off >= 0 && off <= size && n > size-off {
				n = size - off
			}
			return m.Map.View(off, n, v)
		}
	}),
	"a view gets its bytes once": onMap(func(m mapped) {
		m.view = func(off, n int64, v fsio.Viewer) error {
			for n > 4096 {
				if err := m.Map.View(off, 4096, v); err != nil {
					return err
				}
				off, n = off+4096, n-4096
			}
			return m.Map.View(off, n, v)
		}
	}),
	"a view returns its viewer's error": onMap(func(m mapped) {
		m.view = func(off, n int64, v fsio.Viewer) error {
			if err := m.Map.View(off, n, v); err != nil {
				return &fs.PathError{Op: "view", Err: err}
			}
			return nil
		}
	}),
	"a store stays in the map": onMap(func(m mapped) {
		m.writeAt = func(p []byte, off int64) (int, error) {
			n, err := m.Map.WriteAt(p, off)
			if size := m.Len(); errors.Is(err, fs.ErrInvalid) && off >= 0 && off < size {
				return m.Map.WriteAt(p[:size-off], off)
			}
			return n, err
		}
	}),
	"a read-only map refuses stores": become(fsio.OpMapWriteAt, fs.ErrPermission, nil),
	"a faulting store counts": onMap(func(m mapped) {
		m.writeAt = func(p []byte, off int64) (int, error) {
			n, err := m.Map.WriteAt(p, off)
			if isFault(err) {
				n = len(p)
			}
			return n, err
		}
	}),
	"a store keeps no buffer": onMap(func(m mapped) {
		var kept []byte
		m.writeAt = func(p []byte, off int64) (int, error) {
			kept = p
			return m.Map.WriteAt(p, off)
		}
		m.view = func(off, n int64, v fsio.Viewer) error {
			_, _ = m.Map.WriteAt(kept, off)
			return m.Map.View(off, n, v)
		}
	}),
	"Flush covers stores": onMap(func(m mapped) {
		m.flush = func(off, n int64) error {
			if off%4096 != 0 { // as msync
				return syscall.EINVAL
			}
			return m.Map.Flush(off, n)
		}
	}),
	"Resize comes after what began before": onMap(func(m mapped) {
		between := newGap()
		m.resize = func(size int64) error {
			between.show(func() { _ = m.file.Truncate(size) })
			return m.Map.Resize(size)
		}
		m.view = func(off, n int64, v fsio.Viewer) (err error) {
			between.look(func() { err = m.Map.View(off, n, v) })
			return err
		}
	}),
	"Resize keeps what is below": onMap(func(m mapped) {
		m.resize = func(size int64) error { return errors.Join(m.file.Truncate(0), m.Map.Resize(size)) }
	}),
	"a failed Resize leaves the map": onMap(func(m mapped) {
		m.resize = func(size int64) error {
			err := m.Map.Resize(size)
			if err != nil {
				_ = m.Map.Close()
			}
			return err
		}
	}),
	"Resize needs an open file": become(fsio.OpMapResize, fs.ErrPermission, nil),

	"a missing page is a fault": onMap(func(m mapped) {
		m.writeAt = func(p []byte, off int64) (int, error) {
			n, err := m.Map.WriteAt(p, off)
			if isFault(err) {
				err = syscall.EFAULT
			}
			return n, err
		}
	}),
	"a fault passes": onMap(func(m mapped) {
		m.view = func(off, n int64, v fsio.Viewer) error {
			err := m.Map.View(off, n, v)
			if isFault(err) {
				_ = m.Map.Close()
			}
			return err
		}
	}),
}
