package conformance

import (
	"io/fs"
	"math"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/segment"
)

// setEndRows are the rules of Truncate, Seal, Sync and Close.
var setEndRows = []row[setSubject]{
	{
		name: "a set is cut",
		rule: "Truncate cuts the set to size, which must be in [0, Size()], otherwise ErrRange.",
		run: func(c *check, s setSubject) {
			set := s.filled(c, "0123456789")
			for _, size := range []int64{-1, 11, math.MaxInt64, math.MinInt64} {
				c.is(set.Truncate(size), segment.ErrRange, "Truncate")
			}
			keeps(c, set, "0123456789", "after what was refused")
			c.ok(set.Truncate(4), "Truncate")
			keeps(c, set, "0123", "cut")
			appendTo(c, set, "AB")
			keeps(c, set, "0123AB", "cut and appended to")
			c.ok(set.Close(), "Close")
			equal(c, s.file(c), "0123AB", "the file")
		},
	},
	{
		name: "a sealed set is cut, on a full disk",
		rule: "It works when the set is sealed, and when the disk is full.",
		run: func(c *check, s setSubject) {
			s, turn := s.failing(stores|fsio.OpAllocate, syscall.ENOSPC)
			set := s.filled(c, "0123456789")
			turn(true)
			c.ok(set.Truncate(8), "Truncate on a full disk")
			c.ok(set.Seal(), "Seal")
			c.ok(set.Truncate(5), "Truncate of a sealed set on a full disk")
			turn(false)
			keeps(c, set, "01234", "cut")
			c.ok(set.Close(), "Close")
			equal(c, s.file(c), "01234", "the file")
		},
	},
	{
		name: "the reserve is given back",
		rule: "Seal gives back the space that is reserved behind Size.",
		run: func(c *check, s setSubject) {
			set := s.start(c, segment.SetOptions{PreallocateBytes: setReserve})
			appendTo(c, set, "abc")
			c.ok(set.Seal(), "Seal")
			equal(c, s.file(c), "abc", "the file when it is sealed")
			keeps(c, set, "abc", "sealed")
		},
	},
	{
		name: "a set may be sealed twice",
		rule: "A second Seal does nothing and returns nil.",
		run: func(c *check, s setSubject) {
			set := s.filled(c, "abc")
			for range 3 {
				c.ok(set.Seal(), "Seal")
			}
			keeps(c, set, "abc", "sealed again")
		},
	},
	{
		name: "a set is synced",
		rule: "Sync makes durable all that was appended before the call.",
		run: func(c *check, s setSubject) {
			var syncs atomic.Int64
			s, turn := s.interfered(fsio.Syncs, func(_ *fsio.Op, do func() error) error {
				syncs.Add(1)
				return do()
			})
			turn(true)
			set := s.start(c, segment.SetOptions{})
			for range 3 {
				appendTo(c, set, "batch")
				syncs.Store(0)
				c.ok(set.Sync(), "Sync")
				if syncs.Load() == 0 {
					c.errorf("a Sync after an Append synced nothing")
				}
			}
		},
	},
	{
		name: "a closed set leaves its batches",
		rule: "Close gives back reserved space, frees file and mapping, and makes nothing durable.",
		run: func(c *check, s setSubject) {
			s, turn := s.interfered(fsio.Syncs, func(op *fsio.Op, do func() error) error {
				c.errorf("Close called %v", op.Kind)
				return do()
			})
			set := s.start(c, segment.SetOptions{PreallocateBytes: setReserve})
			appendTo(c, set, "abc")
			turn(true)
			c.ok(set.Close(), "Close")
			equal(c, s.file(c), "abc", "the file")
		},
	},
	{
		name: "a closed set refuses",
		rule: "After Close, Size is 0, a second Close returns nil and the other methods fs.ErrClosed.",
		run: func(c *check, s setSubject) {
			set := s.filled(c, "abc")
			c.ok(set.Close(), "Close")
			c.ok(set.Close(), "a second Close")
			equal(c, set.Size(), 0, "Size after Close")
			for _, call := range []call{
				{"ReadAt", func() error { _, err := set.ReadAt(make([]byte, 1), 0); return err }},
				{"CopyTo", func() error { _, err := copied(set, 0, 1); return err }},
				{"Append", func() error { _, err := set.Append([]byte("x")); return err }},
				{"Truncate", func() error { return set.Truncate(0) }},
				{"Seal", set.Seal},
				{"Sync", set.Sync},
			} {
				c.is(call.do(), fs.ErrClosed, call.what+" after Close")
			}
		},
	},
}

