package conformance

import (
	"bytes"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/segment"
)

// TestMessageSet checks what open opens against a slice of bytes. What a crash leaves it does not check.
func TestMessageSet(t *testing.T, newFS NewFS, open segment.OpenFunc, skip Skip) {
	t.Helper()
	given(t, newFS != nil, "newFS")
	given(t, open != nil, "open")
	runRows(t, setRows(), func(tb testing.TB) setSubject { return setSubject{newFS(tb), open} }, skip)
}

// setRows are the rows of TestMessageSet.
func setRows() []row[setSubject] {
	var rows []row[setSubject]
	for _, part := range [][]row[setSubject]{setReadRows, setAppendRows, setFaultRows, setEndRows, setOpenRows} {
		rows = append(rows, part...)
	}
	return rows
}

// setSubject is what a row of TestMessageSet runs on.
type setSubject struct {
	fsys fsio.FS
	open segment.OpenFunc
}

// Of the sets in the rows.
const (
	setName     = "set"
	setReserve  = 1 << 16 // what a set that reserves, reserves
	setPieces   = 1 << 20 // about what one write of a large append has
	setMaxBytes = 1<<31 - 1
)

// start opens the set, and closes it when the row is done.
func (s setSubject) start(c *check, o segment.SetOptions) segment.MessageSet {
	o.SegmentBytes = setReserve
	set, err := s.open(s.fsys, setName, o)
	c.ok(err, "open")
	c.after(func() { c.ok(set.Close(), "Close") })
	return set
}

// filled is start of a set that holds content.
func (s setSubject) filled(c *check, content string) segment.MessageSet {
	set := s.start(c, segment.SetOptions{})
	appendTo(c, set, content)
	return set
}

// appendTo appends content behind what is there.
func appendTo(c *check, set segment.MessageSet, content string) {
	was := set.Size()
	pos, err := set.Append([]byte(content))
	c.ok(err, "Append")
	equal(c, pos, was, "the position of what was appended")
}

// keeps notes a failure where set has other bytes than want.
func keeps(c *check, set segment.MessageSet, want, what string) {
	equal(c, set.Size(), int64(len(want)), what+": Size")
	if len(want) > 0 {
		equal(c, get(c, set, 0, len(want)), want, what)
	}
}

// file is what the file of the set holds.
func (s setSubject) file(c *check) string { return wholeOf(c, s.fsys, setName) }

// fileSize is the size of the file of the set.
func (s setSubject) fileSize(c *check) int64 {
	info, err := s.fsys.Stat(setName)
	c.ok(err, "Stat")
	return info.Size()
}

// large is more than one write takes.
func large() string { return string(bytes.Repeat([]byte("0123456789abcdef"), 3*setPieces/16+1)) }

// interfered is s on a filesystem whose calls of some kinds go through do, as long as that is switched on.
func (s setSubject) interfered(kinds fsio.Kind, instead func(op *fsio.Op, do func() error) error) (setSubject, func(on bool)) {
	var on atomic.Bool
	s.fsys = fsio.Intercept(s.fsys, func(op *fsio.Op, do func() error) error {
		if kinds&op.Kind != 0 && on.Load() {
			return instead(op, do)
		}
		return do()
	})
	return s, on.Store
}

// failing is s on a filesystem whose calls of some kinds fail as long as that is switched on.
func (s setSubject) failing(kinds fsio.Kind, err error) (setSubject, func(on bool)) {
	return s.interfered(kinds, func(*fsio.Op, func() error) error { return err })
}

// stores are the ways to write to a file: by a call, or through a mapping.
const stores = fsio.Writes

// copied is what CopyTo gives.
func copied(set segment.MessageSet, pos, n int64) (string, error) {
	var w bytes.Buffer
	got, err := set.CopyTo(&w, pos, n)
	if err == nil && got != int64(w.Len()) {
		err = io.ErrShortWrite
	}
	return w.String(), err
}

// makeSet makes the file of a set.
func (s setSubject) makeSet(c *check, size int64) {
	f := open(c, s.fsys, setName, os.O_RDWR|os.O_CREATE)
	c.ok(f.Truncate(size), "Truncate")
	c.ok(f.Close(), "Close")
}
