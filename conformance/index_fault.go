package conformance

import (
	"math"
	"sync/atomic"
	"syscall"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// indexUseRows are the rules of use beside each other.
var indexUseRows = []row[indexSubject]{
	{
		name: "readers go on beside the appender",
		rule: "Lookup, At, Len and Sync may be called at any time by any number of goroutines.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 10) // which stay
			readers := []func(i int){
				func(i int) { finds(c, x, indexEntries(10), indexBase+int64(i%30)) },
				func(i int) { equal(c, x.At(i%10), indexEntry(i%10), "At") },
				func(int) {
					if n := x.Len(); n < 10 || n > indexRoom {
						c.errorf("Len() = %d, want 10 to %d", n, indexRoom)
					}
				},
				func(int) { c.ok(x.Sync(), "Sync") },
			}
			readers = append(readers, readers...)
			c.beside(looks, func(int) {
				s.fill(c, x, indexRoom)
				c.ok(x.Truncate(10), "Truncate")
			}, readers...)
			c.beside(1, func(int) { c.ok(x.Seal(), "Seal") }, readers...)
		},
	},
	{
		name: "an entry is seen whole",
		rule: "An entry is seen whole or not at all; once Len has counted it, every reader sees it.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 0)
			var count atomic.Int64
			look := func(int) { seesWhole(c, x, &count) }
			c.beside(3000, func(n int) {
				if n%indexRoom == 0 {
					c.ok(x.Truncate(0), "Truncate")
				}
				// Other entries each time round, at the same places.
				c.ok(x.Append(indexEntry(n%indexRoom+n/indexRoom)), "Append")
				count.Store(int64(n) + 1)
			}, look, look, look)
		},
	},
	{
		name: "what is counted is seen",
		rule: "An entry is seen whole or not at all; once Len has counted it, every reader sees it.",
		run: func(c *check, s indexSubject) {
			const n = 1000
			x := s.start(c, s.with(func(o *index.Options) { o.MaxBytes = 20_000 }), 0)
			look := func(int) { seesLast(c, x, x.Len()) }
			c.beside(n, func(round int) { s.fill(c, x, min(round+1, n)) }, look, look, look)
		},
	},
}

// seesLast looks for the last of n entries that were counted.
func seesLast(c *check, x index.Index, n int) {
	if n == 0 {
		return
	}
	want := indexEntry(n - 1)
	equal(c, x.At(n-1), want, "the last entry that Len counted")
	if got, ok := x.Lookup(want.Key); !ok || got != want {
		c.fatalf("Lookup of the last entry that Len counted = %v, %v, want %v", got, ok, want)
	}
}

// seesWhole looks once, beside an appender that counts what it appended, and begins anew with every
// indexRoom entries.
func seesWhole(c *check, x index.Index, count *atomic.Int64) {
	before := count.Load()
	e, ok := x.Lookup(math.MaxInt64)
	after := count.Load()
	if i := int(e.Key-indexEntry(0).Key) / 3; ok && e != indexEntry(i) {
		c.fatalf("Lookup found %v, which nobody appended", e)
	}
	sameRound := before > 0 && (before-1)/indexRoom == after/indexRoom
	if sameRound && !ok {
		c.fatalf("Lookup found nothing beside entries %d to %d", before, after)
	}
}

// indexFaultRows are the rules of what a disk that fails does to an index.
var indexFaultRows = []row[indexSubject]{
	{
		name: "a fault is no answer",
		rule: "Where the file cannot be read, Lookup answers false and At a zero Entry, so that a reader scans " +
			"the segment instead; the cause is returned by the next Append, Truncate, Seal, Sync or Close.",
		run: func(c *check, s indexSubject) {
			failing, turn := s.failing(fsio.Reads, syscall.EIO)
			x := failing.start(c, s.options(), 5)
			for _, call := range []call{
				{"Append", func() error { return x.Append(indexEntry(5)) }},
				{"Truncate", func() error { return x.Truncate(4) }},
				{"Seal", x.Seal},
				{"Close", x.Close},
			} {
				turn(true)
				found := 0
				for i := range 5 {
					if e, ok := x.Lookup(indexEntry(i).Key); ok {
						equal(c, e, indexEntry(i), "what a look-up found in spite of a fault")
						found++
					}
				}
				if e := x.At(2); e != (index.Entry{}) {
					equal(c, e, indexEntry(2), "what At gave in spite of a fault")
				}
				turn(false)
				if found == 5 { // it does not read
					return
				}
				c.is(call.do(), syscall.EIO, call.what+" after a fault")
			}
		},
	},
	{
		name: "what failed changes nothing",
		rule: "After a failed Append or Truncate, Len and the entries are what they were.",
		run: func(c *check, s indexSubject) {
			failing, turn := s.failing(fsio.Writes|fsio.Sizes|fsio.Holds|fsio.Closes, syscall.EIO)
			x := failing.start(c, s.options(), 5)
			want := indexEntries(5)
			for range 3 {
				turn(true)
				err := x.Append(indexEntry(len(want)))
				turn(false)
				if err == nil {
					want = indexEntries(len(want) + 1)
				}
				holds(c, x, want, "after an Append on a failing disk")
				finds(c, x, want, math.MaxInt64)
				turn(true)
				err = x.Truncate(2)
				turn(false)
				if err == nil {
					want = indexEntries(2)
				}
				holds(c, x, want, "after a Truncate on a failing disk")
			}
		},
	},
	{
		name: "a failed sync is for ever",
		rule: "After a failed Sync, every later Append and Sync returns its error.",
		run: func(c *check, s indexSubject) {
			failing, turn := s.failing(fsio.Syncs, syscall.EIO)
			x := failing.start(c, s.options(), 5)
			c.ok(x.Sync(), "Sync")
			turn(true)
			c.is(x.Sync(), syscall.EIO, "Sync on a failing disk")
			turn(false)
			for range 2 {
				c.is(x.Append(indexEntry(5)), syscall.EIO, "Append after a failed Sync")
				c.is(x.Sync(), syscall.EIO, "Sync after a failed Sync")
			}
			holds(c, x, indexEntries(5), "after a failed Sync")
		},
	},
	{
		name: "sync reaches the disk",
		rule: "Sync makes durable the entries and the size that were there before the call.",
		run: func(c *check, s indexSubject) {
			watched, kinds := s.watched()
			x := watched.start(c, s.options(), 0)
			for n := 1; n < 4; n++ {
				s.fill(c, x, n)
				kinds.Store(0)
				c.ok(x.Sync(), "Sync")
				if fsio.Kind(kinds.Load())&fsio.Syncs == 0 {
					c.errorf("a Sync after an Append synced nothing")
				}
			}
		},
	},
}
