package conformance_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/segment"
)

// twistSet is a MessageSet with some methods replaced; nil ones are the set's own.
type twistSet struct {
	segment.MessageSet

	readAt   func(p []byte, pos int64) (int, error)
	append   func(batches []byte) (int64, error)
	copyTo   func(w io.Writer, pos, n int64) (int64, error)
	size     func() int64
	truncate func(size int64) error
	seal     func() error
	sync     func() error
	close    func() error
}

func (t *twistSet) ReadAt(p []byte, pos int64) (int, error) {
	if t.readAt != nil {
		return t.readAt(p, pos)
	}
	return t.MessageSet.ReadAt(p, pos)
}

func (t *twistSet) Append(batches []byte) (int64, error) {
	if t.append != nil {
		return t.append(batches)
	}
	return t.MessageSet.Append(batches)
}

func (t *twistSet) CopyTo(w io.Writer, pos, n int64) (int64, error) {
	if t.copyTo != nil {
		return t.copyTo(w, pos, n)
	}
	return t.MessageSet.CopyTo(w, pos, n)
}

func (t *twistSet) Size() int64 {
	if t.size != nil {
		return t.size()
	}
	return t.MessageSet.Size()
}

func (t *twistSet) Truncate(size int64) error {
	if t.truncate != nil {
		return t.truncate(size)
	}
	return t.MessageSet.Truncate(size)
}

func (t *twistSet) Seal() error {
	if t.seal != nil {
		return t.seal()
	}
	return t.MessageSet.Seal()
}

func (t *twistSet) Sync() error {
	if t.sync != nil {
		return t.sync()
	}
	return t.MessageSet.Sync()
}

func (t *twistSet) Close() error {
	if t.close != nil {
		return t.close()
	}
	return t.MessageSet.Close()
}

// setOpening is what a set was opened by.
type setOpening struct {
	fsys fsio.FS
	name string
	o    segment.SetOptions
}

// resize gives the file of a set another size.
func (by setOpening) resize(size int64) error {
	return opening{fsys: by.fsys, name: by.name}.resize(size)
}

// onSet twists what OpenFile opens.
func onSet(twist func(set *twistSet, by setOpening)) segment.OpenFunc {
	return func(fsys fsio.FS, name string, o segment.SetOptions) (segment.MessageSet, error) {
		set, err := segment.OpenFile(fsys, name, o)
		if err != nil {
			return nil, err
		}
		t := &twistSet{MessageSet: set}
		twist(t, setOpening{fsys, name, o})
		return t, nil
	}
}

// setOptioned changes the options before it opens.
func setOptioned(change func(o *segment.SetOptions)) segment.OpenFunc {
	return func(fsys fsio.FS, name string, o segment.SetOptions) (segment.MessageSet, error) {
		change(&o)
		return segment.OpenFile(fsys, name, o)
	}
}

// appends changes what Append gives.
func appends(change func(set *twistSet, batches []byte) (int64, error)) segment.OpenFunc {
	return onSet(func(set *twistSet, _ setOpening) {
		set.append = func(batches []byte) (int64, error) { return change(set, batches) }
	})
}

