package conformance

import (
	"encoding/binary"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// TestIndex checks what open opens, with every Layout, against a slice of entries. What a crash leaves it
// does not check.
func TestIndex(t *testing.T, newFS NewFS, open index.OpenFunc, skip Skip) {
	t.Helper()
	given(t, newFS != nil, "newFS")
	given(t, open != nil, "open")
	for _, l := range indexLayouts {
		t.Run(l.name, func(t *testing.T) {
			fresh := func(tb testing.TB) indexSubject { return indexSubject{newFS(tb), open, l.layout} }
			runRows(t, indexRows(), fresh, skip)
		})
	}
}

// indexLayouts are Kafka's, and two that have what those have not.
var indexLayouts = []struct {
	name   string
	layout index.Layout
}{
	{"offset", index.OffsetLayout},
	{"time", index.TimeLayout},
	{"absolute", index.Layout{KeyBytes: 8, ValueBytes: 8}},
	{"relative", index.Layout{KeyBytes: 8, ValueBytes: 8, KeyRelative: true, ValueRelative: true}},
}

// indexRows are the rows of TestIndex.
func indexRows() []row[indexSubject] {
	return slices.Concat(indexAppendRows, indexLookRows, indexEndRows, indexUseRows, indexFaultRows, indexOpenRows, indexReadOnlyRows)
}

// indexSubject is what a row of TestIndex runs on.
type indexSubject struct {
	fsys   fsio.FS
	open   index.OpenFunc
	layout index.Layout
}

// Of the indexes in the rows.
const (
	indexName = "index"
	indexBase = 1000
	indexRoom = 40 // entries that there is room for
)

// options have room for indexRoom entries, and a little more that is not a whole one.
func (s indexSubject) options() index.Options {
	size := int64(s.layout.EntryBytes())
	return index.Options{Layout: s.layout, Base: indexBase, MaxBytes: indexRoom*size + size - 1}
}

// with are options, changed.
func (s indexSubject) with(change func(o *index.Options)) index.Options {
	o := s.options()
	change(&o)
	return o
}

// start opens an index that is closed when the row is done, and appends n entries.
func (s indexSubject) start(c *check, o index.Options, n int) index.Index {
	x, err := s.open(s.fsys, indexName, o)
	c.ok(err, "open")
	c.after(func() { c.ok(x.Close(), "Close") })
	s.fill(c, x, n)
	return x
}

// fill appends entries until there are n.
func (s indexSubject) fill(c *check, x index.Index, n int) {
	for i := x.Len(); i < n; i++ {
		c.ok(x.Append(indexEntry(i)), "Append")
	}
}

// indexEntry is the i-th entry: its numbers fit into every Layout, and tell whether it is whole. None has
// a Key of 0 bytes.
func indexEntry(i int) index.Entry {
	return index.Entry{Key: indexBase + 5 + 3*int64(i), Value: indexBase + 7*int64(i)}
}

// indexEntries are the first n.
func indexEntries(n int) []index.Entry {
	entries := make([]index.Entry, n)
	for i := range entries {
		entries[i] = indexEntry(i)
	}
	return entries
}

// encode is how entries lie on disk.
func (s indexSubject) encode(entries ...index.Entry) string {
	var b []byte
	for _, e := range entries {
		b = appendNumber(b, e.Key, s.layout.KeyBytes, s.layout.KeyRelative)
		b = appendNumber(b, e.Value, s.layout.ValueBytes, s.layout.ValueRelative)
	}
	return string(b)
}

func appendNumber(b []byte, v int64, size int, relative bool) []byte {
	if relative {
		v -= indexBase
	}
	if size == 4 {
		return binary.BigEndian.AppendUint32(b, uint32(v))
	}
	return binary.BigEndian.AppendUint64(b, uint64(v))
}

// file is what the index file holds.
func (s indexSubject) file(c *check) string { return wholeOf(c, s.fsys, indexName) }

// write makes the index file.
func (s indexSubject) write(c *check, content string) {
	f := open(c, s.fsys, indexName, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	put(c, f, content, 0)
	c.ok(f.Close(), "Close")
}

// holds notes a failure where x has other entries than want.
func holds(c *check, x index.Index, want []index.Entry, what string) {
	if n := x.Len(); n != len(want) {
		c.errorf("%s: Len() = %d, want %d", what, n, len(want))
		return
	}
	for i, e := range want {
		if got := x.At(i); got != e {
			c.errorf("%s: At(%d) = %v, want %v", what, i, got, e)
			return
		}
	}
}

// finds notes a failure where a look-up of key answers other than by trying all of entries.
func finds(c *check, x index.Index, entries []index.Entry, key int64) {
	var want index.Entry
	found := false
	for _, e := range entries {
		if e.Key > key {
			break
		}
		want, found = e, true
	}
	got, ok := x.Lookup(key)
	if ok != found || found && got != want {
		c.errorf("with %d entries Lookup(%d) = %v, %v, want %v, %v", len(entries), key, got, ok, want, found)
	}
}

// failing is s on a filesystem whose calls of some kinds fail as long as that is switched on.
func (s indexSubject) failing(kinds fsio.Kind, err error) (failing indexSubject, turn func(on bool)) {
	var on atomic.Bool
	failing = s
	failing.fsys = fsio.Intercept(s.fsys, func(op *fsio.Op, do func() error) error {
		if kinds&op.Kind != 0 && on.Load() {
			return err
		}
		return do()
	})
	return failing, on.Store
}
