package conformance_test

import (
	"errors"
	"os"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// twistIndex is an Index with some methods replaced; nil ones are the Index's own.
type twistIndex struct {
	index.Index

	append   func(e index.Entry) error
	lookup   func(key int64) (index.Entry, bool)
	at       func(i int) index.Entry
	len      func() int
	truncate func(n int) error
	seal     func() error
	sync     func() error
	close    func() error
}

func (t *twistIndex) Append(e index.Entry) error {
	if t.append != nil {
		return t.append(e)
	}
	return t.Index.Append(e)
}

func (t *twistIndex) Lookup(key int64) (index.Entry, bool) {
	if t.lookup != nil {
		return t.lookup(key)
	}
	return t.Index.Lookup(key)
}

func (t *twistIndex) At(i int) index.Entry {
	if t.at != nil {
		return t.at(i)
	}
	return t.Index.At(i)
}

func (t *twistIndex) Len() int {
	if t.len != nil {
		return t.len()
	}
	return t.Index.Len()
}

func (t *twistIndex) Truncate(n int) error {
	if t.truncate != nil {
		return t.truncate(n)
	}
	return t.Index.Truncate(n)
}

func (t *twistIndex) Seal() error {
	if t.seal != nil {
		return t.seal()
	}
	return t.Index.Seal()
}

func (t *twistIndex) Sync() error {
	if t.sync != nil {
		return t.sync()
	}
	return t.Index.Sync()
}

func (t *twistIndex) Close() error {
	if t.close != nil {
		return t.close()
	}
	return t.Index.Close()
}

// opening is what an index was opened by.
type opening struct {
	fsys fsio.FS
	name string
	o    index.Options
}

// onIndex twists what OpenMmap opens.
func onIndex(twist func(x *twistIndex, by opening)) index.OpenFunc {
	return func(fsys fsio.FS, name string, o index.Options) (index.Index, error) {
		x, err := index.OpenMmap(fsys, name, o)
		if err != nil {
			return nil, err
		}
		t := &twistIndex{Index: x}
		twist(t, opening{fsys, name, o})
		return t, nil
	}
}

// optioned changes the options before it opens.
func optioned(change func(o *index.Options)) index.OpenFunc {
	return func(fsys fsio.FS, name string, o index.Options) (index.Index, error) {
		change(&o)
		return index.OpenMmap(fsys, name, o)
	}
}

// forgives takes an error of Append for none.
func forgives(forgiven error) index.OpenFunc {
	return onIndex(func(x *twistIndex, _ opening) {
		x.append = func(e index.Entry) error {
			if err := x.Index.Append(e); !errors.Is(err, forgiven) {
				return err
			}
			return nil
		}
	})
}

// resize gives the file of an index another size.
func (by opening) resize(size int64) error {
	f, err := by.fsys.OpenFile(by.name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}
