package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/stratalog/strata/fsio"
)

// badNames are names that no FS may accept, whatever the system makes of them.
var badNames = []string{
	"", "/", "/a", "//a", "a/", "a//b", "./a", "a/.", "a/./b", "..", "../a", "a/..", "a/../b", "../../etc/passwd",
	"a\x00", "\x00", "a\\b", "\\", "..\\a", "C:\\a", "a\xff", "\xc3\x28", strings.Repeat("n", 256),
	"d/" + strings.Repeat("n", 256) + "/a", strings.Repeat("../", 40) + "etc/passwd", strings.Repeat("x/", 2048),
}

// planter is fsys as a Planter, or ends the row.
func planter(c *check, fsys fsio.FS) Planter {
	p, ok := fsys.(Planter)
	if !ok {
		c.skip("needs a conformance.Planter")
	}
	return p
}

// fsNameRows are the rules for names, and for calls that come together.
var fsNameRows = []row[fsio.FS]{
	{
		name: "names are relative to the root",
		rule: `A name is slash-separated and relative to the root of the tree, and "." is the root.`,
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "a/b")
			makeFile(c, fsys, "a/b/f", "abc")
			info, err := fsys.Stat(".")
			c.ok(err, "Stat of the root")
			equal(c, info.IsDir(), true, "the root's IsDir")
			equal(c, list(c, fsys, "."), "a", "ReadDir of the root")
			c.ok(fsys.MkdirAll(".", 0o755), "MkdirAll of the root")
			c.ok(fsys.SyncDir("."), "SyncDir of the root")
			c.ok(fsys.Chtimes(".", someTime), "Chtimes of the root")
			equal(c, wholeOf(c, fsys, "a/b/f"), "abc", "a/b/f")
		},
	},
	{
		name: "bad names are refused",
		rule: "A name that is not valid by fs.ValidPath, holds a NUL or a backslash, or has an element of more than " +
			"255 bytes is ErrBadName.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "other", "")
			for _, name := range badNames {
				refused(c, fsys, name, fsio.ErrBadName)
			}
			equal(c, list(c, fsys, "."), "other", "ReadDir afterwards")
		},
	},
	{
		name: "long elements are accepted",
		rule: "has an element of more than 255 bytes is ErrBadName.",
		run: func(c *check, fsys fsio.FS) {
			name := strings.Repeat("n", 255)
			mkdir(c, fsys, name)
			makeFile(c, fsys, name+"/"+name, "abc")
			equal(c, wholeOf(c, fsys, name+"/"+name), "abc", "a file with a name of 255 bytes")
		},
	},
	{
		name: "symbolic links are refused",
		rule: "A name that is a symbolic link, or leads through one, is ErrNotRegular: no link is ever followed.",
		run: func(c *check, fsys fsio.FS) {
			p := planter(c, fsys)
			makeFile(c, fsys, "other", "")
			mkdir(c, fsys, "d")
			makeFile(c, fsys, "d/f", "abc")
			for name, target := range map[string]string{
				"tofile": "other", "todir": "d", "nowhere": "missing", "itself": "itself", "up": "..", "out": "/",
			} {
				c.ok(p.Plant(name, fs.ModeSymlink, target), "Plant")
				refused(c, fsys, name, fsio.ErrNotRegular)
			}
			for _, through := range []string{"todir/f", "todir/new", "up/d/f", "out/etc", "todir/f/g"} {
				refused(c, fsys, through, fsio.ErrNotRegular)
			}
			equal(c, wholeOf(c, fsys, "d/f"), "abc", "d/f afterwards")
			equal(c, list(c, fsys, "d"), "f", "ReadDir of d afterwards")
		},
	},
	{
		name: "FIFOs and sockets are refused",
		rule: "A name that is a FIFO, a socket or a device is ErrNotRegular: it is never opened, so nothing waits for it.",
		run: func(c *check, fsys fsio.FS) {
			p := planter(c, fsys)
			makeFile(c, fsys, "other", "")
			for name, typ := range map[string]fs.FileMode{"fifo": fs.ModeNamedPipe, "socket": fs.ModeSocket} {
				c.ok(p.Plant(name, typ, ""), "Plant")
				refused(c, fsys, name, fsio.ErrNotRegular)
				refused(c, fsys, name+"/f", fsio.ErrNotRegular)
			}
		},
	},
	{
		name: "no name leads through a file",
		rule: "A name that leads through a regular file is syscall.ENOTDIR.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "other", "")
			makeFile(c, fsys, "f", "abc")
			refused(c, fsys, "f/g", syscall.ENOTDIR)
			refused(c, fsys, "f/g/h", syscall.ENOTDIR)
			equal(c, wholeOf(c, fsys, "f"), "abc", "the file afterwards")
		},
	},
	{
		name: "errors have the caller's name",
		rule: "An error of FS and File is an *fs.PathError whose Path is the name as the caller gave it (of Rename: the " +
			"old name), except where a comment says otherwise.",
		run: func(c *check, fsys fsio.FS) {
			f := create(c, fsys, "f", "abc")
			c.ok(fsys.Rename("f", "renamed"), "Rename")
			_, err := fsys.OpenFile("missing/f", os.O_RDONLY, 0)
			hasPath(c, err, "missing/f")
			hasPath(c, fsys.Rename("missing/f", "g"), "missing/f")
			hasPath(c, fsys.Rename("renamed", "missing/g"), "renamed")
			_, err = fsys.Stat("../f")
			hasPath(c, err, "../f")
			hasPath(c, f.Truncate(-1), "f")
			_, err = f.ReadAt(make([]byte, 1), -1)
			hasPath(c, err, "f")
		},
	},
	{
		name: "calls may be concurrent",
		rule: "All methods may be called concurrently, also with those of the tree's Files and Maps.",
		run:  concurrentCalls,
	},
	{
		name: "renames take effect once",
		rule: "Each create, rename and remove takes effect at one instant between the call and its return.",
		run: func(c *check, fsys fsio.FS) {
			for round := range 20 {
				makeFile(c, fsys, "f", "abc")
				var won atomic.Int64
				c.together(8, func(i int) {
					err := fsys.Rename("f", fmt.Sprintf("f%d", i))
					if countWin(c, &won, err, "Rename") {
						c.ok(fsys.Rename(fmt.Sprintf("f%d", i), fmt.Sprintf("won%d", round)), "Rename of the winner")
					}
				})
				equal(c, won.Load(), 1, "the renames of one name that succeeded")
			}
		},
	},
	{
		name: "removes take effect once",
		rule: "Each create, rename and remove takes effect at one instant between the call and its return.",
		run: func(c *check, fsys fsio.FS) {
			for range 10 {
				makeFile(c, fsys, "f", "abc")
				var won atomic.Int64
				c.together(8, func(int) { countWin(c, &won, fsys.Remove("f"), "Remove") })
				equal(c, won.Load(), 1, "the removes of one name that succeeded")
			}
		},
	},
}

