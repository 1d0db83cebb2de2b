package conformance

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
	"syscall"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// indexOpenRows are the rules of opening.
var indexOpenRows = []row[indexSubject]{
	{
		name: "a missing file is made",
		rule: "OpenFunc opens the index file name, or creates it empty.",
		run: func(c *check, s indexSubject) {
			for _, sealed := range []bool{false, true} {
				x := s.start(c, s.with(func(o *index.Options) { o.Sealed = sealed }), 0)
				holds(c, x, nil, "a new index")
				c.ok(x.Close(), "Close")
				equal(c, s.file(c), "", "the file")
				c.ok(s.fsys.Remove(indexName), "Remove")
			}
		},
	},
	{
		name: "the file is all there is",
		rule: "An Index keeps its bytes in that file and nowhere else, and works on the File that it opened, not on " +
			"the name: a segment lists, renames and removes files by name, and recovery knows no others.",
		run: func(c *check, s indexSubject) {
			x := s.start(c, s.options(), 3)
			equal(c, list(c, s.fsys, "."), indexName, "the files")
			c.ok(s.fsys.Rename(indexName, "other"), "Rename")
			s.fill(c, x, 5)
			c.ok(x.Truncate(4), "Truncate")
			s.fill(c, x, 6)
			c.ok(x.Sync(), "Sync")
			holds(c, x, indexEntries(6), "renamed")
			c.ok(x.Close(), "Close")
			equal(c, list(c, s.fsys, "."), "other", "the files after a rename")
			equal(c, wholeOf(c, s.fsys, "other"), s.encode(indexEntries(6)...), "the file")
		},
	},
	{
		name: "whole entries count",
		rule: "Every whole entry in the file counts; a part of one at the end is ErrCorrupt.",
		run: func(c *check, s indexSubject) {
			content := s.encode(indexEntries(4)...)
			size := s.layout.EntryBytes()
			for n := range len(content) + 1 {
				s.write(c, content[:n])
				if n%size == 0 {
					x := s.start(c, s.options(), 0)
					holds(c, x, indexEntries(n/size), "a file of whole entries")
					c.ok(x.Close(), "Close")
					continue
				}
				for _, o := range s.ways() {
					s.corrupt(c, o, "a file with a part of an entry")
				}
			}
		},
	},
	{
		name: "check finds every entry that is wrong",
		rule: "Keys that do not rise, values that fall, and offsets below the base are ErrCorrupt, as far as " +
			"Options.Check looks. So is the zero tail that a crash leaves, except with ReadOnly.",
		run: func(c *check, s indexSubject) {
			every := s.with(func(o *index.Options) { o.Check = true })
			for i := range 6 {
				for _, wrong := range s.wrong(i) {
					entries := indexEntries(6)
					entries[i] = wrong
					s.write(c, s.encode(entries...))
					s.corrupt(c, every, fmt.Sprintf("a file whose entry %d is %v", i, wrong))
				}
			}
			s.write(c, s.encode(indexEntries(4)...)+zeros(20*s.layout.EntryBytes()))
			for _, o := range []index.Options{every, s.options()} {
				s.corrupt(c, o, "a file with a tail of zeros")
			}
		},
	},
	{
		name: "the last entry is looked at",
		rule: "Without Check it looks at the last entry, and compares it with the first.",
		run: func(c *check, s indexSubject) {
			first := indexEntry(0)
			for _, last := range []index.Entry{{Key: first.Key, Value: first.Value}, {Key: first.Key - 1, Value: first.Value}} {
				s.write(c, s.encode(first, indexEntry(1), last))
				s.corrupt(c, s.options(), "a file whose last entry is wrong")
			}
		},
	},
	{
		name: "what is corrupt is left alone",
		rule: "With ErrCorrupt nothing was changed: whoever opened it removes the file and builds it anew.",
		run: func(c *check, s indexSubject) {
			size := s.layout.EntryBytes()
			for _, content := range []string{
				strings.Repeat("\xff", 3*size), s.encode(indexEntries(3)...) + "x", s.encode(indexEntries(3)...) + zeros(5*size),
			} {
				for _, o := range s.ways()[:2] {
					s.write(c, content)
					s.corrupt(c, o, "garbage")
					equal(c, s.file(c), content, "the file")
				}
			}
		},
	},
	{
		name: "space is reserved",
		rule: "Space is reserved by Allocate: a full disk is syscall.ENOSPC here, not a fault later.",
		run: func(c *check, s indexSubject) {
			failing, turn := s.failing(fsio.Sizes|fsio.Writes, syscall.ENOSPC)
			turn(true)
			x, err := s.open(failing.fsys, indexName, s.options())
			if err == nil {
				c.ok(x.Close(), "Close")
			}
			c.is(err, syscall.ENOSPC, "open on a full disk")
			turn(false)
			s.start(c, s.options(), indexRoom)
		},
	},
	{
		name: "the size is of whole entries",
		rule: "segment.index.bytes, below 2³¹, rounded down to whole entries; 0 means 10 MiB",
		run: func(c *check, s indexSubject) {
			size := s.layout.EntryBytes()
			for _, n := range []int{1, 2, 3} {
				x := s.start(c, s.with(func(o *index.Options) { o.MaxBytes = int64(n*size + size - 1) }), n)
				c.is(x.Append(indexEntry(n)), index.ErrFull, "Append to a full index")
				equal(c, len(s.file(c)), n*size, "the size of the file")
				c.ok(x.Close(), "Close")
			}
			x := s.start(c, s.with(func(o *index.Options) { o.MaxBytes = 0 }), 3)
			equal(c, len(s.file(c)), 10<<20-10<<20%size, "the size of the file by default")
			c.ok(x.Close(), "Close")
		},
	},
	{
		name: "no room is refused",
		rule: "Where entries are to be appended, a MaxBytes with no room for one is ErrRange.",
		run: func(c *check, s indexSubject) {
			for _, n := range []int64{1, int64(s.layout.EntryBytes()) - 1, -1, math.MinInt64, 1 << 31, math.MaxInt64} {
				o := s.with(func(o *index.Options) { o.MaxBytes = n })
				x, err := s.open(s.fsys, indexName, o)
				if err == nil {
					c.ok(x.Close(), "Close")
				}
				c.is(err, index.ErrRange, "open with an impossible MaxBytes")
				o.Sealed = true
				c.ok(s.start(c, o, 0).Close(), "Close")
			}
		},
	},
	{
		name: "what is opened sealed reserves nothing",
		rule: "nothing will be appended: open it with no space reserved, as after Seal",
		run: func(c *check, s indexSubject) {
			content := s.encode(indexEntries(3)...)
			s.write(c, content)
			x := s.start(c, s.with(func(o *index.Options) { o.Sealed = true }), 0)
			equal(c, s.file(c), content, "the file")
			holds(c, x, indexEntries(3), "opened sealed")
			finds(c, x, indexEntries(3), indexEntry(1).Key)
			c.is(x.Append(indexEntry(3)), fs.ErrClosed, "Append")
			c.ok(x.Seal(), "Seal")
			c.ok(x.Truncate(1), "Truncate")
			c.ok(x.Close(), "Close")
			equal(c, s.file(c), s.encode(indexEntries(1)...), "the file after Truncate and Close")
		},
	},
}

