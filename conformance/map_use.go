package conformance

import (
	"encoding/binary"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stratalog/strata/fsio"
)

// mapUseRows are the rules for all methods of a Map: concurrency and Close.
var mapUseRows = []row[fsio.FS]{
	{
		name: "a map may be used concurrently",
		rule: "All methods may be called concurrently. Resize and Close wait for the others to end.",
		run:  concurrentMap,
	},
	{
		name: "Resize and Close of a map wait",
		rule: "All methods may be called concurrently. Resize and Close wait for the others to end.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", strings.Repeat("x", pageBytes))
			m := mapOf(c, f, pageBytes, fsio.ReadWrite)
			waits(c, m, "Resize", func() error { return m.Resize(10) })
			equal(c, size(c, f), 10, "the size after Resize")
			waits(c, m, "Close", m.Close)
		},
	},
	{
		name: "a store is seen at once",
		rule: "A store is visible at once to View, to File.ReadAt and to other Maps of the file, and to nobody durably.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", zeros(2*pageBytes))
			g := open(c, fsys, "f", os.O_RDONLY)
			m := mapOf(c, f, 2*pageBytes, fsio.ReadWrite)
			other := mapOf(c, g, pageBytes+10, fsio.ReadOnly)
			for _, off := range []int64{0, 4094, pageBytes - 1, pageBytes + 7} {
				put(c, m, "abc", off)
				equal(c, view(c, m, off, 3), "abc", "what View shows")
				equal(c, get(c, f, off, 3), "abc", "what ReadAt gives")
				equal(c, get(c, g, off, 3), "abc", "what ReadAt of another File gives")
				equal(c, view(c, other, off, 3), "abc", "what another Map shows")
			}
			c.ok(m.View(0, 3, fsio.ViewFunc(func(b []byte) error {
				put(c, f, "xyz", 0)
				equal(c, string(b), "xyz", "what a View shows of a write since it began")
				return nil
			})), "View")
		},
	},
	{
		name: "a count orders stores and views",
		rule: "A View beside a WriteAt of the same bytes sees, byte by byte, the old or the new: order the two by a count " +
			"that is stored atomically after the bytes and loaded before them.",
		run: countedStores,
	},
	{
		name: "a map may be closed twice",
		rule: "A second Close does nothing and returns nil.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			m := mapOf(c, f, 3, fsio.ReadWrite)
			other := mapOf(c, f, 3, fsio.ReadWrite)
			for range 3 {
				c.ok(m.Close(), "Close")
			}
			equal(c, view(c, other, 0, 3), "abc", "another Map")
		},
	},
	{
		name: "a closed map refuses",
		rule: "Len is 0 and every other method returns fs.ErrClosed.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			for _, prot := range []fsio.Prot{fsio.ReadWrite, fsio.ReadOnly} {
				m := mapOf(c, f, 3, prot)
				c.ok(m.Close(), "Close")
				equal(c, m.Len(), 0, "Len after Close")
				for _, n := range []int64{0, 1} {
					c.is(m.View(0, n, nothing), fs.ErrClosed, "View after Close")
					_, err := m.WriteAt(make([]byte, n), 0)
					c.is(err, fs.ErrClosed, "WriteAt after Close")
					c.is(m.Flush(0, n), fs.ErrClosed, "Flush after Close")
				}
				c.is(m.Resize(2), fs.ErrClosed, "Resize after Close")
			}
			equal(c, whole(c, f), "abc", "the file afterwards")
		},
	},
}

// waits notes a failure where call returns while a View of m runs.
func waits(c *check, m fsio.Map, what string, call func() error) {
	inside, leave := make(chan struct{}), make(chan struct{})
	returned := make(chan error, 1)
	c.together(2, func(i int) {
		if i == 0 {
			c.ok(m.View(0, 10, fsio.ViewFunc(func(b []byte) error {
				close(inside)
				<-leave
				equal(c, string(b), strings.Repeat("x", 10), "the bytes of a View that is waited for")
				return nil
			})), "View")
			return
		}
		<-inside
		go func() { returned <- call() }()
		select {
		case <-returned:
			c.errorf("%s returned while a View was running", what)
			returned <- nil
		case <-time.After(c.lull):
		}
		close(leave)
	})
	c.ok(<-returned, what)
}

// concurrentMap uses one Map in all ways at once, each goroutine in its own part.
func concurrentMap(c *check, fsys fsio.FS) {
	f := create(c, fsys, "f", zeros(pageBytes))
	m := mapOf(c, f, pageBytes, fsio.ReadWrite)
	c.together(8, func(i int) {
		off := int64(i) * 512
		for round := range 50 {
			if i == 0 {
				c.ok(m.Resize(pageBytes+int64(round)), "Resize")
				continue
			}
			s := strings.Repeat(string(rune('a'+round%26)), 512)
			put(c, m, s, off)
			equal(c, view(c, m, off, 512), s, "what View shows of a store")
			c.ok(m.Flush(off, 512), "Flush")
			if n := m.Len(); n < pageBytes || n > pageBytes+50 {
				c.errorf("Len = %d", n)
			}
		}
	})
	equal(c, m.Len(), pageBytes+49, "Len afterwards")
}

// countedStores appends numbers to a map, and counts them for readers.
func countedStores(c *check, fsys fsio.FS) {
	const n = 2000
	f := create(c, fsys, "f", "")
	c.ok(f.Allocate(8*n), "Allocate")
	m := mapOf(c, f, 8*n, fsio.ReadWrite)
	var count atomic.Int64
	c.together(3, func(i int) {
		if i == 0 {
			for next := range int64(n) {
				put(c, m, string(binary.BigEndian.AppendUint64(nil, uint64(next+1))), 8*next)
				count.Store(next + 1)
			}
			return
		}
		for have := int64(0); have < n; {
			c.ok(m.View(0, 8*n, fsio.ViewFunc(func(b []byte) error {
				have = count.Load()
				for at := range have {
					if got := binary.BigEndian.Uint64(b[8*at:]); got != uint64(at+1) {
						c.fatalf("number %d of %d counted ones is %d", at+1, have, got)
					}
				}
				return nil
			})), "View")
		}
	})
}