// hasPath notes a failure where err is no *fs.PathError of path.
func hasPath(c *check, err error, path string) {
	e, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		c.errorf("error %v of %s is no *fs.PathError", err, path)
		return
	}
	equal(c, e.Path, path, "the Path of the error")
}

// countWin counts a call that one of several wins; the others find nothing.
func countWin(c *check, won *atomic.Int64, err error, what string) bool {
	if err != nil {
		c.is(err, fs.ErrNotExist, what+" of a loser")
		return false
	}
	won.Add(1)
	return true
}

// concurrentCalls has several goroutines work beside each other, each on names of its own, and on one file
// that all of them have open.
func concurrentCalls(c *check, fsys fsio.FS) {
	shared := create(c, fsys, "shared", zeros(4096))
	m := mapOf(c, shared, 4096, fsio.ReadWrite)
	c.together(8, func(i int) {
		dir := fmt.Sprintf("d%d", i)
		mkdir(c, fsys, dir)
		for range 10 {
			f, err := fsys.OpenFile(dir+"/f", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
			c.ok(err, "OpenFile")
			put(c, f, "abc", 0)
			put(c, shared, "abc", int64(i)*512)
			equal(c, get(c, shared, int64(i)*512, 3), "abc", "the bytes in the shared file")
			put(c, m, "def", int64(i)*512+256)
			equal(c, view(c, m, int64(i)*512+256, 3), "def", "the bytes in the shared map")
			c.ok(f.Close(), "Close")
			c.ok(fsys.Rename(dir+"/f", dir+"/g"), "Rename")
			c.ok(fsys.SyncDir(dir), "SyncDir")
			equal(c, list(c, fsys, dir), "g", "ReadDir")
			c.ok(fsys.Chtimes(dir+"/g", someTime), "Chtimes")
			c.ok(fsys.Remove(dir+"/g"), "Remove")
		}
	})
	equal(c, list(c, fsys, "."), "d0 d1 d2 d3 d4 d5 d6 d7 shared", "ReadDir afterwards")
}