// setOpenRows are the rules of opening.
var setOpenRows = []row[setSubject]{
	{
		name: "the bytes are in the file",
		rule: "A MessageSet keeps its bytes in that file and nowhere else, and works on the File that it opened, not " +
			"on the name: a segment lists, renames and removes files by name, and recovery knows no others.",
		run: func(c *check, s setSubject) {
			set := s.filled(c, "abc")
			equal(c, list(c, s.fsys, "."), setName, "the files of a set")
			if err := s.fsys.Rename(setName, "other"); err != nil {
				c.skip("an open file cannot be renamed here")
			}
			appendTo(c, set, "def")
			keeps(c, set, "abcdef", "when the file was renamed")
			c.ok(set.Sync(), "Sync")
			c.ok(set.Truncate(4), "Truncate")
			c.ok(set.Close(), "Close")
			missing(c, s.fsys, setName)
			equal(c, wholeOf(c, s.fsys, "other"), "abcd", "the file under its new name")
		},
	},
	{
		name: "every byte of a file counts",
		rule: "Of an existing file every byte counts, zeros that were reserved before a crash included: recovery cuts them.",
		run: func(c *check, s setSubject) {
			makeFile(c, s.fsys, setName, "abc"+strings.Repeat("\x00", 100))
			for _, o := range []segment.SetOptions{{ReadOnly: true}, {Sealed: true}, {}, {PreallocateBytes: setReserve}} {
				set := s.start(c, o)
				keeps(c, set, "abc"+strings.Repeat("\x00", 100), "a file that was there")
				c.ok(set.Close(), "Close")
			}
			set := s.start(c, segment.SetOptions{})
			c.ok(set.Truncate(3), "Truncate")
			appendTo(c, set, "def")
			c.ok(set.Close(), "Close")
			equal(c, s.file(c), "abcdef", "the file")
		},
	},
	{
		name: "nothing is made to read",
		rule: "ReadOnly and a missing file is fs.ErrNotExist.",
		run: func(c *check, s setSubject) {
			_, err := s.open(s.fsys, setName, segment.SetOptions{ReadOnly: true})
			c.is(err, fs.ErrNotExist, "open of nothing")
			missing(c, s.fsys, setName)
		},
	},
	{
		name: "reading a set changes nothing",
		rule: "open an existing file without changing it",
		run: func(c *check, s setSubject) {
			makeFile(c, s.fsys, setName, "abc")
			s, turn := s.interfered(fsio.Mutates, func(op *fsio.Op, _ func() error) error {
				c.errorf("a set that is only read called %v", op.Kind)
				return syscall.EROFS
			})
			turn(true)
			set := s.start(c, segment.SetOptions{ReadOnly: true, PreallocateBytes: setReserve})
			keeps(c, set, "abc", "a set that is only read")
			_, err := set.Append([]byte("x"))
			c.is(err, fs.ErrClosed, "Append to a set that is only read")
			c.ok(set.Close(), "Close")
		},
	},
	{
		name: "a sealed set reserves nothing",
		rule: "nothing will be appended: open it with no space reserved",
		run: func(c *check, s setSubject) {
			makeFile(c, s.fsys, setName, "abc")
			set := s.start(c, segment.SetOptions{Sealed: true, PreallocateBytes: setReserve})
			equal(c, s.fileSize(c), 3, "the size of the file")
			_, err := set.Append([]byte("x"))
			c.is(err, fs.ErrClosed, "Append to a set that was opened sealed")
		},
	},
	{
		name: "space is reserved",
		rule: "PreallocateBytes reserves space in a new file, so that an append changes no size and a full disk shows " +
			"at the roll.",
		run: func(c *check, s setSubject) {
			set := s.start(c, segment.SetOptions{PreallocateBytes: 2 * setReserve})
			for range 3 {
				equal(c, s.fileSize(c), 2*setReserve, "the size of the file")
				appendTo(c, set, "batch")
			}
			c.ok(set.Close(), "Close")
			equal(c, s.fileSize(c), 15, "the size of the file afterwards")
		},
	},
}
