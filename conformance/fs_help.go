package conformance

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/stratalog/strata/fsio"
)

// ok ends the row where a call that has to succeed did not.
func (c *check) ok(err error, what string) {
	if err != nil {
		c.fatalf("%s: %v", what, err)
	}
}

// is notes a failure where err is not want.
func (c *check) is(err, want error, what string) {
	switch {
	case err == nil:
		c.errorf("%s = nil, want %v", what, want)
	case !errors.Is(err, want):
		c.errorf("%s = %v, want %v", what, err, want)
	}
}

// equal notes a failure where got is not want.
func equal[T comparable](c *check, got, want T, what string) {
	if got == want {
		return
	}
	if text, ok := any(got).(string); ok {
		c.errorf("%s %s", what, differ(text, any(want).(string)))
		return
	}
	c.errorf("%s = %v, want %v", what, got, want)
}

// shortBytes is as much of a text as a failure shows.
const shortBytes = 60

// differ says how two texts differ: at the first byte that does where they are long.
func differ(got, want string) string {
	if len(got) <= shortBytes && len(want) <= shortBytes {
		return "= " + quote(got) + ", want " + quote(want)
	}
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	return fmt.Sprintf("of %d bytes differs at byte %d of %d: %s, want %s",
		len(got), at, len(want), short(got[at:]), short(want[at:]))
}

// short is s quoted, or its beginning.
func short(s string) string {
	if len(s) <= shortBytes {
		return quote(s)
	}
	return quote(s[:shortBytes]) + "…"
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, "\x00", `\0`) + `"` }

// create makes the file name with content, and gives it open for reading and writing. It is closed when the
// row is done.
func create(c *check, fsys fsio.FS, name, content string) fsio.File {
	f := open(c, fsys, name, os.O_RDWR|os.O_CREATE)
	if content != "" {
		put(c, f, content, 0)
	}
	return f
}

// makeFile is create of a file that is closed again.
func makeFile(c *check, fsys fsio.FS, name, content string) {
	c.ok(create(c, fsys, name, content).Close(), "Close")
}

// open opens name, and closes it when the row is done.
func open(c *check, fsys fsio.FS, name string, flag int) fsio.File {
	f, err := fsys.OpenFile(name, flag, 0o644)
	if err != nil {
		c.fatalf("OpenFile(%q, %#x): %v", name, flag, err)
	}
	c.after(func() { c.ok(f.Close(), "Close") })
	return f
}

// put writes s at off.
func put(c *check, w io.WriterAt, s string, off int64) {
	n, err := w.WriteAt([]byte(s), off)
	if err != nil || n != len(s) {
		c.fatalf("WriteAt(%s, %d) = %d, %v, want %d, nil", short(s), off, n, err, len(s))
	}
}

// get reads n bytes at off.
func get(c *check, r io.ReaderAt, off int64, n int) string {
	p := make([]byte, n)
	got, err := r.ReadAt(p, off)
	if err != nil || got != n {
		c.fatalf("ReadAt of %d bytes at %d = %d, %v, want all and nil", n, off, got, err)
	}
	return string(p)
}

// size is f's.
func size(c *check, f fsio.File) int64 {
	n, err := f.Size()
	c.ok(err, "Size")
	return n
}

// whole is all of f's bytes. No row makes a file so large that they have no place here.
func whole(c *check, f fsio.File) string {
	n := size(c, f)
	if n < 0 || n > 64<<20 {
		c.fatalf("the size is %d, want a smaller one", n)
	}
	return get(c, f, 0, int(n))
}

// wholeOf is all bytes of the file name.
func wholeOf(c *check, fsys fsio.FS, name string) string {
	f := open(c, fsys, name, os.O_RDONLY)
	defer f.Close()
	return whole(c, f)
}

// mkdir makes a directory and its parents.
func mkdir(c *check, fsys fsio.FS, dir string) { c.ok(fsys.MkdirAll(dir, 0o755), "MkdirAll") }

// list is the names in dir, joined by blanks.
func list(c *check, fsys fsio.FS, dir string) string {
	entries, err := fsys.ReadDir(dir)
	c.ok(err, "ReadDir")
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return strings.Join(names, " ")
}

// missing notes a failure where name is there.
func missing(c *check, fsys fsio.FS, name string) {
	_, err := fsys.Stat(name)
	c.is(err, fs.ErrNotExist, "Stat("+quote(name)+")")
}

// mapOf maps the first n bytes of f, and unmaps them when the row is done.
func mapOf(c *check, f fsio.File, n int64, prot fsio.Prot) fsio.Map {
	m, err := f.Map(n, prot)
	c.ok(err, "Map")
	c.after(func() { c.ok(m.Close(), "Map.Close") })
	return m
}

// view is the n bytes at off of m. It may end the row.
func view(c *check, m fsio.Map, off, n int64) string {
	s, err := tryView(m, off, n)
	c.ok(err, "View")
	return s
}

// tryView is a View that looks at each byte.
func tryView(m fsio.Map, off, n int64) (s string, err error) {
	err = m.View(off, n, fsio.ViewFunc(func(b []byte) error {
		s = string(b)
		return nil
	}))
	return s, err
}

// nothing is a Viewer that looks at nothing.
var nothing = fsio.ViewFunc(func([]byte) error { return nil })

// fault notes a failure where err is no fault.
func fault(c *check, err error, what string) *fsio.FaultError {
	e, ok := errors.AsType[*fsio.FaultError](err)
	if !ok {
		c.errorf("%s = %v, want a *FaultError", what, err)
		return &fsio.FaultError{}
	}
	return e
}

// zeros is n zero bytes.
func zeros(n int) string { return strings.Repeat("\x00", n) }

// call is one method of an FS, with its arguments.
type call struct {
	what string
	do   func() error
}

// callsOn are all calls that can be made on name. There must be a file "other".
func callsOn(fsys fsio.FS, name string) []call {
	opened := func(c io.Closer, err error) error {
		if err == nil {
			return c.Close()
		}
		return err
	}
	q := quote(name)
	return []call{
		{"OpenFile(" + q + ")", func() error { return opened(fsys.OpenFile(name, os.O_RDONLY, 0)) }},
		{"OpenFile(" + q + ", O_CREATE)", func() error {
			return opened(fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644))
		}},
		{"Rename(" + q + ", …)", func() error { return fsys.Rename(name, "new") }},
		{"Rename(…, " + q + ")", func() error { return fsys.Rename("other", name) }},
		{"Remove(" + q + ")", func() error { return fsys.Remove(name) }},
		{"MkdirAll(" + q + ")", func() error { return fsys.MkdirAll(name, 0o755) }},
		{"ReadDir(" + q + ")", func() error { _, err := fsys.ReadDir(name); return err }},
		{"Stat(" + q + ")", func() error { _, err := fsys.Stat(name); return err }},
		{"Chtimes(" + q + ")", func() error { return fsys.Chtimes(name, someTime) }},
		{"SyncDir(" + q + ")", func() error { return fsys.SyncDir(name) }},
		{"Lock(" + q + ")", func() error { return opened(fsys.Lock(name)) }},
	}
}

// refused notes a failure for each call on name that is not refused with want.
func refused(c *check, fsys fsio.FS, name string, want error) {
	for _, call := range callsOn(fsys, name) {
		c.is(call.do(), want, call.what)
	}
}
