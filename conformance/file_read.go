package conformance

import (
	"errors"
	"io"
	"math"
	"os"
	"strings"

	"github.com/stratalog/strata/fsio"
)

// fileReadRows are the rules of ReadAt and CopyTo.
var fileReadRows = []row[fsio.FS]{
	{
		name: "a short read has an error",
		rule: "Fewer bytes than len(p) come with an error, always.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abcdef")
			for _, r := range []struct {
				off  int64
				n    int
				want string
			}{{0, 7, "abcdef"}, {5, 2, "f"}, {0, 100_000, "abcdef"}, {6, 1, ""}, {3, 4, "def"}} {
				p := make([]byte, r.n)
				n, err := f.ReadAt(p, r.off)
				equal(c, string(p[:n]), r.want, "what a ReadAt past the end read")
				if err == nil {
					c.errorf("ReadAt of %d bytes at %d of 6 = %d, nil, want an error", r.n, r.off, n)
				}
			}
		},
	},
	{
		name: "the end of a file is io.EOF",
		rule: "Where the file ends inside the range the error is io.EOF, itself and unwrapped.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abcdef")
			n, err := f.ReadAt(make([]byte, 4), 3)
			equal(c, n, 3, "the count of a ReadAt over the end")
			equal(c, err, io.EOF, "its error")
			c.ok(f.Truncate(4), "Truncate")
			n, err = f.ReadAt(make([]byte, 4), 3)
			equal(c, n, 1, "the count of a ReadAt over the new end")
			equal(c, err, io.EOF, "its error")
		},
	},
	{
		name: "past the end is nothing",
		rule: "At and past the end the result is 0, io.EOF.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			empty := create(c, fsys, "empty", "")
			for _, off := range []int64{3, 4, 4096, 1 << 40, math.MaxInt64} {
				n, err := f.ReadAt(make([]byte, 1), off)
				equal(c, n, 0, "the count of a ReadAt past the end")
				equal(c, err, io.EOF, "its error")
			}
			_, err := empty.ReadAt(make([]byte, 1), 0)
			equal(c, err, io.EOF, "the error of a ReadAt of an empty file")
		},
	},
	{
		name: "a full read has no error",
		rule: "All of len(p) bytes come with a nil error, also when they end where the file does.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", strings.Repeat("abc", 3000))
			for _, r := range []struct{ off, n int64 }{{0, 9000}, {8999, 1}, {1, 8999}, {4095, 2}, {0, 1}} {
				p := make([]byte, r.n)
				n, err := f.ReadAt(p, r.off)
				equal(c, int64(n), r.n, "the count")
				equal(c, err, nil, "the error of a full ReadAt")
				equal(c, string(p), strings.Repeat("abc", 3000)[r.off:r.off+r.n], "the bytes")
			}
		},
	},
	{
		name: "an empty read is nothing",
		rule: "An empty p is 0, nil at any position.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			for _, off := range []int64{0, 1, 3, 4, 1 << 40, math.MaxInt64} {
				n, err := f.ReadAt(nil, off)
				equal(c, n, 0, "the count of an empty ReadAt")
				equal(c, err, nil, "its error")
			}
		},
	},
	{
		name: "a read keeps no buffer",
		rule: "p is not kept.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			p := make([]byte, 3)
			n, err := f.ReadAt(p, 0)
			if n != 3 || err != nil {
				c.fatalf("ReadAt = %d, %v", n, err)
			}
			put(c, f, "def", 0)
			equal(c, string(p), "abc", "the buffer after a later WriteAt")
			copy(p, "xyz")
			equal(c, whole(c, f), "def", "the file after a store into the buffer")
			equal(c, string(p), "xyz", "the buffer after a later ReadAt")
		},
	},
	{
		name: "CopyTo counts what was taken",
		rule: "It returns the count that w took; fewer than n come with an error, always.",
		run: func(c *check, fsys fsio.FS) {
			want := strings.Repeat("0123456789", 50_000)
			f := create(c, fsys, "f", want)
			for _, r := range []struct{ off, n int64 }{{0, 500_000}, {0, 1}, {123, 4567}, {499_999, 1}, {1, 300_000}} {
				var w strings.Builder
				n, err := f.CopyTo(&w, r.off, r.n)
				equal(c, n, r.n, "the count of CopyTo")
				equal(c, err, nil, "its error")
				equal(c, w.String(), want[r.off:r.off+r.n], "what CopyTo wrote")
			}
			w := &limited{room: 1000}
			n, err := f.CopyTo(w, 5, 100_000)
			equal(c, n, 1000, "the count of a CopyTo to a writer that stopped")
			equal(c, w.got.String(), want[5:1005], "what that writer got")
			if err == nil {
				c.errorf("CopyTo of 1000 of 100000 bytes gives no error")
			}
			n, err = f.CopyTo(&limited{room: 10, silent: true}, 0, 100)
			if n != 10 || err == nil {
				c.errorf("CopyTo to a writer that takes 10 bytes and says nothing = %d, %v, want 10 and an error", n, err)
			}
		},
	},
	{
		name: "CopyTo meets the end",
		rule: "Where the file ends inside the range the error is io.ErrUnexpectedEOF.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abcdef")
			for _, r := range []struct {
				off, n int64
				want   string
			}{{0, 7, "abcdef"}, {4, 100_000, "ef"}, {6, 1, ""}, {1 << 40, 1, ""}, {2, math.MaxInt64, "cdef"}} {
				var w strings.Builder
				n, err := f.CopyTo(&w, r.off, r.n)
				equal(c, n, int64(len(r.want)), "the count of CopyTo over the end")
				c.is(err, io.ErrUnexpectedEOF, "CopyTo over the end")
				equal(c, w.String(), r.want, "what CopyTo wrote")
			}
		},
	},
	{
		name: "CopyTo passes on the writer's error",
		rule: "An error of w is returned as w gave it, so that a lost connection is told from a lost disk.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", strings.Repeat("x", 100_000))
			for _, room := range []int{0, 10, 70_000} {
				_, err := f.CopyTo(&limited{room: room}, 0, 100_000)
				equal(c, err, errLimit, "the error of CopyTo")
			}
		},
	},
	{
		name: "CopyTo of nothing",
		rule: "n of 0 is 0, nil.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			for _, off := range []int64{0, 3, 100} {
				n, err := f.CopyTo(&limited{}, off, 0)
				equal(c, n, 0, "the count of CopyTo of nothing")
				equal(c, err, nil, "its error")
			}
		},
	},
	{
		name: "copies do not disturb each other",
		rule: "(sendfile with an explicit position, so that concurrent calls do not disturb each other)",
		run: func(c *check, fsys fsio.FS) {
			want := strings.Repeat("0123456789", 20_000)
			f := create(c, fsys, "f", want)
			g := open(c, fsys, "f", os.O_RDONLY)
			c.together(8, func(i int) {
				r := []fsio.File{f, g}[i%2]
				for range 5 {
					var w strings.Builder
					if n, err := r.CopyTo(&w, int64(i)*7, 150_000); n != 150_000 || err != nil {
						c.fatalf("CopyTo beside others = %d, %v", n, err)
					}
					equal(c, w.String(), want[i*7:i*7+150_000], "what CopyTo wrote")
				}
			})
		},
	},
}

var errLimit = errors.New("no more")

// limited is a writer that takes room bytes, and then no more.
type limited struct {
	room   int
	silent bool
	got    strings.Builder
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.room-l.got.Len())
	l.got.Write(p[:n])
	if n < len(p) && !l.silent {
		return n, errLimit
	}
	return n, nil
}
