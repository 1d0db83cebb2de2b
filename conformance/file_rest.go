package conformance

import (
	"io/fs"
	"os"
	"strings"

	"github.com/stratalog/strata/fsio"
)

// fileRows are the rules of Name, Sync and Map.
var fileRows = []row[fsio.FS]{
	{
		name: "a file has the name it was opened by",
		rule: "Name is the name the File was opened by. Renames do not change it.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "d")
			f := create(c, fsys, "d/f", "")
			equal(c, f.Name(), "d/f", "Name")
			c.ok(fsys.Rename("d/f", "g"), "Rename")
			equal(c, f.Name(), "d/f", "Name after a Rename")
			equal(c, open(c, fsys, "g", os.O_RDONLY).Name(), "g", "Name by the new name")
			c.ok(fsys.Remove("g"), "Remove")
			equal(c, f.Name(), "d/f", "Name after a Remove")
		},
	},
	{
		name: "Sync covers all files and maps",
		rule: "It covers what any File and any Map of the same file did.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abcdef")
			g := open(c, fsys, "f", os.O_RDWR)
			m := mapOf(c, g, 6, fsio.ReadWrite)
			put(c, g, "B", 1)
			put(c, m, "C", 2)
			c.ok(f.Sync(), "Sync")
			equal(c, wholeOf(c, fsys, "f"), "aBCdef", "the file after Sync")
			c.ok(fsys.Remove("f"), "Remove")
			put(c, g, "D", 3)
			c.ok(f.Sync(), "Sync of a removed file")
			equal(c, whole(c, g), "aBCDef", "the removed file")
		},
	},
	{
		name: "a read-only file can be synced",
		rule: "It works on a File that was opened O_RDONLY.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			r := open(c, fsys, "f", os.O_RDONLY)
			put(c, f, "def", 3)
			c.ok(r.Sync(), "Sync of a read-only File")
			equal(c, whole(c, r), "abcdef", "the file afterwards")
		},
	},
	{
		name: "Sync leaves the time alone",
		rule: "It promises nothing for the modification time, so that fdatasync is enough.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			c.ok(fsys.Chtimes("f", someTime), "Chtimes")
			c.ok(f.Sync(), "Sync")
			isSomeTime(c, modTime(c, fsys, "f"), "the ModTime after Sync")
		},
	},
	{
		name: "a map is no longer than its file",
		rule: "A file shorter than size is fs.ErrInvalid: grow it by Allocate first.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			for _, n := range []int64{4, 4096, 1 << 30} {
				_, err := f.Map(n, fsio.ReadWrite)
				c.is(err, fs.ErrInvalid, "Map past the end")
			}
			equal(c, size(c, f), 3, "the size afterwards")
			c.ok(f.Allocate(4), "Allocate")
			equal(c, view(c, mapOf(c, f, 4, fsio.ReadWrite), 0, 4), "abc\x00", "the Map")
		},
	},
	{
		name: "a map may be empty",
		rule: "Size 0 is a Map of no bytes, which Resize can grow.",
		run: func(c *check, fsys fsio.FS) {
			for name, content := range map[string]string{"empty": "", "full": "abc"} {
				f := create(c, fsys, name, content)
				m := mapOf(c, f, 0, fsio.ReadWrite)
				equal(c, m.Len(), 0, "Len")
				equal(c, view(c, m, 0, 0), "", "a View of it")
				c.ok(m.Flush(0, 0), "Flush")
				_, err := tryView(m, 0, 1)
				c.is(err, fs.ErrInvalid, "View of a byte")
				c.ok(m.Resize(5), "Resize")
				equal(c, view(c, m, 0, 5), content+zeros(5-len(content)), "the Map after Resize")
			}
		},
	},
	{
		name: "a read-only file maps read-only",
		rule: "ReadWrite on a File opened O_RDONLY is fs.ErrPermission.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "f", "abc")
			f := open(c, fsys, "f", os.O_RDONLY)
			for _, n := range []int64{0, 3} {
				_, err := f.Map(n, fsio.ReadWrite)
				c.is(err, fs.ErrPermission, "Map for writing")
			}
			equal(c, view(c, mapOf(c, f, 3, fsio.ReadOnly), 0, 3), "abc", "the Map")
		},
	},
	{
		name: "a file has many maps",
		rule: "A file may have any number of Maps, of any sizes.",
		run: func(c *check, fsys fsio.FS) {
			want := strings.Repeat("0123456789", 20_000)
			f := create(c, fsys, "f", want)
			r := open(c, fsys, "f", os.O_RDONLY)
			var maps []fsio.Map
			for i, n := range []int64{200_000, 1, 0, 4096, 4097, 100_000, 200_000, 65_536} {
				file, prot := f, fsio.ReadWrite
				if i%2 == 1 {
					file, prot = r, fsio.ReadOnly
				}
				maps = append(maps, mapOf(c, file, n, prot))
			}
			for _, m := range maps {
				equal(c, view(c, m, 0, m.Len()), want[:m.Len()], "a Map")
			}
			put(c, maps[0], "abc", 4095)
			want = want[:4095] + "abc" + want[4098:]
			for i, m := range maps {
				equal(c, view(c, m, 0, m.Len()), want[:m.Len()], "a Map after a store through another")
				if i%3 == 0 {
					c.ok(m.Close(), "Close")
				}
			}
			equal(c, view(c, maps[5], 0, 100_000), want[:100_000], "a Map after others were closed")
			equal(c, whole(c, f), want, "the file")
		},
	},
}
