package conformance

import (
	"io"
	"io/fs"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/segment"
)

// setReadRows are the rules of ReadAt, CopyTo and Size.
var setReadRows = []row[setSubject]{
	{
		name: "a set is read up to its size",
		rule: "No byte past Size is read, whatever the file has there.",
		run: func(c *check, s setSubject) {
			set := s.start(c, segment.SetOptions{PreallocateBytes: 2 * setReserve})
			appendTo(c, set, "0123456789")
			equal(c, get(c, set, 3, 7), "3456789", "the last bytes")
			p := []byte("..................")
			n, err := set.ReadAt(p, 5)
			equal(c, n, 5, "the count of a ReadAt that reaches past Size")
			c.is(err, io.EOF, "ReadAt past Size")
			equal(c, string(p[:n]), "56789", "what was read")
			n, err = set.ReadAt(make([]byte, 1), 10)
			equal(c, n, 0, "the count of a ReadAt at Size")
			c.is(err, io.EOF, "ReadAt at Size")
			_, err = set.ReadAt(make([]byte, 1), -1)
			c.is(err, fs.ErrInvalid, "ReadAt at -1")
			_, err = copied(set, 5, 6)
			c.is(err, io.ErrUnexpectedEOF, "CopyTo past Size")
		},
	},
	{
		name: "bytes are copied",
		rule: "CopyTo writes n bytes from pos to w, as fsio.File.CopyTo does, up to Size.",
		run: func(c *check, s setSubject) {
			set := s.filled(c, "0123456789")
			for pos := range int64(11) {
				for n := range 11 - pos {
					got, err := copied(set, pos, n)
					c.ok(err, "CopyTo")
					equal(c, got, "0123456789"[pos:pos+n], "what was copied")
				}
			}
			_, err := copied(set, -1, 1)
			c.is(err, fs.ErrInvalid, "CopyTo from -1")
			_, err = copied(set, 1, -1)
			c.is(err, fs.ErrInvalid, "CopyTo of -1 bytes")
		},
	},
	{
		name: "the size is that of the batches",
		rule: "Size is the number of bytes that readers have.",
		run: func(c *check, s setSubject) {
			set := s.start(c, segment.SetOptions{PreallocateBytes: setReserve})
			equal(c, set.Size(), 0, "Size of an empty set")
			appendTo(c, set, "abc")
			appendTo(c, set, "")
			appendTo(c, set, "def")
			keeps(c, set, "abcdef", "three appends")
		},
	},
	{
		name: "readers go on beside an appender",
		rule: "ReadAt, CopyTo, Size and Sync may be called at any time by any number of goroutines.",
		run: func(c *check, s setSubject) {
			const pattern = "0123456789"
			set := s.filled(c, pattern)
			look := func(int) {
				n := set.Size()
				if n%int64(len(pattern)) != 0 {
					c.fatalf("Size() = %d beside appends of %d bytes", n, len(pattern))
				}
				equal(c, get(c, set, n-10, 10), pattern, "the last batch that Size counted")
				got, err := copied(set, 0, 10)
				c.ok(err, "CopyTo")
				equal(c, got, pattern, "the first batch")
			}
			syncs := func(round int) {
				look(round)
				c.ok(set.Sync(), "Sync")
			}
			c.beside(looks, func(int) { appendTo(c, set, pattern) }, look, look, look, syncs)
		},
	},
}

// setAppendRows are the rules of Append.
var setAppendRows = []row[setSubject]{
	{
		name: "batches lie end to end",
		rule: "Append writes whole batches, end to end, at the end of the set and returns the position of the first.",
		run: func(c *check, s setSubject) {
			set := s.start(c, segment.SetOptions{})
			batches := []string{"one", "two", large(), "three"}
			for i, b := range batches {
				appendTo(c, set, b)
				keeps(c, set, strings.Join(batches[:i+1], ""), "appended")
			}
			c.ok(set.Close(), "Close")
			equal(c, s.file(c), strings.Join(batches, ""), "the file")
		},
	},
	{
		name: "an append is seen whole",
		rule: "It is all or nothing for readers: Size takes one step, when all bytes are there.",
		run: func(c *check, s setSubject) {
			var set segment.MessageSet
			s, turn := s.interfered(stores, func(_ *fsio.Op, do func() error) error {
				err := do()
				equal(c, set.Size(), 3, "Size while an append is being written")
				return err
			})
			set = s.filled(c, "abc")
			turn(true)
			appendTo(c, set, large())
			turn(false)
			keeps(c, set, "abc"+large(), "afterwards")
		},
	},
	{
		name: "an append is one write",
		rule: "It writes with one call of the file, or, what is large, in pieces of about 1 MiB.",
		run: func(c *check, s setSubject) {
			var calls atomic.Int64
			s, turn := s.interfered(stores, func(op *fsio.Op, do func() error) error {
				calls.Add(1)
				if len(op.Data) > 2*setPieces && op.Kind == fsio.OpWriteAt {
					c.errorf("a write of %d bytes", len(op.Data))
				}
				return do()
			})
			set := s.start(c, segment.SetOptions{})
			turn(true)
			for range 10 {
				calls.Store(0)
				appendTo(c, set, strings.Repeat("batch", 100))
				if n := calls.Load(); n > 1 {
					c.errorf("a small append made %d writes", n)
				}
			}
			appendTo(c, set, large())
			turn(false)
		},
	},
	{
		name: "what is appended is the caller's",
		rule: "No byte of batches is kept or changed.",
		run: func(c *check, s setSubject) {
			set := s.start(c, segment.SetOptions{})
			b := []byte("batch")
			_, err := set.Append(b)
			c.ok(err, "Append")
			equal(c, string(b), "batch", "what was appended")
			clear(b)
			keeps(c, set, "batch", "the set when the caller's bytes changed")
		},
	},
	{
		name: "a set has 2 GiB",
		rule: "What would not fit into 2³¹−1 bytes is ErrOverflow, and nothing was written.",
		run: func(c *check, s setSubject) {
			s.makeSet(c, setMaxBytes+1)
			_, err := s.open(s.fsys, setName, segment.SetOptions{Sealed: true})
			c.is(err, segment.ErrOverflow, "open of what is too large")
			s.makeSet(c, setMaxBytes-3)
			set, err := s.open(s.fsys, setName, segment.SetOptions{})
			if err != nil {
				c.skip("so much cannot be mapped here: " + err.Error())
			}
			_, err = set.Append([]byte("four"))
			c.is(err, segment.ErrOverflow, "Append of a byte too much")
			equal(c, set.Size(), setMaxBytes-3, "Size afterwards")
			c.ok(set.Truncate(0), "Truncate")
			c.ok(set.Close(), "Close")
		},
	},
	{
		name: "a sealed set ends",
		rule: "After Seal it is fs.ErrClosed.",
		run: func(c *check, s setSubject) {
			set := s.filled(c, "abc")
			c.ok(set.Seal(), "Seal")
			_, err := set.Append([]byte("def"))
			c.is(err, fs.ErrClosed, "Append after Seal")
			keeps(c, set, "abc", "sealed")
		},
	},
}

