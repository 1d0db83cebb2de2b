package conformance

import (
	"io/fs"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// indexAppendRows are the rules of Append.
var indexAppendRows = []row[indexSubject]{
	{
		name: "entries rise",
		rule: "A Key that is not above the last one's, or a Value below the last one's, is ErrOrder.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 3)
			last := indexEntry(2)
			for _, e := range []index.Entry{
				{Key: last.Key, Value: last.Value},
				{Key: last.Key - 1, Value: last.Value + 1},
				{Key: last.Key + 1, Value: last.Value - 1},
				{Key: indexBase, Value: indexBase},
			} {
				c.is(x.Append(e), index.ErrOrder, "Append out of order")
			}
			holds(c, x, indexEntries(3), "after what was refused")
			c.ok(x.Append(index.Entry{Key: last.Key + 1, Value: last.Value}), "Append of an equal Value")
		},
	},
	{
		name: "numbers fit the layout",
		rule: "A Key or Value that the Layout cannot hold relative to the base is ErrRange.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 0)
			try := func(e index.Entry, bytes int, relative bool, v int64) {
				least := int64(0)
				if relative {
					least = indexBase
				}
				if small := relative || bytes == 4; small && (v < least || v-least > math.MaxInt32) {
					c.is(x.Append(e), index.ErrRange, "Append of what does not fit")
					return
				}
				c.ok(x.Append(e), "Append of what fits")
				c.ok(x.Truncate(0), "Truncate")
			}
			for _, v := range []int64{
				-1, 0, indexBase - 1, indexBase, math.MaxInt32, math.MaxInt32 + 1, indexBase + math.MaxInt32,
				indexBase + math.MaxInt32 + 1, math.MaxInt64, math.MinInt64,
			} {
				try(index.Entry{Key: v, Value: indexBase}, s.layout.KeyBytes, s.layout.KeyRelative, v)
				try(index.Entry{Key: indexBase, Value: v}, s.layout.ValueBytes, s.layout.ValueRelative, v)
			}
			equal(c, x.Len(), 0, "the number of entries")
		},
	},
	{
		name: "a full index says so",
		rule: "When the space is used up the error is ErrFull, whatever e is, and the segment rolls.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), indexRoom)
			for range 2 {
				c.is(x.Append(indexEntry(indexRoom)), index.ErrFull, "Append to a full index")
				c.is(x.Append(index.Entry{}), index.ErrFull, "Append of an impossible entry to a full index")
			}
			holds(c, x, indexEntries(indexRoom), "when it is full")
		},
	},
	{
		name: "entries lie end to end",
		rule: "An index file is entries end to end, with no header and no checksum, big-endian:",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 5)
			c.ok(x.Close(), "Close")
			equal(c, s.file(c), s.encode(indexEntries(5)...), "the file")
		},
	},
}

// indexLookRows are the rules of Lookup, At and Len.
var indexLookRows = []row[indexSubject]{
	{
		name: "a look-up finds the last at or below",
		rule: "Lookup finds the last entry with Key <= key. ok is false where there is none.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 0)
			for n := range indexRoom + 1 {
				s.fill(c, x, n)
				entries := indexEntries(n)
				for key := int64(indexBase); key < indexEntry(n).Key+3; key++ {
					finds(c, x, entries, key)
				}
				finds(c, x, entries, math.MinInt64)
				finds(c, x, entries, math.MaxInt64)
			}
		},
	},
	{
		name: "the warm section answers alike",
		rule: "It searches the last 8 KiB first, where a log is read most: those pages stay in memory, " +
			"and a plain binary search touches others (KAFKA-6432).",
		run: func(c *check, s indexSubject) {
			size := s.layout.EntryBytes()
			warm := 8192 / size
			x := s.start(c, s.with(func(o *index.Options) { o.MaxBytes = 20_000 }), 0)
			for _, n := range []int{warm - 1, warm, warm + 1, warm + 2, 2*warm + 1} {
				s.fill(c, x, n)
				entries := indexEntries(n)
				for _, i := range []int{0, 1, n - warm - 3, n - warm - 2, n - warm - 1, n - warm, n - warm + 1, n - 2, n - 1} {
					if i >= 0 {
						finds(c, x, entries, entries[i].Key-1)
						finds(c, x, entries, entries[i].Key)
						finds(c, x, entries, entries[i].Key+1)
					}
				}
			}
		},
	},
	{
		name: "entries are numbered from 0",
		rule: "At is the i-th entry, from 0. i outside [0, Len()) panics, as with a slice.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 3)
			holds(c, x, indexEntries(3), "of three")
			for _, i := range []int{-1, 3, 4, math.MaxInt32, math.MinInt32} {
				if !panics(func() { x.At(i) }) {
					c.errorf("At(%d) of 3 entries did not panic", i)
				}
			}
		},
	},
	{
		name: "entries are counted",
		rule: "Len is the number of entries.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 0)
			for n := range indexRoom + 1 {
				s.fill(c, x, n)
				equal(c, x.Len(), n, "Len")
			}
			c.ok(x.Truncate(7), "Truncate")
			equal(c, x.Len(), 7, "Len after Truncate")
		},
	},
}

