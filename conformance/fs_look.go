package conformance

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/stratalog/strata/fsio"
)

// someTime is a modification time that no file gets by itself.
var someTime = time.Date(2001, 2, 3, 4, 5, 6, 789e6, time.UTC)

// modTime is name's.
func modTime(c *check, fsys fsio.FS, name string) time.Time {
	info, err := fsys.Stat(name)
	c.ok(err, "Stat")
	return info.ModTime()
}

// isSomeTime notes a failure where t is not someTime, to the millisecond.
func isSomeTime(c *check, t time.Time, what string) {
	equal(c, t.UnixMilli(), someTime.UnixMilli(), what+" in milliseconds")
}

// isNow notes a failure where t is not about the present: fsys itself is asked for that.
func isNow(c *check, fsys fsio.FS, t time.Time, what string) {
	makeFile(c, fsys, "clock", "")
	now := modTime(c, fsys, "clock")
	if age := now.Sub(t); age < -time.Minute || age > 10*time.Minute {
		c.errorf("%s = %v, want about %v", what, t, now)
	}
	c.ok(fsys.Remove("clock"), "Remove")
}

// fsLookRows are the rules of ReadDir, Stat and Chtimes.
var fsLookRows = []row[fsio.FS]{
	{
		name: "listings are sorted",
		rule: "The entries are sorted by name.",
		run: func(c *check, fsys fsio.FS) {
			for _, name := range []string{"b", "a.log", "a", "B", "aa", "10", "9", "é", "a-1", "z"} {
				makeFile(c, fsys, name, "")
			}
			mkdir(c, fsys, "m")
			equal(c, list(c, fsys, "."), "10 9 B a a-1 a.log aa b m z é", "ReadDir")
		},
	},
	{
		name: "listings are snapshots",
		rule: "Names and types are a snapshot: later changes do not show in it. An entry's Info is what Stat says when " +
			"Info is called.",
		run: listingIsSnapshot,
	},
	{
		name: "listings show what is refused",
		rule: "Links, FIFOs, sockets and devices are listed with their type, so that they can be reported.",
		run: func(c *check, fsys fsio.FS) {
			p := planter(c, fsys)
			want := map[string]fs.FileMode{"link": fs.ModeSymlink, "fifo": fs.ModeNamedPipe, "socket": fs.ModeSocket}
			for name, typ := range want {
				c.ok(p.Plant(name, typ, "missing"), "Plant")
			}
			entries, err := fsys.ReadDir(".")
			c.ok(err, "ReadDir")
			equal(c, len(entries), len(want), "the number of entries")
			for _, e := range entries {
				equal(c, e.Type(), want[e.Name()], "the type of "+e.Name())
			}
		},
	},
	{
		name: "ReadDir refuses",
		rule: "A missing name is fs.ErrNotExist, a file syscall.ENOTDIR.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "f", "")
			_, err := fsys.ReadDir("missing")
			c.is(err, fs.ErrNotExist, "ReadDir of a missing name")
			_, err = fsys.ReadDir("f")
			c.is(err, syscall.ENOTDIR, "ReadDir of a file")
		},
	},
	{
		name: "Stat is a snapshot",
		rule: "The result is a snapshot: later writes do not change it.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			c.ok(fsys.Chtimes("f", someTime), "Chtimes")
			info, err := fsys.Stat("f")
			c.ok(err, "Stat")
			put(c, f, "def", 3)
			c.ok(fsys.Rename("f", "g"), "Rename")
			equal(c, info.Size(), 3, "the Size of a result from before")
			equal(c, info.Name(), "f", "the Name of a result from before")
			isSomeTime(c, info.ModTime(), "the ModTime of a result from before")
		},
	},
	{
		name: "Stat has the last element",
		rule: "Its Name is the last element of name.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "a/b")
			makeFile(c, fsys, "a/b/f.log", "")
			for name, want := range map[string]string{"a/b/f.log": "f.log", "a/b": "b", "a": "a"} {
				info, err := fsys.Stat(name)
				c.ok(err, "Stat")
				equal(c, info.Name(), want, "the Name of "+name)
			}
			c.ok(fsys.Rename("a/b", "c"), "Rename")
			info, err := fsys.Stat("c/f.log")
			c.ok(err, "Stat")
			equal(c, info.Name(), "f.log", "the Name below a renamed directory")
		},
	},
	{
		name: "Stat has size and time",
		rule: "Its Size counts the bytes of a file, and its ModTime is the time when the file was made, or of the last " +
			"WriteAt, Truncate or Chtimes.",
		run: func(c *check, fsys fsio.FS) {
			f := open(c, fsys, "f", os.O_RDWR|os.O_CREATE)
			isNow(c, fsys, modTime(c, fsys, "f"), "the ModTime of a new file")
			for what, change := range map[string]func() error{
				"WriteAt":             func() error { _, err := f.WriteAt([]byte("abc"), 4); return err },
				"Truncate that cuts":  func() error { return f.Truncate(1) },
				"Truncate that grows": func() error { return f.Truncate(100) },
			} {
				c.ok(fsys.Chtimes("f", someTime), "Chtimes")
				isSomeTime(c, modTime(c, fsys, "f"), "the ModTime after Chtimes")
				c.ok(change(), what)
				isNow(c, fsys, modTime(c, fsys, "f"), "the ModTime after "+what)
				info, err := fsys.Stat("f")
				c.ok(err, "Stat")
				equal(c, info.Size(), size(c, f), "Stat's Size after "+what)
			}
		},
	},
	{
		name: "opening leaves the time alone",
		rule: "Opening and closing a file leave its ModTime alone.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "f", "abc")
			c.ok(fsys.Chtimes("f", someTime), "Chtimes")
			for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE} {
				f := open(c, fsys, "f", flag)
				equal(c, whole(c, f), "abc", "the file")
				_, err := f.WriteAt(nil, 0)
				if flag != os.O_RDONLY {
					c.ok(err, "WriteAt of nothing")
				}
				c.ok(f.Close(), "Close")
				isSomeTime(c, modTime(c, fsys, "f"), "the ModTime after opening and closing")
			}
		},
	},
	{
		name: "Stat finds nothing",
		rule: "A missing name is fs.ErrNotExist.",
		run: func(c *check, fsys fsio.FS) {
			for _, name := range []string{"missing", "missing/f"} {
				missing(c, fsys, name)
			}
		},
	},
	{
		name: "Chtimes is exact",
		rule: "Chtimes sets the modification time of name, exact to the millisecond at least: Kafka ages segments without " +
			"timestamps by it.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "d")
			f := create(c, fsys, "d/f", "abc")
			put(c, f, "A", 0)
			for _, name := range []string{"d/f", "d"} {
				for _, at := range []time.Time{someTime, someTime.Add(time.Millisecond), time.UnixMilli(1)} {
					c.ok(fsys.Chtimes(name, at), "Chtimes")
					equal(c, modTime(c, fsys, name).UnixMilli(), at.UnixMilli(), "the ModTime in milliseconds")
				}
			}
			equal(c, whole(c, f), "Abc", "the file afterwards")
		},
	},
	{
		name: "Chtimes finds nothing",
		rule: "A missing name is fs.ErrNotExist.",
		run: func(c *check, fsys fsio.FS) {
			c.is(fsys.Chtimes("missing", someTime), fs.ErrNotExist, "Chtimes of a missing name")
			missing(c, fsys, "missing")
		},
	},
}

// listingIsSnapshot changes a directory after it was listed.
func listingIsSnapshot(c *check, fsys fsio.FS) {
	mkdir(c, fsys, "d/sub")
	f := create(c, fsys, "d/f", "abc")
	makeFile(c, fsys, "d/gone", "")
	entries, err := fsys.ReadDir("d")
	c.ok(err, "ReadDir")
	if len(entries) != 3 {
		c.fatalf("ReadDir gives %d entries, want 3", len(entries))
	}
	put(c, f, "def", 3)
	c.ok(fsys.Remove("d/gone"), "Remove")
	makeFile(c, fsys, "d/later", "")
	for i, want := range []string{"f", "gone", "sub"} {
		equal(c, entries[i].Name(), want, "the name of an entry from before")
		equal(c, entries[i].IsDir(), want == "sub", "IsDir of an entry from before")
	}
	info, err := entries[0].Info()
	c.ok(err, "Info")
	equal(c, info.Size(), 6, "the Size of an Info asked for now")
	_, err = entries[1].Info()
	c.is(err, fs.ErrNotExist, "Info of an entry that went")
}