// setFaultRows are the rules of what a disk that fails does to a set.
var setFaultRows = []row[setSubject]{
	{
		name: "what failed is not counted",
		rule: "With an error, Size is what it was.",
		run: func(c *check, s setSubject) {
			for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
				s, turn := s.failing(stores|fsio.Sizes, cause)
				set := s.start(c, segment.SetOptions{})
				was := set.Size()
				turn(true)
				_, err := set.Append([]byte("batch"))
				turn(false)
				c.is(err, cause, "Append on a failing disk")
				equal(c, set.Size(), was, "Size after a failed Append")
				c.ok(set.Close(), "Close")
			}
		},
	},
	{
		name: "a full disk is no end",
		rule: "Where there was no room (fsio.NoRoom), what had been written is cut away, and the next Append may succeed.",
		run: func(c *check, s setSubject) {
			for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT} {
				s, turn := s.interfered(stores, torn(cause))
				set := s.start(c, segment.SetOptions{})
				c.ok(set.Truncate(0), "Truncate")
				appendTo(c, set, "abc")
				turn(true)
				_, err := set.Append([]byte(large()))
				turn(false)
				c.is(err, cause, "Append on a full disk")
				keeps(c, set, "abc", "after an Append on a full disk")
				equal(c, s.fileSize(c), 3, "the size of the file, cut back")
				appendTo(c, set, "def")
				c.ok(set.Sync(), "Sync")
				keeps(c, set, "abcdef", "when there is room again")
				c.ok(set.Close(), "Close")
			}
		},
	},
	{
		name: "a failed write breaks the set",
		rule: "After any other failed write, or where the cut fails, the set is broken: this and every later Append " +
			"and Sync returns ErrBroken with the cause.",
		run: func(c *check, s setSubject) {
			for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
				kinds, first := stores, cause
				if fsio.NoRoom(cause) {
					kinds |= fsio.Sizes // the cut fails, too
				}
				s, turn := s.interfered(kinds, func(op *fsio.Op, do func() error) error {
					if op.Kind&stores == 0 {
						return syscall.EROFS
					}
					return torn(first)(op, do)
				})
				set := s.start(c, segment.SetOptions{})
				turn(true)
				_, err := set.Append([]byte("batch"))
				turn(false)
				c.is(err, segment.ErrBroken, "Append on a bad disk")
				c.is(err, cause, "Append on a bad disk")
				for range 2 {
					_, err = set.Append([]byte("more"))
					c.is(err, segment.ErrBroken, "Append to a broken set")
					c.is(set.Sync(), segment.ErrBroken, "Sync of a broken set")
					c.is(set.Sync(), cause, "Sync of a broken set")
				}
				equal(c, set.Size(), 0, "Size of a broken set")
				c.ok(set.Close(), "Close of a broken set")
				c.ok(s.fsys.Remove(setName), "Remove")
			}
		},
	},
	{
		name: "a failed sync breaks the set",
		rule: "After a failed Sync, every later Append and Sync returns ErrBroken with the cause.",
		run: func(c *check, s setSubject) {
			s, turn := s.failing(fsio.Syncs, syscall.EIO)
			set := s.filled(c, "abc")
			c.ok(set.Sync(), "Sync")
			turn(true)
			c.is(set.Sync(), syscall.EIO, "Sync on a bad disk")
			turn(false)
			for range 2 {
				_, err := set.Append([]byte("more"))
				c.is(err, segment.ErrBroken, "Append after a failed Sync")
				c.is(err, syscall.EIO, "Append after a failed Sync")
				c.is(set.Sync(), segment.ErrBroken, "Sync after a failed Sync")
				c.is(set.Sync(), syscall.EIO, "Sync after a failed Sync")
			}
			keeps(c, set, "abc", "after a failed Sync")
		},
	},
}

// torn writes a half and fails.
func torn(cause error) func(op *fsio.Op, do func() error) error {
	return func(op *fsio.Op, do func() error) error {
		op.Data = op.Data[:len(op.Data)/2]
		if err := do(); err != nil {
			return err
		}
		return cause
	}
}
