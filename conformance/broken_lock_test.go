package conformance_test

import (
	"io"
	"sync"
	"testing"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
)

// closer is a function as an io.Closer.
type closer func() error

func (c closer) Close() error { return c() }

func noClose() error { return nil }

// stranger is a filesystem in memory that says that another process has its locks.
type stranger struct {
	fsio.FS
	end func(l io.Closer) error // what the end of that process does
	own bool                    // it locks in the same filesystem
}

func (s *stranger) LockElsewhere(name string) (end func() error, err error) {
	if !s.own {
		return noClose, nil
	}
	l, err := s.FS.Lock(name)
	return func() error { return s.end(l) }, err
}

// brokenLocks break the rules of Lock.
var brokenLocks = map[string]breakage{
	"a lock excludes": onFS(func(t *twistFS) {
		t.lock = func(name string) (io.Closer, error) { return closer(noClose), nil }
	}),
	"one lock wins": onFS(func(t *twistFS) {
		both := newMeeting()
		var mu sync.Mutex
		held := map[string]bool{}
		is := func() bool { mu.Lock(); defer mu.Unlock(); return held["f"] }
		set := func(to bool) { mu.Lock(); defer mu.Unlock(); held["f"] = to }
		t.lock = func(name string) (io.Closer, error) {
			if is() {
				return nil, fsio.ErrLocked
			}
			both.wait()
			set(true)
			return closer(func() error { set(false); return nil }), nil
		}
	}),
	"a lock excludes other processes": func(testing.TB) fsio.FS { return &stranger{FS: aferofs.Mem()} },
	"a lock makes its file": onFS(func(t *twistFS) {
		t.lock = func(name string) (io.Closer, error) {
			if !exists(t.FS, name) {
				return closer(noClose), nil
			}
			return t.FS.Lock(name)
		}
	}),
	"a directory can be locked": onFS(func(t *twistFS) {
		t.lock = func(name string) (io.Closer, error) {
			if info, err := t.FS.Stat(name); err == nil && info.IsDir() {
				name += "/.lock"
			}
			return t.FS.Lock(name)
		}
	}),
	"closing frees a lock": onFS(func(t *twistFS) {
		t.lock = func(name string) (io.Closer, error) {
			l, err := t.FS.Lock(name)
			if err != nil {
				return nil, err
			}
			return closer(func() error { _ = t.FS.Remove(name); return l.Close() }), nil
		}
	}),
	"the end of a process frees its locks": func(testing.TB) fsio.FS {
		return &stranger{FS: aferofs.Mem(), own: true, end: func(io.Closer) error { return nil }}
	},
}
