package conformance

import (
	"io/fs"
	"math"
	"os"
	"strings"
	"syscall"

	"github.com/stratalog/strata/fsio"
)

// fileWriteRows are the rules of WriteAt.
var fileWriteRows = []row[fsio.FS]{
	{
		name: "a write is whole",
		rule: "Fewer bytes than len(p) come with an error, always; a system call that wrote less is continued.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "")
			want := strings.Repeat("0123456789abcdef", 256<<10)
			n, err := f.WriteAt([]byte(want), 3)
			equal(c, n, len(want), "the count of a large WriteAt")
			equal(c, err, nil, "its error")
			equal(c, whole(c, f), zeros(3)+want, "the file")
			put(c, f, want[:5000], 4000)
			equal(c, get(c, f, 4000, 5000), want[:5000], "the bytes written over others")
			equal(c, size(c, f), int64(len(want))+3, "the size after a write over others")
		},
	},
	{
		name: "a failed write is a prefix",
		rule: "With an error, the first n bytes of p are in the file and no byte outside [off, off+len(p)) has changed.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abcdef")
			r := open(c, fsys, "f", os.O_RDONLY)
			closed := open(c, fsys, "f", os.O_RDWR)
			c.ok(closed.Close(), "Close")
			for _, try := range []struct {
				f    fsio.File
				off  int64
				want error
			}{
				{f, -3, fs.ErrInvalid}, {r, 2, fs.ErrPermission}, {closed, 2, fs.ErrClosed}, {f, math.MaxInt64 - 1, syscall.EFBIG},
			} {
				n, err := try.f.WriteAt([]byte("XYZ"), try.off)
				equal(c, n, 0, "the count of a refused WriteAt")
				c.is(err, try.want, "WriteAt")
				equal(c, whole(c, f), "abcdef", "the file afterwards")
			}
		},
	},
	{
		name: "a gap is zeros",
		rule: "A gap between the old end and off reads as zeros.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			put(c, f, "def", 5)
			equal(c, whole(c, f), "abc\x00\x00def", "the file after a write past its end")
			put(c, f, "x", 20_000)
			equal(c, whole(c, f), "abc\x00\x00def"+zeros(20_000-8)+"x", "the file after a write far past its end")
		},
	},
	{
		name: "an empty write is nothing",
		rule: "An empty p changes nothing, not even the size.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			c.ok(fsys.Chtimes("f", someTime), "Chtimes")
			for _, off := range []int64{0, 3, 10, 1 << 40} {
				n, err := f.WriteAt(nil, off)
				equal(c, n, 0, "the count of an empty WriteAt")
				equal(c, err, nil, "its error")
			}
			equal(c, whole(c, f), "abc", "the file afterwards")
			isSomeTime(c, modTime(c, fsys, "f"), "the ModTime afterwards")
		},
	},
	{
		name: "a write keeps no buffer",
		rule: "p is neither kept nor changed.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "")
			m := mapOf(c, create(c, fsys, "mapped", zeros(100)), 3, fsio.ReadOnly)
			mapped := open(c, fsys, "mapped", os.O_RDWR)
			for _, g := range []fsio.File{f, mapped} {
				p := []byte("abc")
				if n, err := g.WriteAt(p, 0); n != 3 || err != nil {
					c.fatalf("WriteAt = %d, %v", n, err)
				}
				equal(c, string(p), "abc", "the buffer afterwards")
				copy(p, "xyz")
				equal(c, get(c, g, 0, 3), "abc", "the file after a store into the buffer")
			}
			equal(c, view(c, m, 0, 3), "abc", "the Map after a store into the buffer")
		},
	},
}
