package conformance

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"syscall"

	"github.com/stratalog/strata/fsio"
)

// fileUseRows are the rules for all methods of a File: concurrency, Close, positions.
var fileUseRows = []row[fsio.FS]{
	{
		name: "a file may be closed beside its calls",
		rule: "All methods may be called concurrently, Close included.",
		run:  closeBesideCalls,
	},
	{
		name: "a read sees what was written before",
		rule: "A ReadAt that begins after a WriteAt returned sees its bytes, through any File or Map of the file.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", zeros(64<<10))
			g := open(c, fsys, "f", os.O_RDWR)
			r := open(c, fsys, "f", os.O_RDONLY)
			m := mapOf(c, g, 64<<10, fsio.ReadWrite)
			for i, w := range []io.WriterAt{f, g, m} {
				off, s := int64(i)*20_000, strings.Repeat(string(rune('a'+i)), 9000)
				put(c, w, s, off)
				equal(c, get(c, f, off, len(s)), s, "what the first File reads")
				equal(c, get(c, g, off, len(s)), s, "what the second File reads")
				equal(c, get(c, r, off, len(s)), s, "what a read-only File reads")
				equal(c, view(c, m, off, int64(len(s))), s, "what a Map shows")
			}
		},
	},
	{
		name: "a read beside a write sees old or new",
		rule: "A ReadAt beside a WriteAt of the same bytes gives, byte by byte, the old or the new.",
		run:  readBesideWrite,
	},
	{
		name: "writes beside each other stay apart",
		rule: "Concurrent WriteAt calls to ranges that do not overlap do not disturb each other.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "")
			const n, piece = 8, 100
			c.together(n, func(i int) {
				for round := range 50 {
					put(c, f, strings.Repeat(string(rune('a'+i)), piece), int64(round*n+i)*piece)
				}
			})
			got := whole(c, f)
			equal(c, len(got), n*piece*50, "the size")
			for at := 0; at < len(got); at += piece {
				equal(c, got[at:at+piece], strings.Repeat(string(rune('a'+at/piece%n)), piece), "a piece")
			}
		},
	},
	{
		name: "a file may be closed twice",
		rule: "A second Close does nothing and returns nil.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			g := open(c, fsys, "f", os.O_RDONLY)
			for range 3 {
				c.ok(f.Close(), "Close")
			}
			equal(c, whole(c, g), "abc", "another File")
		},
	},
	{
		name: "a closed file refuses",
		rule: "Every other method but Name returns fs.ErrClosed.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			c.ok(f.Close(), "Close")
			equal(c, f.Name(), "f", "Name after Close")
			for _, call := range callsOfFile(f) {
				c.is(call.do(), fs.ErrClosed, call.what+" after Close")
			}
			equal(c, wholeOf(c, fsys, "f"), "abc", "the file afterwards")
		},
	},
	{
		name: "maps outlive their file",
		rule: "Maps of the file go on.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			m := mapOf(c, f, 3, fsio.ReadWrite)
			c.ok(f.Close(), "Close of the File")
			put(c, m, "A", 0)
			equal(c, view(c, m, 0, 3), "Abc", "what the Map shows")
			equal(c, m.Len(), 3, "Len")
			c.ok(m.Flush(0, 3), "Flush")
			equal(c, wholeOf(c, fsys, "f"), "Abc", "the file")
		},
	},
	{
		name: "negative positions are refused",
		rule: "A negative position or size is fs.ErrInvalid.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			for _, n := range []int64{-1, -4096, math.MinInt64} {
				_, err := f.ReadAt(make([]byte, 2), n)
				c.is(err, fs.ErrInvalid, "ReadAt")
				_, err = f.WriteAt([]byte("x"), n)
				c.is(err, fs.ErrInvalid, "WriteAt")
				c.is(f.Truncate(n), fs.ErrInvalid, "Truncate")
				c.is(f.Allocate(n), fs.ErrInvalid, "Allocate")
				_, err = f.Map(n, fsio.ReadOnly)
				c.is(err, fs.ErrInvalid, "Map")
				_, err = f.CopyTo(io.Discard, n, 1)
				c.is(err, fs.ErrInvalid, "CopyTo of a negative position")
				_, err = f.CopyTo(io.Discard, 0, n)
				c.is(err, fs.ErrInvalid, "CopyTo of a negative count")
			}
			equal(c, whole(c, f), "abc", "the file afterwards")
		},
	},
	{
		name: "sizes without end are refused",
		rule: "A write or a size past what the filesystem can hold is syscall.EFBIG.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			n, err := f.WriteAt([]byte("xy"), math.MaxInt64-1)
			c.is(err, syscall.EFBIG, "WriteAt past an int64")
			equal(c, n, 0, "the count of that WriteAt")
			n, err = f.ReadAt(make([]byte, 2), math.MaxInt64-1)
			equal(c, err, io.EOF, "the error of a ReadAt there")
			equal(c, n, 0, "the count of that ReadAt")
			if err := f.Truncate(math.MaxInt64); err != nil { // there are filesystems that can
				c.is(err, syscall.EFBIG, "Truncate to the largest int64")
				equal(c, whole(c, f), "abc", "the file afterwards")
			}
		},
	},
	{
		name: "what was never written is zeros",
		rule: "Bytes below the size that were never written read as zeros, also after the file was cut and grew again.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", strings.Repeat("x", 10_000))
			m := mapOf(c, f, 10_000, fsio.ReadWrite)
			equal(c, view(c, m, 4090, 20), strings.Repeat("x", 20), "what the Map shows")
			c.ok(f.Truncate(4096+50), "Truncate")
			c.ok(f.Truncate(20_000), "Truncate")
			want := strings.Repeat("x", 4096+50) + zeros(20_000-4096-50)
			equal(c, whole(c, f), want, "the file after it was cut and grew")
			equal(c, view(c, m, 0, 10_000), want[:10_000], "what the Map shows then")
			put(c, f, "y", 30_000)
			equal(c, whole(c, f), want+zeros(10_000)+"y", "the file after a write past its end")
			c.ok(f.Truncate(0), "Truncate")
			c.ok(f.Allocate(9000), "Allocate")
			equal(c, whole(c, f), zeros(9000), "the file after it was emptied and allocated")
		},
	},
	{
		name: "a read-only file refuses changes",
		rule: "Changing a File that was opened O_RDONLY is fs.ErrPermission.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "f", "abc")
			for _, flag := range []int{os.O_RDONLY, os.O_RDONLY | os.O_CREATE} {
				f := open(c, fsys, "f", flag)
				n, err := f.WriteAt([]byte("x"), 0)
				c.is(err, fs.ErrPermission, "WriteAt")
				equal(c, n, 0, "the count of WriteAt")
				c.is(f.Truncate(1), fs.ErrPermission, "Truncate")
				c.is(f.Truncate(3), fs.ErrPermission, "Truncate to the same size")
				c.is(f.Allocate(10), fs.ErrPermission, "Allocate")
				equal(c, whole(c, f), "abc", "the file afterwards")
			}
		},
	},
}

