package conformance

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/stratalog/strata/fsio"
)

// fsRenameRows are the rules of Rename.
var fsRenameRows = []row[fsio.FS]{
	{
		name: "rename replaces a file",
		rule: "A file at newname is replaced; an observer of newname sees the old file or the new one, never none.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "old", "new bytes")
			makeFile(c, fsys, "new", "old bytes, and more of them")
			c.ok(fsys.Rename("old", "new"), "Rename")
			missing(c, fsys, "old")
			equal(c, wholeOf(c, fsys, "new"), "new bytes", "the file under the new name")
			mkdir(c, fsys, "d")
			c.ok(fsys.Rename("new", "d/f"), "Rename into another directory")
			equal(c, list(c, fsys, "."), "d", "ReadDir afterwards")
			equal(c, wholeOf(c, fsys, "d/f"), "new bytes", "the file in the other directory")
		},
	},
	{
		name: "rename leaves no gap",
		rule: "an observer of newname sees the old file or the new one, never none.",
		run:  observedRename,
	},
	{
		name: "rename replaces an empty directory",
		rule: "An empty directory at newname is replaced by a directory.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "old/sub")
			makeFile(c, fsys, "old/f", "abc")
			mkdir(c, fsys, "new")
			c.ok(fsys.Rename("old", "new"), "Rename")
			missing(c, fsys, "old")
			equal(c, list(c, fsys, "new"), "f sub", "ReadDir of the new name")
			equal(c, wholeOf(c, fsys, "new/f"), "abc", "a file below the new name")
		},
	},
	{
		name: "rename spares a full directory",
		rule: "A directory at newname that is not empty is syscall.ENOTEMPTY.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "old/sub")
			mkdir(c, fsys, "new")
			makeFile(c, fsys, "new/f", "abc")
			c.is(fsys.Rename("old", "new"), syscall.ENOTEMPTY, "Rename onto a full directory")
			c.is(fsys.Rename("old/sub", "old"), syscall.ENOTEMPTY, "Rename onto the own parent")
			c.is(fsys.Rename("old", "."), syscall.ENOTEMPTY, "Rename onto the root")
			equal(c, list(c, fsys, "new"), "f", "ReadDir of the full directory")
			equal(c, list(c, fsys, "."), "new old", "ReadDir of the root")
		},
	},
	{
		name: "rename keeps kinds apart",
		rule: "A file onto a directory is syscall.EISDIR, a directory onto a file syscall.ENOTDIR.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "f", "abc")
			mkdir(c, fsys, "d/sub")
			mkdir(c, fsys, "empty")
			makeFile(c, fsys, "d/g", "")
			c.is(fsys.Rename("f", "empty"), syscall.EISDIR, "Rename of a file onto an empty directory")
			c.is(fsys.Rename("f", "d"), syscall.EISDIR, "Rename of a file onto a full directory")
			c.is(fsys.Rename("d/g", "d"), syscall.EISDIR, "Rename of a file onto its own directory")
			c.is(fsys.Rename("f", "."), syscall.EISDIR, "Rename of a file onto the root")
			c.is(fsys.Rename("d", "f"), syscall.ENOTDIR, "Rename of a directory onto a file")
			c.is(fsys.Rename("empty", "d/g"), syscall.ENOTDIR, "Rename of a directory onto a file")
			equal(c, list(c, fsys, "."), "d empty f", "ReadDir afterwards")
			equal(c, wholeOf(c, fsys, "f"), "abc", "the file afterwards")
		},
	},
	{
		name: "rename makes no circle",
		rule: "A directory into itself or below itself is fs.ErrInvalid.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "d/sub")
			for _, newname := range []string{"d/new", "d/sub", "d/sub/new"} {
				c.is(fsys.Rename("d", newname), fs.ErrInvalid, "Rename below itself")
			}
			c.is(fsys.Rename(".", "d/new"), fs.ErrInvalid, "Rename of the root")
			equal(c, list(c, fsys, "d"), "sub", "ReadDir afterwards")
			mkdir(c, fsys, "dd")
			c.ok(fsys.Rename("d", "dd/d"), "Rename to a name that begins alike")
		},
	},
	{
		name: "rename finds nothing",
		rule: "A missing oldname, or a missing parent of newname, is fs.ErrNotExist.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "f", "abc")
			mkdir(c, fsys, "d")
			c.is(fsys.Rename("missing", "new"), fs.ErrNotExist, "Rename of a missing name")
			c.is(fsys.Rename("missing", "f"), fs.ErrNotExist, "Rename of a missing name onto a file")
			c.is(fsys.Rename("missing/f", "new"), fs.ErrNotExist, "Rename below a missing name")
			c.is(fsys.Rename("f", "missing/f"), fs.ErrNotExist, "Rename into a missing directory")
			c.is(fsys.Rename("d", "missing/d"), fs.ErrNotExist, "Rename into a missing directory")
			equal(c, list(c, fsys, "."), "d f", "ReadDir afterwards")
			equal(c, wholeOf(c, fsys, "f"), "abc", "the file afterwards")
		},
	},
	{
		name: "rename onto itself does nothing",
		rule: "oldname onto itself does nothing, if it exists.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "f", "abc")
			mkdir(c, fsys, "d/sub")
			c.ok(fsys.Rename("f", "f"), "Rename of a file onto itself")
			c.ok(fsys.Rename("d", "d"), "Rename of a directory onto itself")
			c.ok(fsys.Rename(".", "."), "Rename of the root onto itself")
			c.is(fsys.Rename("missing", "missing"), fs.ErrNotExist, "Rename of a missing name onto itself")
			equal(c, list(c, fsys, "."), "d f", "ReadDir afterwards")
			equal(c, wholeOf(c, fsys, "f"), "abc", "the file afterwards")
			equal(c, list(c, fsys, "d"), "sub", "ReadDir of the directory afterwards")
		},
	},
	{
		name: "rename does not disturb what is open",
		rule: "Open Files and Maps go on with the same bytes, also those below a renamed directory.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "d")
			f := create(c, fsys, "d/f", "abcdef")
			m := mapOf(c, f, 6, fsio.ReadWrite)
			c.ok(fsys.Rename("d", "e"), "Rename of the directory")
			mkdir(c, fsys, "d")
			makeFile(c, fsys, "d/f", "another")
			put(c, f, "A", 0)
			put(c, m, "F", 5)
			equal(c, whole(c, f), "AbcdeF", "what the File reads")
			equal(c, view(c, m, 0, 6), "AbcdeF", "what the Map shows")
			equal(c, wholeOf(c, fsys, "e/f"), "AbcdeF", "the file under its new name")
			equal(c, wholeOf(c, fsys, "d/f"), "another", "the file under the old name")
		},
	},
}

// observedRename has several readers open a name while file after file is renamed onto it.
func observedRename(c *check, fsys fsio.FS) {
	makeFile(c, fsys, "f", "whole")
	look := func(int) {
		f, err := fsys.OpenFile("f", os.O_RDONLY, 0)
		c.ok(err, "OpenFile of a name that is being replaced")
		got := whole(c, f)
		c.ok(f.Close(), "Close")
		if got != "whole" {
			c.fatalf("the file read %s, want %q", short(got), "whole")
		}
	}
	c.beside(50, func(int) {
		makeFile(c, fsys, "f.tmp", "whole")
		c.ok(fsys.Rename("f.tmp", "f"), "Rename")
	}, look, look, look)
}
