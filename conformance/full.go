package conformance

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/stratalog/strata/fsio"
)

// fill takes all the room, or ends the row.
func fill(c *check, fsys fsio.FS) {
	f, ok := fsys.(Filler)
	if !ok {
		c.skip("needs a conformance.Filler")
	}
	err := f.Fill()
	if errors.Is(err, errors.ErrUnsupported) {
		c.skip("the disk cannot be filled")
	}
	c.ok(err, "Fill")
}

// fullRows are the rules for a disk that is full.
var fullRows = []row[fsio.FS]{
	{
		name: "a full disk refuses a write",
		rule: "A full disk is syscall.ENOSPC, and Truncate to the old size works on it.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			fill(c, fsys)
			n, err := f.WriteAt([]byte(strings.Repeat("x", 1<<20)), 3)
			c.is(err, syscall.ENOSPC, "WriteAt on a full disk")
			c.ok(f.Truncate(3), "Truncate to the old size")
			equal(c, whole(c, f), "abc", "the file after it was cut back")
			if n >= 1<<20 {
				c.errorf("the count of a WriteAt that failed is %d", n)
			}
		},
	},
	{
		name: "a write that fails midway is a prefix",
		rule: "With an error, the first n bytes of p are in the file and no byte outside [off, off+len(p)) has changed.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abcdef")
			fill(c, fsys)
			text := strings.Repeat("0123456789", 100_000)
			n, err := f.WriteAt([]byte(text), 3)
			c.is(err, syscall.ENOSPC, "WriteAt on a full disk")
			equal(c, get(c, f, 0, 3), "abc", "the bytes before the range")
			equal(c, get(c, f, 3, n), text[:n], "the bytes that were counted")
		},
	},
	{
		name: "a full disk can be cut",
		rule: "Cutting works on a full disk.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", strings.Repeat("x", 10_000))
			fill(c, fsys)
			for _, n := range []int64{9999, 5000, 4096, 1, 0} {
				c.ok(f.Truncate(n), "Truncate on a full disk")
				equal(c, size(c, f), n, "the size")
			}
		},
	},
	{
		name: "what is allocated has room",
		rule: "After nil, WriteAt and Map.WriteAt below size do not fail for want of space.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			c.ok(f.Truncate(2*pageBytes), "Truncate")
			c.ok(f.Allocate(4*pageBytes), "Allocate")
			m := mapOf(c, f, 4*pageBytes, fsio.ReadWrite)
			fill(c, fsys)
			put(c, f, strings.Repeat("x", 4*pageBytes), 0)
			put(c, m, strings.Repeat("y", 4*pageBytes), 0)
			equal(c, whole(c, f), strings.Repeat("y", 4*pageBytes), "the file")
			c.ok(f.Sync(), "Sync")
		},
	},
	{
		name: "a full disk refuses to allocate",
		rule: "A disk without the room is syscall.ENOSPC now, and the size is what it was.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			fill(c, fsys)
			c.is(f.Allocate(1<<20), syscall.ENOSPC, "Allocate on a full disk")
			equal(c, whole(c, f), "abc", "the file afterwards")
		},
	},
	{
		name: "a store without a block is a fault",
		rule: "An access to bytes that the file no longer has, that the full disk has no block for, or that the disk " +
			"cannot read is a *FaultError; in memory the same states give the same error.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", strings.Repeat("x", pageBytes))
			c.ok(f.Truncate(4*pageBytes), "Truncate")
			m := mapOf(c, f, 4*pageBytes, fsio.ReadWrite)
			fill(c, fsys)
			_, err := m.WriteAt([]byte("abc"), 3*pageBytes)
			e := fault(c, err, "a store into a hole on a full disk")
			c.is(e.Err, syscall.ENOSPC, "its cause")
			put(c, m, "abc", 10)
			equal(c, view(c, m, 9, 5), "xabcx", "the Map where the file has blocks")
		},
	},
	{
		name: "a removed file gives its space back",
		rule: "its space is free when the last is closed.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "small", "abc")
			big := create(c, fsys, "big", strings.Repeat("x", 16*pageBytes))
			m := mapOf(c, big, pageBytes, fsio.ReadOnly)
			fill(c, fsys)
			c.ok(fsys.Remove("big"), "Remove on a full disk")
			c.ok(big.Close(), "Close")
			c.ok(m.Close(), "Close of the Map")
			f := open(c, fsys, "small", os.O_RDWR)
			put(c, f, strings.Repeat("y", pageBytes), 0)
			equal(c, whole(c, f), strings.Repeat("y", pageBytes), "a file written into the space")
		},
	},
}