// ways are options that open in different ways: to append, sealed, to read, each with and without Check.
func (s indexSubject) ways() []index.Options {
	var ways []index.Options
	for _, every := range []bool{false, true} {
		ways = append(ways,
			s.with(func(o *index.Options) { o.Check = every }),
			s.with(func(o *index.Options) { o.Check, o.Sealed = every, true }),
			s.with(func(o *index.Options) { o.Check, o.ReadOnly = every, true }))
	}
	return ways
}

// corrupt notes a failure where the file opens, or not for being corrupt.
func (s indexSubject) corrupt(c *check, o index.Options, what string) {
	x, err := s.open(s.fsys, indexName, o)
	if err == nil {
		c.ok(x.Close(), "Close")
	}
	c.is(err, index.ErrCorrupt, "open of "+what)
}

// wrong are entries that cannot be the i-th.
func (s indexSubject) wrong(i int) []index.Entry {
	e := indexEntry(i)
	next := indexEntry(i + 1)
	var wrong []index.Entry
	if i > 0 {
		before := indexEntry(i - 1)
		wrong = append(wrong, index.Entry{Key: before.Key, Value: e.Value}, index.Entry{Key: e.Key, Value: before.Value - 1})
	}
	if i < 5 {
		wrong = append(wrong, index.Entry{Key: next.Key, Value: e.Value}, index.Entry{Key: e.Key, Value: next.Value + 1})
	}
	if s.layout.KeyRelative {
		wrong = append(wrong, index.Entry{Key: indexBase - 1, Value: e.Value})
	}
	if s.layout.ValueRelative {
		wrong = append(wrong, index.Entry{Key: e.Key, Value: indexBase - 1})
	}
	return wrong
}