// callsOfFile are the methods of a File, but Close and Name.
func callsOfFile(f fsio.File) []call {
	return []call{
		{"ReadAt", func() error { _, err := f.ReadAt(make([]byte, 1), 0); return err }},
		{"WriteAt", func() error { _, err := f.WriteAt([]byte("x"), 0); return err }},
		{"WriteAt of nothing", func() error { _, err := f.WriteAt(nil, 0); return err }},
		{"Size", func() error { _, err := f.Size(); return err }},
		{"Truncate", func() error { return f.Truncate(1) }},
		{"Allocate", func() error { return f.Allocate(10) }},
		{"Sync", f.Sync},
		{"Map", func() error {
			m, err := f.Map(1, fsio.ReadOnly)
			if err == nil {
				return m.Close()
			}
			return err
		}},
		{"CopyTo", func() error { _, err := f.CopyTo(io.Discard, 0, 1); return err }},
	}
}

// closeBesideCalls closes a file while others use it: each call is made or refused.
func closeBesideCalls(c *check, fsys fsio.FS) {
	for range 20 {
		f := create(c, fsys, "f", "abc")
		c.together(6, func(i int) {
			if i == 0 {
				c.ok(f.Close(), "Close")
				return
			}
			for _, call := range callsOfFile(f) {
				if err := call.do(); err != nil && !errors.Is(err, fs.ErrClosed) && !errors.Is(err, fs.ErrInvalid) &&
					!errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					c.errorf("%s beside Close = %v", call.what, err)
				}
			}
		})
		for _, call := range callsOfFile(f) {
			c.is(call.do(), fs.ErrClosed, call.what+" after Close")
		}
	}
}

// readBesideWrite reads a range while it is written over with other letters.
func readBesideWrite(c *check, fsys fsio.FS) {
	const n = 10_000
	f := create(c, fsys, "f", strings.Repeat("a", n))
	g := open(c, fsys, "f", os.O_RDONLY)
	look := func(r fsio.File) func(int) {
		p := make([]byte, n)
		return func(int) {
			if got, err := r.ReadAt(p, 0); got != n || err != nil {
				c.fatalf("ReadAt beside a WriteAt = %d, %v", got, err)
			}
			if rest := bytes.Trim(p, "abcd"); len(rest) > 0 {
				c.fatalf("ReadAt beside a WriteAt gives byte %q, which nobody wrote", rest[0])
			}
		}
	}
	c.beside(looks, func(round int) { put(c, f, strings.Repeat(string(rune('a'+round%4)), n), 0) }, look(f), look(g))
}
