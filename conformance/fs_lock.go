package conformance

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/stratalog/strata/fsio"
)

// locked takes the lock of name, and frees it when the row is done.
func locked(c *check, fsys fsio.FS, name string) io.Closer {
	l, err := fsys.Lock(name)
	c.ok(err, "Lock")
	c.after(func() { c.ok(l.Close(), "Close of a lock") })
	return l
}

// isHeld notes a failure where name can be locked.
func isHeld(c *check, fsys fsio.FS, name string) {
	l, err := fsys.Lock(name)
	if err == nil {
		_ = l.Close() // the failure is noted below
	}
	c.is(err, fsio.ErrLocked, "Lock of "+quote(name)+", which is held")
}

// elsewhere locks name in another process, or ends the row.
func elsewhere(c *check, fsys fsio.FS, name string) (end func() error) {
	n, ok := fsys.(Neighbour)
	if !ok {
		c.skip("needs a conformance.Neighbour")
	}
	end, err := n.LockElsewhere(name)
	if errors.Is(err, errors.ErrUnsupported) {
		c.skip("there can be no other process")
	}
	c.ok(err, "LockElsewhere")
	return end
}

// fsLockRows are the rules of Lock.
var fsLockRows = []row[fsio.FS]{
	{
		name: "a lock excludes",
		rule: "A held name is ErrLocked at once, whoever holds it: this process, another, or a Java virtual machine.",
		run: func(c *check, fsys fsio.FS) {
			makeFile(c, fsys, "f", "abc")
			locked(c, fsys, "f")
			isHeld(c, fsys, "f")
			locked(c, fsys, "other")
			f := open(c, fsys, "f", os.O_RDWR)
			put(c, f, "A", 0)
			equal(c, whole(c, f), "Abc", "a locked file")
			c.ok(f.Close(), "Close of a File")
			isHeld(c, fsys, "f")
		},
	},
	{
		name: "one lock wins",
		rule: "A held name is ErrLocked at once, whoever holds it: this process, another, or a Java virtual machine.",
		run: func(c *check, fsys fsio.FS) {
			for range 20 {
				var won atomic.Int64
				locks := make([]io.Closer, 8)
				c.together(8, func(i int) {
					l, err := fsys.Lock("f")
					if err != nil {
						c.is(err, fsio.ErrLocked, "Lock of a loser")
						return
					}
					won.Add(1)
					locks[i] = l
				})
				equal(c, won.Load(), 1, "the locks that were given")
				for _, l := range locks {
					if l != nil {
						c.ok(l.Close(), "Close of a lock")
					}
				}
			}
		},
	},
	{
		name: "a lock excludes other processes",
		rule: "A held name is ErrLocked at once, whoever holds it: this process, another, or a Java virtual machine.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "d")
			for _, name := range []string{"f", "d"} {
				end := elsewhere(c, fsys, name)
				isHeld(c, fsys, name)
				c.ok(end(), "the end of the other process")
			}
		},
	},
	{
		name: "a lock makes its file",
		rule: "A missing file is created empty, as Kafka does with .lock; its parent must exist.",
		run: func(c *check, fsys fsio.FS) {
			locked(c, fsys, ".lock")
			equal(c, wholeOf(c, fsys, ".lock"), "", "the file of the lock")
			makeFile(c, fsys, "f", "abc")
			locked(c, fsys, "f")
			equal(c, wholeOf(c, fsys, "f"), "abc", "a file that was there")
			_, err := fsys.Lock("missing/.lock")
			c.is(err, fs.ErrNotExist, "Lock without a parent")
			_, err = fsys.Lock("f/.lock")
			c.is(err, syscall.ENOTDIR, "Lock below a file")
			missing(c, fsys, "missing")
		},
	},
	{
		name: "a directory can be locked",
		rule: "A directory may be locked, and gets no file by it.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "d")
			makeFile(c, fsys, "d/f", "abc")
			l := locked(c, fsys, "d")
			isHeld(c, fsys, "d")
			equal(c, list(c, fsys, "d"), "f", "ReadDir of a locked directory")
			locked(c, fsys, "d/f")
			c.ok(l.Close(), "Close of the lock")
			locked(c, fsys, "d")
			locked(c, fsys, ".")
		},
	},
	{
		name: "closing frees a lock",
		rule: "Close of the lock frees it and removes nothing; a second Close does nothing and returns nil.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "d")
			for _, name := range []string{"f", "d"} {
				l := locked(c, fsys, name)
				c.ok(l.Close(), "Close of the lock")
				_, err := fsys.Stat(name)
				c.ok(err, "Stat after Close of the lock")
				again := locked(c, fsys, name)
				c.ok(l.Close(), "a second Close")
				isHeld(c, fsys, name)
				c.ok(again.Close(), "Close of the second lock")
			}
		},
	},
	{
		name: "the end of a process frees its locks",
		rule: "The end of the process frees it.",
		run: func(c *check, fsys fsio.FS) {
			mkdir(c, fsys, "d")
			for _, name := range []string{"f", "d"} {
				end := elsewhere(c, fsys, name)
				c.ok(end(), "the end of the other process")
				locked(c, fsys, name)
			}
		},
	},
}