// indexReadOnlyRows are the rules of ReadOnly.
var indexReadOnlyRows = []row[indexSubject]{
	{
		name: "nothing is made to read",
		rule: "ReadOnly and a missing file is fs.ErrNotExist.",
		run: func(c *check, s indexSubject) {
			x, err := s.open(s.fsys, indexName, s.with(func(o *index.Options) { o.ReadOnly = true }))
			if err == nil {
				c.ok(x.Close(), "Close")
			}
			c.is(err, fs.ErrNotExist, "open of a missing file to read")
			missing(c, s.fsys, indexName)
		},
	},
	{
		name: "reading changes nothing",
		rule: "ReadOnly opens an existing file without changing it: a Java tool, or a broker, may have it open.",
		run: func(c *check, s indexSubject) {
			content := s.encode(indexEntries(5)...)
			s.write(c, content)
			watched, kinds := s.watched()
			x := watched.start(c, s.with(func(o *index.Options) { o.ReadOnly = true }), 0)
			holds(c, x, indexEntries(5), "opened to read")
			c.ok(x.Close(), "Close")
			if seen := fsio.Kind(kinds.Load()) & (fsio.Mutates &^ fsio.Syncs); seen != 0 {
				c.errorf("it called %v", seen)
			}
			equal(c, s.file(c), content, "the file")
		},
	},
	{
		name: "who reads may not write",
		rule: "Append and Truncate are fs.ErrPermission, and Seal does nothing.",
		run: func(c *check, s indexSubject) {
			s.write(c, s.encode(indexEntries(5)...))
			x := s.start(c, s.with(func(o *index.Options) { o.ReadOnly = true }), 0)
			c.is(x.Append(indexEntry(5)), fs.ErrPermission, "Append")
			c.is(x.Truncate(2), fs.ErrPermission, "Truncate")
			c.ok(x.Seal(), "Seal")
			holds(c, x, indexEntries(5), "after what was refused")
		},
	},
	{
		name: "reserved space is no damage to a reader",
		rule: "The space that a live or killed broker has reserved is no damage: with more than one entry, and " +
			"the last of them all zeros, Len counts those before the first that is followed by zeros only.",
		run: func(c *check, s indexSubject) {
			for n := range 4 {
				content := s.encode(indexEntries(n)...) + zeros(20*s.layout.EntryBytes())
				s.write(c, content)
				for _, every := range []bool{false, true} {
					x := s.start(c, s.with(func(o *index.Options) { o.ReadOnly, o.Check = true, every }), 0)
					holds(c, x, indexEntries(n), "with a tail of zeros")
					finds(c, x, indexEntries(n), math.MaxInt64)
					c.ok(x.Close(), "Close")
				}
				equal(c, s.file(c), content, "the file")
			}
		},
	},
}
