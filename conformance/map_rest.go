package conformance

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/stratalog/strata/fsio"
)

var errViewer = errors.New("seen enough")

// mapRows are the rules of View, WriteAt, Flush and Resize.
var mapRows = []row[fsio.FS]{
	{
		name: "a map has its length",
		rule: "Len is the number of bytes mapped. It changes by Resize only.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", strings.Repeat("x", 100))
			m := mapOf(c, f, 50, fsio.ReadWrite)
			equal(c, m.Len(), 50, "Len")
			put(c, f, "more", 100)
			c.ok(f.Truncate(10), "Truncate")
			equal(c, m.Len(), 50, "Len after the file changed")
			c.ok(f.Allocate(200), "Allocate")
			equal(c, m.Len(), 50, "Len after the file grew")
			c.ok(m.Resize(120), "Resize")
			equal(c, m.Len(), 120, "Len after Resize")
		},
	},
	{
		name: "ranges lie in the map",
		rule: "A range that is not inside [0, Len) is fs.ErrInvalid, and nothing is read or stored.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abcdef")
			m := mapOf(c, f, 3, fsio.ReadWrite)
			for _, r := range []struct{ off, n int64 }{
				{0, 4},
				{3, 1},
				{4, 0},
				{-1, 1},
				{-1, 0},
				{1, 3},
				{1, math.MaxInt64},
				{math.MaxInt64, 1},
				{math.MinInt64, 1},
				{0, -1},
				{3, -1},
				{math.MaxInt64, math.MaxInt64},
			} {
				c.is(m.View(r.off, r.n, fsio.ViewFunc(func([]byte) error {
					c.errorf("View of [%d, +%d) of 3 bytes calls its Viewer", r.off, r.n)
					return nil
				})), fs.ErrInvalid, "View outside the Map")
				c.is(m.Flush(r.off, r.n), fs.ErrInvalid, "Flush outside the Map")
				if r.n >= 0 && r.n < 10 {
					n, err := m.WriteAt([]byte("XXXXXXXXXX")[:r.n], r.off)
					c.is(err, fs.ErrInvalid, "WriteAt outside the Map")
					equal(c, n, 0, "its count")
				}
			}
			equal(c, whole(c, f), "abcdef", "the file afterwards")
		},
	},
	{
		name: "a view gets its bytes once",
		rule: "v gets n bytes, once, before View returns; n of 0 gives it an empty slice.",
		run: func(c *check, fsys fsio.FS) {
			text := strings.Repeat("0123456789", 20_000)
			m := mapOf(c, create(c, fsys, "f", text), 200_000, fsio.ReadOnly)
			for _, r := range []struct{ off, n int64 }{{0, 200_000}, {1, 0}, {200_000, 0}, {4095, 2}, {150_000, 50_000}, {0, 1}} {
				calls, got := 0, ""
				c.ok(m.View(r.off, r.n, fsio.ViewFunc(func(b []byte) error {
					calls++
					got = string(b)
					return nil
				})), "View")
				equal(c, calls, 1, "the calls of the Viewer")
				equal(c, got, text[r.off:r.off+r.n], "the bytes")
			}
		},
	},
	{
		name: "a view returns its viewer's error",
		rule: "v's error is returned as it is; a fault inside v is returned as a *FaultError.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", strings.Repeat("x", 2*pageBytes))
			m := mapOf(c, f, 2*pageBytes, fsio.ReadOnly)
			for _, n := range []int64{0, 3} {
				err := m.View(0, n, fsio.ViewFunc(func([]byte) error { return errViewer }))
				equal(c, err, errViewer, "the error of View")
			}
			c.ok(f.Truncate(1), "Truncate")
			seen := byte(0)
			err := m.View(pageBytes, 10, fsio.ViewFunc(func(b []byte) error {
				seen = b[5]
				return errViewer
			}))
			fault(c, err, "View of what the file no longer has")
			equal(c, seen, 0, "what the Viewer saw there")
		},
	},
	{
		name: "a store stays in the map",
		rule: "It never stores past Len: a range that does not fit is fs.ErrInvalid, with count 0.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", strings.Repeat("x", 10))
			m := mapOf(c, f, 5, fsio.ReadWrite)
			for _, off := range []int64{3, 4, 5, 6, 1 << 40, -1} {
				n, err := m.WriteAt([]byte("abc"), off)
				c.is(err, fs.ErrInvalid, "WriteAt past Len")
				equal(c, n, 0, "its count")
			}
			equal(c, whole(c, f), strings.Repeat("x", 10), "the file afterwards")
			put(c, m, "abc", 2)
			equal(c, whole(c, f), "xxabcxxxxx", "the file after a store that ends at Len")
		},
	},
	{
		name: "a read-only map refuses stores",
		rule: "On a ReadOnly Map it is fs.ErrPermission, with count 0.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			m := mapOf(c, f, 3, fsio.ReadOnly)
			n, err := m.WriteAt([]byte("x"), 0)
			c.is(err, fs.ErrPermission, "WriteAt on a ReadOnly Map")
			equal(c, n, 0, "its count")
			equal(c, whole(c, f), "abc", "the file afterwards")
			c.ok(m.Flush(0, 3), "Flush of a ReadOnly Map")
		},
	},
	{
		name: "a faulting store counts",
		rule: "With a *FaultError the count is a lower bound of the bytes stored, and no byte outside the range changed.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", strings.Repeat("x", 3*pageBytes))
			m := mapOf(c, f, 3*pageBytes, fsio.ReadWrite)
			c.ok(f.Truncate(pageBytes), "Truncate")
			n, err := m.WriteAt([]byte(strings.Repeat("y", pageBytes)), pageBytes-100)
			fault(c, err, "WriteAt over the end")
			if n > 100 {
				c.errorf("WriteAt over the end counts %d bytes, of which 100 have a place", n)
				n = 100
			}
			got := whole(c, f)
			equal(c, len(got), pageBytes, "the size afterwards")
			equal(c, got[:pageBytes-100], strings.Repeat("x", pageBytes-100), "the bytes before the range")
			equal(c, got[pageBytes-100:pageBytes-100+n], strings.Repeat("y", n), "the bytes that were counted")
		},
	},
	{
		name: "a store keeps no buffer",
		rule: "p is neither kept nor changed.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", zeros(10))
			m := mapOf(c, f, 10, fsio.ReadWrite)
			p := []byte("abc")
			if n, err := m.WriteAt(p, 0); n != 3 || err != nil {
				c.fatalf("WriteAt = %d, %v", n, err)
			}
			equal(c, string(p), "abc", "the buffer afterwards")
			copy(p, "xyz")
			equal(c, view(c, m, 0, 3), "abc", "the Map after a store into the buffer")
			equal(c, get(c, f, 0, 3), "abc", "the file after a store into the buffer")
		},
	},
	{
		name: "Flush covers stores",
		rule: "Flush makes durable the stores to [off, off+n) that returned before the call; it may make more of them so.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", zeros(3*pageBytes))
			m := mapOf(c, f, 3*pageBytes, fsio.ReadWrite)
			put(c, m, "abc", pageBytes-1)
			for _, r := range []struct{ off, n int64 }{{pageBytes - 1, 3}, {1, 1}, {0, 0}, {3 * pageBytes, 0}, {0, 3 * pageBytes}} {
				c.ok(m.Flush(r.off, r.n), "Flush")
			}
			equal(c, wholeOf(c, fsys, "f")[pageBytes-1:pageBytes+2], "abc", "the file afterwards")
		},
	},
	{
		name: "Resize comes after what began before",
		rule: "Stores and Views that began before it are done when it changes anything.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", strings.Repeat("x", 4*pageBytes))
			m := mapOf(c, f, 4*pageBytes, fsio.ReadWrite)
			look := func(int) {
				if _, err := tryView(m, 0, m.Len()); err != nil && !errors.Is(err, fs.ErrInvalid) { // Len was of before
					c.fatalf("View beside Resize: %v", err)
				}
			}
			c.beside(looks, func(round int) { c.ok(m.Resize(int64(1+3*(round%2))*pageBytes), "Resize") }, look, look, look)
		},
	},
	{
		name: "Resize keeps what is below",
		rule: "Bytes below the smaller of both sizes are unchanged, and grown bytes read as zeros.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", strings.Repeat("x", 100_000))
			m := mapOf(c, f, 100_000, fsio.ReadWrite)
			for _, n := range []int64{100_000, 150_000, 70_000, 4097, 4096, 5000, 0, 3, 200_000} {
				before := whole(c, f)
				c.ok(m.Resize(n), "Resize")
				equal(c, m.Len(), n, "Len after Resize")
				equal(c, size(c, f), n, "the size after Resize")
				keep := min(int64(len(before)), n)
				want := before[:keep] + zeros(int(n-keep))
				equal(c, view(c, m, 0, n), want, "the Map after Resize")
				equal(c, whole(c, f), want, "the file after Resize")
			}
			c.ok(f.Truncate(100), "Truncate")
			put(c, f, "abc", 100)
			part := mapOf(c, f, 10, fsio.ReadWrite)
			c.ok(part.Resize(102), "Resize of a Map that was shorter than the file")
			equal(c, whole(c, f), zeros(100)+"ab", "the file after Resize")
		},
	},
	{
		name: "a failed Resize leaves the map",
		rule: "Where the size cannot be set, the Map goes on as it was; where the file cannot be mapped again, the Map is closed.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			m := mapOf(c, f, 3, fsio.ReadWrite)
			c.is(m.Resize(-1), fs.ErrInvalid, "Resize to a negative size")
			if err := m.Resize(math.MaxInt64); !fsio.NoRoom(err) {
				c.errorf("Resize to the largest int64 = %v, want an error that says that there is no room", err)
			}
			equal(c, m.Len(), 3, "Len afterwards")
			put(c, m, "A", 0)
			equal(c, view(c, m, 0, 3), "Abc", "the Map afterwards")
			equal(c, whole(c, f), "Abc", "the file afterwards")
		},
	},
	{
		name: "Resize needs an open file",
		rule: "On a ReadOnly Map it is fs.ErrPermission, after Close of the File that made the Map fs.ErrClosed.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			g := open(c, fsys, "f", os.O_RDWR)
			ro := mapOf(c, g, 3, fsio.ReadOnly)
			rw := mapOf(c, f, 3, fsio.ReadWrite)
			for _, n := range []int64{2, 3, 4} {
				c.is(ro.Resize(n), fs.ErrPermission, "Resize of a ReadOnly Map")
			}
			c.ok(f.Close(), "Close of the File")
			for _, n := range []int64{2, 3, 4} {
				c.is(rw.Resize(n), fs.ErrClosed, "Resize after Close of the File")
			}
			equal(c, whole(c, g), "abc", "the file afterwards")
			equal(c, view(c, rw, 0, 3), "abc", "the Map afterwards")
		},
	},
}

