package conformance

import (
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/stratalog/strata/fsio"
)

// fsOpenRows are the rules of OpenFile.
var fsOpenRows = []row[fsio.FS]{
	{
		name: "open refuses other flags",
		rule: "flag is os.O_RDONLY or os.O_RDWR, with any of os.O_CREATE, os.O_EXCL, os.O_TRUNC; other bits are " +
			"fs.ErrInvalid, os.O_APPEND and os.O_WRONLY among them.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "f", "abc")
			for _, flag := range []int{
				os.O_WRONLY, os.O_WRONLY | os.O_CREATE, os.O_RDWR | os.O_WRONLY, os.O_RDWR | os.O_APPEND,
				os.O_RDWR | os.O_CREATE | os.O_APPEND, os.O_RDWR | os.O_SYNC, os.O_RDWR | 1<<30, os.O_APPEND,
			} {
				for _, name := range []string{"f", "new"} {
					_, err := fsys.OpenFile(name, flag, 0o644)
					c.is(err, fs.ErrInvalid, "OpenFile with a flag that is not allowed")
				}
			}
			equal(c, list(c, fsys, "."), "f", "ReadDir afterwards")
		},
	},
	{
		name: "open finds nothing",
		rule: "Without O_CREATE a missing name is fs.ErrNotExist.",
		run: func(c *check, fsys fsio.FS) {
			for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_TRUNC, os.O_RDWR | os.O_EXCL} {
				_, err := fsys.OpenFile("missing", flag, 0o644)
				c.is(err, fs.ErrNotExist, "OpenFile of a missing name")
			}
			missing(c, fsys, "missing")
		},
	},
	{
		name: "open creates",
		rule: "With O_CREATE a missing name becomes an empty file, but a missing parent is fs.ErrNotExist.",
		run: func(c *check, fsys fsio.FS) {
			f := open(c, fsys, "f", os.O_RDWR|os.O_CREATE)
			equal(c, size(c, f), 0, "the size of a new file")
			open(c, fsys, "g", os.O_RDONLY|os.O_CREATE)
			equal(c, list(c, fsys, "."), "f g", "ReadDir")
			put(c, f, "abc", 0)
			equal(c, whole(c, open(c, fsys, "f", os.O_RDWR|os.O_CREATE)), "abc", "a file opened again with O_CREATE")
			_, err := fsys.OpenFile("missing/f", os.O_RDWR|os.O_CREATE, 0o644)
			c.is(err, fs.ErrNotExist, "OpenFile without a parent")
			missing(c, fsys, "missing")
		},
	},
	{
		name: "open creates exclusively",
		rule: "With O_CREATE and O_EXCL an existing name is fs.ErrExist",
		run: func(c *check, fsys fsio.FS) {
			open(c, fsys, "f", os.O_RDWR|os.O_CREATE|os.O_EXCL)
			for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_TRUNC} {
				_, err := fsys.OpenFile("f", flag|os.O_CREATE|os.O_EXCL, 0o644)
				c.is(err, fs.ErrExist, "OpenFile with O_EXCL of an existing name")
			}
		},
	},
	{
		name: "one exclusive open wins",
		rule: "With O_CREATE and O_EXCL an existing name is fs.ErrExist, and of concurrent calls one succeeds.",
		run: func(c *check, fsys fsio.FS) {
			for range 20 {
				var won atomic.Int64
				c.together(8, func(int) {
					f, err := fsys.OpenFile("f", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
					if err != nil {
						c.is(err, fs.ErrExist, "OpenFile of a loser")
						return
					}
					won.Add(1)
					c.ok(f.Close(), "Close")
				})
				equal(c, won.Load(), 1, "the exclusive opens that succeeded")
				c.ok(fsys.Remove("f"), "Remove")
			}
		},
	},
	{
		name: "O_EXCL alone does nothing",
		rule: "O_EXCL without O_CREATE has no effect.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "f", "abc")
			equal(c, whole(c, open(c, fsys, "f", os.O_RDONLY|os.O_EXCL)), "abc", "a file opened with O_EXCL")
			equal(c, whole(c, open(c, fsys, "f", os.O_RDWR|os.O_EXCL)), "abc", "a file opened with O_EXCL")
		},
	},
	{
		name: "O_TRUNC cuts for all",
		rule: "O_TRUNC cuts the file to size 0 for every open File of it; with O_RDONLY it is fs.ErrInvalid.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abcdef")
			_, err := fsys.OpenFile("f", os.O_RDONLY|os.O_TRUNC, 0)
			c.is(err, fs.ErrInvalid, "OpenFile with O_RDONLY and O_TRUNC")
			equal(c, size(c, f), 6, "the size after a refused O_TRUNC")
			g := open(c, fsys, "f", os.O_RDWR|os.O_TRUNC)
			equal(c, size(c, f), 0, "the size that an open File sees")
			put(c, g, "z", 2)
			equal(c, whole(c, f), "\x00\x00z", "the bytes that an open File sees")
		},
	},
	{
		name: "open refuses directories",
		rule: "A directory is syscall.EISDIR, whatever the flags.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "d")
			for _, flag := range []int{
				os.O_RDONLY, os.O_RDWR, os.O_RDONLY | os.O_CREATE, os.O_RDWR | os.O_CREATE, os.O_RDWR | os.O_TRUNC,
				os.O_RDWR | os.O_CREATE | os.O_EXCL, os.O_RDWR | os.O_CREATE | os.O_TRUNC,
			} {
				for _, dir := range []string{"d", "."} {
					_, err := fsys.OpenFile(dir, flag, 0o644)
					c.is(err, syscall.EISDIR, "OpenFile of a directory")
				}
			}
		},
	},
	{
		name: "files of one name share bytes",
		rule: "Two Files of one name share the bytes: what one wrote, the other reads.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			g := open(c, fsys, "f", os.O_RDWR)
			r := open(c, fsys, "f", os.O_RDONLY)
			put(c, f, "DEF", 2)
			equal(c, whole(c, g), "abDEF", "what another File reads")
			put(c, g, "A", 0)
			equal(c, whole(c, f), "AbDEF", "what another File reads")
			equal(c, whole(c, r), "AbDEF", "what a read-only File reads")
			c.ok(f.Truncate(1), "Truncate")
			equal(c, whole(c, r), "A", "what another File reads after a Truncate")
		},
	},
	{
		name: "a file keeps its bytes",
		rule: "A File keeps its bytes when its name is renamed, replaced or removed.",
		run: func(c *check, fsys fsio.FS) {
			renamed := create(c, fsys, "renamed", "one")
			c.ok(fsys.Rename("renamed", "elsewhere"), "Rename")
			makeFile(c, fsys, "renamed", "another")
			replaced := create(c, fsys, "replaced", "two")
			makeFile(c, fsys, "new", "other")
			c.ok(fsys.Rename("new", "replaced"), "Rename")
			removed := create(c, fsys, "removed", "three")
			c.ok(fsys.Remove("removed"), "Remove")
			makeFile(c, fsys, "removed", "another")
			for f, want := range map[fsio.File]string{renamed: "one", replaced: "two", removed: "three"} {
				equal(c, whole(c, f), want, "the bytes of "+f.Name())
				put(c, f, "!", int64(len(want)))
				equal(c, whole(c, f), want+"!", "the bytes of "+f.Name()+" after a write")
			}
			equal(c, wholeOf(c, fsys, "elsewhere"), "one!", "the renamed file under its new name")
			equal(c, wholeOf(c, fsys, "replaced"), "other", "the new file under its name")
			equal(c, wholeOf(c, fsys, "removed"), "another", "the new file under the name that was free")
		},
	},
}
