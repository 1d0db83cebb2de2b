package conformance_test

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
)

// brokenIndexes break the rule of one row each.
var brokenIndexes = map[string]index.OpenFunc{
	"entries rise":           forgives(index.ErrOrder),
	"numbers fit the layout": forgives(index.ErrRange),
	"a full index says so":   forgives(index.ErrFull),
	"entries lie end to end": onIndex(func(x *twistIndex, by opening) {
		x.close = func() error { return errors.Join(x.Index.Close(), shiftFile(by)) }
	}),
	"entries are counted":       onIndex(func(x *twistIndex, _ opening) { x.len = func() int { return min(x.Index.Len(), 30) } }),
	"what is sealed ends":       forgives(fs.ErrClosed),
	"seal gives the space back": onIndex(func(x *twistIndex, _ opening) { x.seal = func() error { return nil } }),
	"a look-up finds the last at or below": onIndex(func(x *twistIndex, _ opening) {
		x.lookup = func(key int64) (index.Entry, bool) { return x.Index.Lookup(key - 1) }
	}),
	"the warm section answers alike": onIndex(func(x *twistIndex, by opening) {
		x.lookup = func(key int64) (index.Entry, bool) {
			warm := x.Len() - 1 - 8192/by.o.Layout.EntryBytes()
			if e, ok := x.Index.Lookup(key); !ok || warm <= 0 || e.Key >= x.At(warm).Key {
				return e, ok
			}
			return x.At(warm - 1), true
		}
	}),
	"entries are numbered from 0": onIndex(func(x *twistIndex, _ opening) {
		x.at = func(i int) index.Entry { return x.Index.At(min(max(i, 0), x.Len()-1)) }
	}),
	"truncate keeps the first entries": onIndex(func(x *twistIndex, _ opening) {
		x.truncate = func(n int) error { return x.Index.Truncate(min(n+1, x.Len())) }
	}),
	"truncate refuses other numbers": onIndex(func(x *twistIndex, _ opening) {
		x.truncate = func(n int) error { return x.Index.Truncate(min(max(n, 0), x.Len())) }
	}),
	"truncate keeps the space": onIndex(func(x *twistIndex, by opening) {
		x.truncate = func(n int) error {
			return errors.Join(x.Index.Truncate(n), by.resize(int64(n*by.o.Layout.EntryBytes())))
		}
	}),
	"seal may come twice": onIndex(func(x *twistIndex, _ opening) {
		sealed := false
		x.seal = func() error {
			if sealed {
				return fs.ErrClosed
			}
			sealed = true
			return x.Index.Seal()
		}
	}),
	"close gives the space back": onIndex(func(x *twistIndex, by opening) {
		x.close = func() error {
			return errors.Join(x.Index.Close(), by.resize(by.o.MaxBytes))
		}
	}),
	"a closed index refuses": onIndex(func(x *twistIndex, _ opening) {
		x.sync = func() error {
			if err := x.Index.Sync(); !errors.Is(err, fs.ErrClosed) {
				return err
			}
			return nil
		}
	}),
}