// brokenSets break the rule of one row each.
var brokenSets = map[string]segment.OpenFunc{
	"a set is read up to its size": onSet(func(set *twistSet, by setOpening) {
		set.readAt = func(p []byte, pos int64) (int, error) {
			f, err := by.fsys.OpenFile(by.name, os.O_RDONLY, 0)
			if err != nil {
				return 0, err
			}
			defer f.Close()
			return f.ReadAt(p, pos) // what is reserved, too
		}
	}),
	"bytes are copied": onSet(func(set *twistSet, _ setOpening) {
		set.copyTo = func(w io.Writer, pos, n int64) (int64, error) { return set.MessageSet.CopyTo(w, max(pos-1, 0), n) }
	}),
	"the size is that of the batches": onSet(func(set *twistSet, by setOpening) {
		set.size = func() int64 {
			info, err := by.fsys.Stat(by.name)
			if err != nil {
				return 0
			}
			return info.Size()
		}
	}),
	"readers go on beside an appender": onSet(func(set *twistSet, _ setOpening) {
		only := newAlone()
		set.copyTo = func(w io.Writer, pos, n int64) (sent int64, err error) {
			if !only.do(func() { sent, err = set.MessageSet.CopyTo(w, pos, n) }) {
				err = errors.New("in use")
			}
			return sent, err
		}
	}),
	"batches lie end to end": appends(func(set *twistSet, batches []byte) (int64, error) {
		pos, err := set.MessageSet.Append(batches)
		return pos + int64(len(batches)), err // where it ends
	}),
	"an append is seen whole": appends(func(set *twistSet, batches []byte) (int64, error) {
		half := len(batches) / 2
		pos, err := set.MessageSet.Append(batches[:half])
		if err == nil {
			_, err = set.MessageSet.Append(batches[half:])
		}
		return pos, err
	}),
	"an append is one write": appends(func(set *twistSet, batches []byte) (int64, error) {
		pos := set.MessageSet.Size()
		for i := range batches[:min(len(batches), 2)] {
			if _, err := set.MessageSet.Append(batches[i : i+1]); err != nil {
				return 0, err
			}
		}
		_, err := set.MessageSet.Append(batches[min(len(batches), 2):])
		return pos, err
	}),
	"what is appended is the caller's": onSet(func(set *twistSet, _ setOpening) {
		var kept []byte
		set.append = func(batches []byte) (int64, error) {
			kept = batches
			return set.MessageSet.Append(batches)
		}
		set.readAt = func(p []byte, pos int64) (int, error) { return copy(p, kept[pos:]), nil }
	}),
	"a set has 2 GiB": func(fsys fsio.FS, name string, o segment.SetOptions) (segment.MessageSet, error) {
		set, err := segment.OpenFile(fsys, name, o)
		if errors.Is(err, segment.ErrOverflow) {
			return nil, fs.ErrInvalid
		}
		return set, err
	},
	"a sealed set ends": onSet(func(set *twistSet, _ setOpening) { set.seal = func() error { return nil } }),
	"what failed is not counted": onSet(func(set *twistSet, _ setOpening) {
		failed := int64(0)
		set.append = func(batches []byte) (int64, error) {
			pos, err := set.MessageSet.Append(batches)
			if err != nil {
				failed += int64(len(batches))
			}
			return pos, err
		}
		set.size = func() int64 { return set.MessageSet.Size() + failed }
	}),
	"a full disk is no end": onSet(func(set *twistSet, _ setOpening) {
		var broken error
		set.append = func(batches []byte) (int64, error) {
			if broken != nil {
				return 0, broken
			}
			pos, err := set.MessageSet.Append(batches)
			broken = err
			return pos, err
		}
	}),
	"a failed write breaks the set": onSet(func(set *twistSet, _ setOpening) {
		set.sync = func() error {
			if err := set.MessageSet.Sync(); !errors.Is(err, segment.ErrBroken) {
				return err
			}
			return nil
		}
	}),
	"a failed sync breaks the set": onSet(func(set *twistSet, _ setOpening) {
		failed := false
		set.sync = func() error {
			if failed {
				return nil // as some systems did
			}
			err := set.MessageSet.Sync()
			failed = err != nil
			return err
		}
	}),
	"a set is cut": onSet(func(set *twistSet, _ setOpening) {
		set.truncate = func(size int64) error { return set.MessageSet.Truncate(min(max(size, 0), set.MessageSet.Size())) }
	}),
	"a sealed set is cut, on a full disk": onSet(func(set *twistSet, _ setOpening) {
		sealed := false
		set.seal = func() error {
			sealed = true
			return set.MessageSet.Seal()
		}
		set.truncate = func(size int64) error {
			if sealed {
				return fs.ErrClosed
			}
			return set.MessageSet.Truncate(size)
		}
	}),
	"the reserve is given back": onSet(func(set *twistSet, by setOpening) {
		set.seal = func() error { return errors.Join(set.MessageSet.Seal(), by.resize(1000)) }
	}),
	"a set may be sealed twice": onSet(func(set *twistSet, _ setOpening) {
		var once sync.Once
		set.seal = func() error {
			err := fs.ErrClosed
			once.Do(func() { err = set.MessageSet.Seal() })
			return err
		}
	}),
	"a set is synced": onSet(func(set *twistSet, _ setOpening) { set.sync = func() error { return nil } }),
	"a closed set leaves its batches": onSet(func(set *twistSet, by setOpening) {
		set.close = func() error { return errors.Join(set.MessageSet.Close(), by.resize(1000)) }
	}),
	"a closed set refuses": onSet(func(set *twistSet, _ setOpening) {
		set.sync = func() error {
			if err := set.MessageSet.Sync(); !errors.Is(err, fs.ErrClosed) {
				return err
			}
			return nil
		}
	}),
	"the bytes are in the file": onSet(func(set *twistSet, by setOpening) {
		set.append = func(batches []byte) (int64, error) {
			f, err := by.fsys.OpenFile(by.name+".journal", os.O_RDWR|os.O_CREATE, 0o644)
			if err != nil {
				return 0, err
			}
			pos, err := set.MessageSet.Append(batches)
			return pos, errors.Join(err, f.Close())
		}
	}),
	"every byte of a file counts": func(fsys fsio.FS, name string, o segment.SetOptions) (segment.MessageSet, error) {
		set, err := segment.OpenFile(fsys, name, o)
		if err != nil || set.Size() < 100 || o.ReadOnly {
			return set, err
		}
		return set, set.Truncate(set.Size() - 100) // the zeros
	},
	"nothing is made to read":       setOptioned(func(o *segment.SetOptions) { o.ReadOnly = false }),
	"reading a set changes nothing": setOptioned(func(o *segment.SetOptions) { o.ReadOnly = false }),
	"a sealed set reserves nothing": setOptioned(func(o *segment.SetOptions) { o.Sealed = false }),
	"space is reserved":             setOptioned(func(o *segment.SetOptions) { o.PreallocateBytes = 0 }),
}