// mapFaultRows are the rules for faults.
var mapFaultRows = []row[fsio.FS]{
	{
		name: "a missing page is a fault",
		rule: "An access to bytes that the file no longer has, that the full disk has no block for, or that the disk " +
			"cannot read is a *FaultError; in memory the same states give the same error.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "d", strings.Repeat("x", 4*pageBytes))
			m := mapOf(c, f, 4*pageBytes, fsio.ReadWrite)
			c.ok(f.Truncate(0), "Truncate")
			for _, r := range []struct{ off, n int64 }{{0, 1}, {pageBytes, 10}, {100, 3 * pageBytes}, {4*pageBytes - 1, 1}} {
				want := fsio.FaultError{Path: "d", Off: r.off, Size: r.n, Err: io.ErrUnexpectedEOF}
				_, err := tryView(m, r.off, r.n)
				equal(c, *fault(c, err, "View of an empty file"), want, "its fault")
				c.is(err, io.ErrUnexpectedEOF, "the cause of the fault")
				n, err := m.WriteAt(make([]byte, r.n), r.off)
				equal(c, *fault(c, err, "WriteAt of an empty file"), want, "its fault")
				equal(c, n, 0, "its count")
			}
			equal(c, size(c, f), 0, "the size afterwards")
		},
	},
	{
		name: "a fault passes",
		rule: "A fault leaves the Map usable.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", strings.Repeat("x", 2*pageBytes))
			m := mapOf(c, f, 2*pageBytes, fsio.ReadWrite)
			c.ok(f.Truncate(100), "Truncate")
			for range 3 {
				_, err := tryView(m, pageBytes, 10)
				fault(c, err, "View past the file's last page")
				equal(c, view(c, m, 0, 3), "xxx", "the Map where the file has bytes")
			}
			c.ok(f.Truncate(2*pageBytes), "Truncate")
			put(c, m, "abc", pageBytes)
			equal(c, view(c, m, pageBytes-1, 5), "\x00abc\x00", "the Map when the file has grown")
			c.ok(m.Flush(0, 2*pageBytes), "Flush")
			c.ok(m.Resize(3*pageBytes), "Resize")
			equal(c, m.Len(), 3*pageBytes, "Len")
		},
	},
}