// shiftFile puts a header before the entries.
func shiftFile(by opening) error {
	f, err := by.fsys.OpenFile(by.name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	size, err := f.Size()
	data := make([]byte, size)
	if err == nil {
		_, err = f.ReadAt(data, 0)
	}
	if err == nil {
		_, err = f.WriteAt(append([]byte("header"), data...), 0)
	}
	return errors.Join(err, f.Close())
}

// brokenUses break the rules of use beside each other, and of disks that fail.
var brokenUses = map[string]index.OpenFunc{
	"readers go on beside the appender": onIndex(func(x *twistIndex, _ opening) {
		only := newAlone()
		x.lookup = func(key int64) (e index.Entry, ok bool) {
			if !only.do(func() { e, ok = x.Index.Lookup(key) }) {
				return index.Entry{}, true // which is wrong also where there is nothing to find
			}
			return e, ok
		}
	}),
	"an entry is seen whole": onIndex(func(x *twistIndex, _ opening) {
		between := newGap()
		x.append = func(e index.Entry) error {
			n := x.Len()
			between.show(func() { _ = x.Index.Append(index.Entry{Key: e.Key, Value: e.Value + 1}) })
			return errors.Join(x.Index.Truncate(n), x.Index.Append(e))
		}
		x.lookup = func(key int64) (e index.Entry, ok bool) {
			between.look(func() { e, ok = x.Index.Lookup(key) })
			return e, ok
		}
	}),
	"what is counted is seen": onIndex(func(x *twistIndex, _ opening) {
		var announced atomic.Int64
		between := newGap()
		x.append = func(e index.Entry) error {
			between.show(func() { announced.Store(int64(x.Index.Len()) + 1) })
			return x.Index.Append(e)
		}
		x.at = func(i int) (e index.Entry) {
			between.look(func() { e = x.Index.At(i) })
			return e
		}
		x.len = func() int { return max(x.Index.Len(), int(announced.Load())) }
	}),
	"a fault is no answer": onIndex(func(x *twistIndex, _ opening) {
		x.append = func(e index.Entry) error {
			if err := x.Index.Append(e); !errors.Is(err, syscall.EIO) {
				return err
			}
			return x.Index.Append(e)
		}
	}),
	"what failed changes nothing": onIndex(func(x *twistIndex, _ opening) {
		failed := 0
		x.append = func(e index.Entry) error {
			err := x.Index.Append(e)
			if err != nil {
				failed++
			}
			return err
		}
		x.len = func() int { return x.Index.Len() + failed }
	}),
	"a failed sync is for ever": onIndex(func(x *twistIndex, _ opening) {
		failed := false
		x.sync = func() error {
			if failed {
				return nil
			}
			err := x.Index.Sync()
			failed = err != nil
			return err
		}
	}),
	"sync reaches the disk": onIndex(func(x *twistIndex, _ opening) { x.sync = func() error { return nil } }),
}

// retried opens again where the error was of a class, once mend has done something about it.
func retried(class error, mend func(by *opening) error) index.OpenFunc {
	return func(fsys fsio.FS, name string, o index.Options) (index.Index, error) {
		x, err := index.OpenMmap(fsys, name, o)
		if !errors.Is(err, class) {
			return x, err
		}
		by := &opening{fsys, name, o}
		if err := mend(by); err != nil {
			return nil, err
		}
		return index.OpenMmap(by.fsys, by.name, by.o)
	}
}

// brokenOpens break the rules of opening.
var brokenOpens = map[string]index.OpenFunc{
	"check finds every entry that is wrong":  optioned(func(o *index.Options) { o.Check = false }),
	"what is opened sealed reserves nothing": optioned(func(o *index.Options) { o.Sealed = false }),
	"reading changes nothing":                optioned(func(o *index.Options) { o.ReadOnly = false }),
	"the size is of whole entries":           optioned(func(o *index.Options) { o.MaxBytes++ }),
	"no room is refused":                     retried(index.ErrRange, func(by *opening) error { by.o.MaxBytes = 0; return nil }),
	"space is reserved":                      retried(syscall.ENOSPC, func(by *opening) error { by.o.Sealed = true; return nil }),
	"who reads may not write":                forgives(fs.ErrPermission),
	"a missing file is made": onIndex(func(x *twistIndex, by opening) {
		if x.Len() == 0 && !by.o.Sealed {
			_ = x.Append(index.Entry{Key: by.o.Base, Value: by.o.Base})
		}
	}),
	"the file is all there is": onIndex(func(x *twistIndex, by opening) {
		x.append = func(e index.Entry) error {
			err := x.Index.Close()
			if err == nil {
				x.Index, err = index.OpenMmap(by.fsys, by.name, by.o)
			}
			if err == nil {
				err = x.Index.Append(e)
			}
			return err
		}
	}),
	"whole entries count": retried(index.ErrCorrupt, func(by *opening) error {
		info, err := by.fsys.Stat(by.name)
		if err != nil {
			return err
		}
		return by.resize(info.Size() - info.Size()%int64(by.o.Layout.EntryBytes()))
	}),
	"the last entry is looked at": retried(index.ErrCorrupt, func(by *opening) error {
		by.fsys = aferofs.Mem()
		return nil
	}),
	"what is corrupt is left alone": retried(index.ErrCorrupt, func(by *opening) error {
		return errors.Join(by.resize(0), index.ErrCorrupt)
	}),
	"nothing is made to read": retried(fs.ErrNotExist, func(by *opening) error {
		f, err := by.fsys.OpenFile(by.name, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		return f.Close()
	}),
	"reserved space is no damage to a reader": onIndex(func(x *twistIndex, by opening) {
		if info, err := by.fsys.Stat(by.name); err == nil && by.o.ReadOnly {
			x.len = func() int { return int(info.Size()) / by.o.Layout.EntryBytes() }
		}
	}),
}
