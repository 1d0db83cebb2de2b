package conformance

import (
	"io"
	"os"
	"strings"

	"github.com/stratalog/strata/fsio"
)

// fileSizeRows are the rules of Size, Truncate and Allocate.
var fileSizeRows = []row[fsio.FS]{
	{
		name: "the size is the present one",
		rule: "Size is the number of bytes in the file now, whichever File or Map made it so.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			g := open(c, fsys, "f", os.O_RDWR)
			r := open(c, fsys, "f", os.O_RDONLY)
			m := mapOf(c, g, 3, fsio.ReadWrite)
			all := func(want int64, what string) {
				for _, file := range []fsio.File{f, g, r} {
					equal(c, size(c, file), want, "the size after "+what)
				}
			}
			all(3, "WriteAt")
			put(c, g, "xyz", 10)
			all(13, "WriteAt past the end")
			c.ok(f.Truncate(5), "Truncate")
			all(5, "Truncate")
			c.ok(g.Allocate(500), "Allocate")
			all(500, "Allocate")
			c.ok(m.Resize(7), "Resize")
			all(7, "Resize")
			put(c, m, "A", 6)
			all(7, "a store")
		},
	},
	{
		name: "Truncate keeps what is below",
		rule: "The bytes below the smaller of both sizes are unchanged.",
		run: func(c *check, fsys fsio.FS) {
			text := strings.Repeat("0123456789", 2000)
			f := create(c, fsys, "f", text)
			for _, n := range []int64{20_000, 30_000, 19_999, 12_288, 12_287, 50, 4096, 1, 0, 10} {
				before := whole(c, f)
				c.ok(f.Truncate(n), "Truncate")
				after := whole(c, f)
				equal(c, int64(len(after)), n, "the size after Truncate")
				keep := min(len(before), len(after))
				equal(c, after[:keep], before[:keep], "the bytes after Truncate")
				equal(c, after[keep:], zeros(len(after)-keep), "the grown bytes")
			}
		},
	},
	{
		name: "a map outlives its bytes",
		rule: "A Map that reaches past the new end stays. Past the page in which the end lies its accesses are a " +
			"*FaultError; in the rest of that page it reads zeros, and stores are lost.",
		run: cutUnderMap,
	},
	{
		name: "Allocate grows",
		rule: "Allocate reserves the blocks of [0, size), and grows the file to size where it is shorter.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			c.ok(f.Allocate(10_000), "Allocate")
			equal(c, whole(c, f), "abc"+zeros(9997), "the file after Allocate")
			empty := create(c, fsys, "empty", "")
			c.ok(empty.Allocate(1), "Allocate")
			equal(c, whole(c, empty), "\x00", "an empty file after Allocate")
			c.ok(empty.Allocate(0), "Allocate of nothing")
		},
	},
	{
		name: "Allocate changes no byte",
		rule: "It never shrinks the file and changes no byte of it.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			put(c, f, "def", 9000)
			want := whole(c, f)
			for _, n := range []int64{0, 1, 3, 4096, 9003, 5000} {
				c.ok(f.Allocate(n), "Allocate")
				equal(c, whole(c, f), want, "the file after Allocate below its size")
			}
			c.ok(f.Allocate(20_000), "Allocate")
			equal(c, whole(c, f), want+zeros(20_000-9003), "the file after Allocate past its size")
		},
	},
}

// pageBytes is a multiple of every page size in use.
const pageBytes = 64 << 10

// cutUnderMap cuts a file under a Map.
func cutUnderMap(c *check, fsys fsio.FS) {
	f := create(c, fsys, "f", strings.Repeat("x", 3*pageBytes))
	m := mapOf(c, f, 3*pageBytes, fsio.ReadWrite)
	c.ok(f.Truncate(pageBytes-10), "Truncate under a Map")
	equal(c, m.Len(), 3*pageBytes, "Len afterwards")
	equal(c, view(c, m, pageBytes-20, 20), strings.Repeat("x", 10)+zeros(10), "the page in which the end lies")
	for _, off := range []int64{pageBytes, 2 * pageBytes, 3*pageBytes - 4} {
		_, err := tryView(m, off, 4)
		e := fault(c, err, "View past the last page")
		equal(c, *e, fsio.FaultError{Path: "f", Off: off, Size: 4, Err: io.ErrUnexpectedEOF}, "the fault")
		_, err = m.WriteAt([]byte("abcd"), off)
		e = fault(c, err, "WriteAt past the last page")
		equal(c, *e, fsio.FaultError{Path: "f", Off: off, Size: 4, Err: io.ErrUnexpectedEOF}, "the fault")
	}
	if n, err := m.WriteAt([]byte("lost"), pageBytes-5); n != 4 || err != nil {
		c.errorf("WriteAt in the rest of the last page = %d, %v, want 4, nil", n, err)
	}
	equal(c, size(c, f), pageBytes-10, "the size after a store past the end")
	put(c, m, "kept", 0)
	c.ok(f.Truncate(2*pageBytes), "Truncate")
	equal(c, view(c, m, 0, 8), "keptxxxx", "the Map when the file has grown")
	equal(c, view(c, m, pageBytes, pageBytes), zeros(pageBytes), "the bytes that came back")
}