// panics reports whether f does.
func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// indexEndRows are the rules of Truncate, Seal and Close.
var indexEndRows = []row[indexSubject]{
	{
		name: "truncate keeps the first entries",
		rule: "Truncate keeps the first n entries.",
		run: func(c *check, s indexSubject) {
			rnd := rand.New(rand.NewPCG(1, 1))
			x := s.start(c, s.options(), 0)
			for range 50 {
				s.fill(c, x, min(indexRoom, x.Len()+rnd.IntN(20)))
				n := rnd.IntN(x.Len() + 1)
				c.ok(x.Truncate(n), "Truncate")
				holds(c, x, indexEntries(n), "truncated")
				finds(c, x, indexEntries(n), math.MaxInt64)
			}
			c.ok(x.Truncate(x.Len()), "Truncate to all")
			s.fill(c, x, indexRoom)
			c.ok(x.Truncate(2), "Truncate")
			c.ok(x.Close(), "Close")
			equal(c, s.file(c), s.encode(indexEntries(2)...), "the file after Close")
		},
	},
	{
		name: "truncate refuses other numbers",
		rule: "n outside [0, Len()] is ErrRange.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 3)
			for _, n := range []int{-1, 4, math.MaxInt32, math.MinInt32} {
				c.is(x.Truncate(n), index.ErrRange, "Truncate")
			}
			holds(c, x, indexEntries(3), "after what was refused")
		},
	},
	{
		name: "truncate keeps the space",
		rule: "It gives no space back",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), indexRoom)
			before := len(s.file(c))
			c.ok(x.Truncate(1), "Truncate")
			equal(c, len(s.file(c)), before, "the size of the file")
			s.fill(c, x, indexRoom)
			holds(c, x, indexEntries(indexRoom), "filled again")
		},
	},
	{
		name: "seal gives the space back",
		rule: "Seal gives back the space that is reserved behind the last entry.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 3)
			c.ok(x.Seal(), "Seal")
			equal(c, s.file(c), s.encode(indexEntries(3)...), "the file")
			holds(c, x, indexEntries(3), "sealed")
			finds(c, x, indexEntries(3), indexEntry(1).Key)
		},
	},
	{
		name: "what is sealed ends",
		rule: "Appending after it is fs.ErrClosed. To append again, open anew.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 3)
			c.ok(x.Seal(), "Seal")
			c.is(x.Append(indexEntry(3)), fs.ErrClosed, "Append after Seal")
			c.ok(x.Close(), "Close")
			x = s.start(c, s.options(), indexRoom)
			holds(c, x, indexEntries(indexRoom), "opened anew")
		},
	},
	{
		name: "seal may come twice",
		rule: "A second Seal does nothing and returns nil.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 3)
			for range 3 {
				c.ok(x.Seal(), "Seal")
			}
			holds(c, x, indexEntries(3), "sealed again")
		},
	},
	{
		name: "close gives the space back",
		rule: "Close gives back reserved space, frees file and mapping, and makes nothing durable.",
		run: func(c *check, s indexSubject) {
			watched, kinds := s.watched()
			x := watched.start(c, s.options(), 3)
			c.ok(x.Close(), "Close")
			equal(c, s.file(c), s.encode(indexEntries(3)...), "the file")
			if seen := fsio.Kind(kinds.Load()); seen&fsio.Syncs != 0 {
				c.errorf("Close called %v", seen&fsio.Syncs)
			}
		},
	},
	{
		name: "a closed index refuses",
		rule: "After Close, Lookup answers false, Len is 0, a second Close returns nil and the other methods fs.ErrClosed.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 3)
			c.ok(x.Close(), "Close")
			c.ok(x.Close(), "a second Close")
			if e, ok := x.Lookup(math.MaxInt64); ok {
				c.errorf("Lookup after Close = %v, true", e)
			}
			equal(c, x.Len(), 0, "Len after Close")
			for _, call := range []call{
				{"Append", func() error { return x.Append(indexEntry(3)) }},
				{"Truncate", func() error { return x.Truncate(0) }},
				{"Seal", x.Seal},
				{"Sync", x.Sync},
			} {
				c.is(call.do(), fs.ErrClosed, call.what+" after Close")
			}
		},
	},
}

// watched is s on a filesystem that notes the kinds of calls on it.
func (s indexSubject) watched() (watched indexSubject, kinds *atomic.Uint32) {
	kinds = new(atomic.Uint32)
	watched = s
	watched.fsys = fsio.Intercept(s.fsys, func(op *fsio.Op, do func() error) error {
		kinds.Or(uint32(op.Kind))
		return do()
	})
	return watched, kinds
}
