package conformance

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/stratalog/strata/fsio"
)

// fsRemoveRows are the rules of Remove, MkdirAll and SyncDir.
var fsRemoveRows = []row[fsio.FS]{
	{
		name: "remove refuses",
		rule: "A missing name is fs.ErrNotExist, a directory that is not empty syscall.ENOTEMPTY, the root fs.ErrInvalid.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "d/sub")
			makeFile(c, fsys, "d/sub/f", "abc")
			c.is(fsys.Remove("missing"), fs.ErrNotExist, "Remove of a missing name")
			c.is(fsys.Remove("d/missing/f"), fs.ErrNotExist, "Remove below a missing name")
			c.is(fsys.Remove("d"), syscall.ENOTEMPTY, "Remove of a full directory")
			c.is(fsys.Remove("d/sub"), syscall.ENOTEMPTY, "Remove of a full directory")
			c.is(fsys.Remove("."), fs.ErrInvalid, "Remove of the root")
			equal(c, wholeOf(c, fsys, "d/sub/f"), "abc", "the file afterwards")
		},
	},
	{
		name: "remove takes names away",
		rule: "Remove takes away the name of a file or of an empty directory.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "d")
			makeFile(c, fsys, "d/f", "abc")
			c.ok(fsys.Remove("d/f"), "Remove of a file")
			missing(c, fsys, "d/f")
			c.ok(fsys.Remove("d"), "Remove of an empty directory")
			equal(c, list(c, fsys, "."), "", "ReadDir afterwards")
			c.is(fsys.Remove("d"), fs.ErrNotExist, "a second Remove")
		},
	},
	{
		name: "a removed name is free",
		rule: "The name is free at once.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			mapOf(c, f, 3, fsio.ReadOnly)
			c.ok(fsys.Remove("f"), "Remove of an open file")
			missing(c, fsys, "f")
			open(c, fsys, "f", os.O_RDWR|os.O_CREATE|os.O_EXCL)
			c.ok(fsys.Remove("f"), "Remove")
			mkdir(c, fsys, "f/g")
		},
	},
	{
		name: "a removed file can be used",
		rule: "Open Files and Maps of a removed file keep working, and its space is free when the last is closed.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			m := mapOf(c, f, 3, fsio.ReadWrite)
			c.ok(fsys.Remove("f"), "Remove of an open file")
			put(c, f, "def", 3)
			put(c, m, "A", 0)
			equal(c, whole(c, f), "Abcdef", "what the File reads")
			equal(c, view(c, m, 0, 3), "Abc", "what the Map shows")
			c.ok(f.Sync(), "Sync")
			c.ok(f.Close(), "Close")
			put(c, m, "C", 2)
			equal(c, view(c, m, 0, 3), "AbC", "what the Map shows after Close of the File")
		},
	},
	{
		name: "MkdirAll makes parents",
		rule: "MkdirAll makes the directory dir and its missing parents",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "a/b/c")
			for _, dir := range []string{"a", "a/b", "a/b/c"} {
				info, err := fsys.Stat(dir)
				c.ok(err, "Stat")
				equal(c, info.IsDir(), true, "IsDir")
			}
			equal(c, list(c, fsys, "a/b/c"), "", "ReadDir of a new directory")
		},
	},
	{
		name: "MkdirAll accepts what is there",
		rule: "An existing directory is nil.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "a/b")
			makeFile(c, fsys, "a/b/f", "abc")
			c.ok(fsys.MkdirAll("a/b", 0o700), "MkdirAll of an existing directory")
			c.ok(fsys.MkdirAll("a", 0o755), "MkdirAll of an existing directory")
			c.ok(fsys.MkdirAll(".", 0o755), "MkdirAll of the root")
			equal(c, wholeOf(c, fsys, "a/b/f"), "abc", "the file afterwards")
			c.together(8, func(int) { c.ok(fsys.MkdirAll("x/y/z", 0o755), "MkdirAll beside another") })
		},
	},
	{
		name: "MkdirAll stops at a file",
		rule: "A regular file at dir, or on the way to it, is syscall.ENOTDIR.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "d")
			makeFile(c, fsys, "d/f", "abc")
			for _, dir := range []string{"d/f", "d/f/g", "d/f/g/h"} {
				c.is(fsys.MkdirAll(dir, 0o755), syscall.ENOTDIR, "MkdirAll("+quote(dir)+")")
			}
			equal(c, wholeOf(c, fsys, "d/f"), "abc", "the file afterwards")
		},
	},
	{
		name: "SyncDir covers changes",
		rule: "SyncDir makes durable every create, rename and remove in dir that returned before the call.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "d")
			makeFile(c, fsys, "d/f", "abc")
			makeFile(c, fsys, "d/gone", "")
			c.ok(fsys.Rename("d/f", "d/g"), "Rename")
			c.ok(fsys.Remove("d/gone"), "Remove")
			c.ok(fsys.SyncDir("d"), "SyncDir")
			c.ok(fsys.SyncDir("."), "SyncDir")
			equal(c, list(c, fsys, "d"), "g", "ReadDir afterwards")
		},
	},
	{
		name: "SyncDir leaves files alone",
		rule: "It makes no byte of any file durable, but may make sizes so: sync a file before the directory that names it.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			m := mapOf(c, f, 3, fsio.ReadWrite)
			put(c, m, "C", 2)
			c.ok(fsys.SyncDir("."), "SyncDir beside a file that is not synced")
			equal(c, whole(c, f), "abC", "the file afterwards")
			put(c, f, "def", 3)
			c.ok(f.Sync(), "Sync after SyncDir")
			equal(c, whole(c, f), "abCdef", "the file afterwards")
		},
	},
	{
		name: "SyncDir of either side",
		rule: "A rename between two directories is durable after SyncDir of either.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "a")
			mkdir(c, fsys, "b")
			for _, dir := range []string{"a", "b"} {
				makeFile(c, fsys, "a/f", "abc")
				c.ok(fsys.Rename("a/f", "b/f"), "Rename")
				c.ok(fsys.SyncDir(dir), "SyncDir")
				missing(c, fsys, "a/f")
				equal(c, wholeOf(c, fsys, "b/f"), "abc", "the file under its new name")
			}
		},
	},
	{
		name: "SyncDir refuses",
		rule: "A missing name is fs.ErrNotExist, a file syscall.ENOTDIR.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "f", "")
			c.is(fsys.SyncDir("missing"), fs.ErrNotExist, "SyncDir of a missing name")
			c.is(fsys.SyncDir("f"), syscall.ENOTDIR, "SyncDir of a file")
		},
	},
}
