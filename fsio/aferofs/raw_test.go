package aferofs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio/aferofs"
)

// stage is an afero filesystem on which a scenario is played, and what it gave.
type stage struct {
	afero.Fs
	log []string
}

// note logs a result by the identity of its error.
func (s *stage) note(result any, err error) {
	s.log = append(s.log, fmt.Sprint(result, " ", aferoIdentity(err)))
}

// aferoIdentity is what a caller can tell an error by.
func aferoIdentity(err error) string {
	for _, id := range []struct {
		name string
		errs []error
	}{
		{"EOF", []error{io.EOF}},
		{"unexpected EOF", []error{io.ErrUnexpectedEOF}},
		{"not empty", []error{syscall.ENOTEMPTY}},
		{"exists", []error{fs.ErrExist}},
		{"missing", []error{fs.ErrNotExist}},
		{"is a directory", []error{syscall.EISDIR}},
		{"not a directory", []error{syscall.ENOTDIR}},
		{"closed", []error{fs.ErrClosed}},
		{"denied", []error{fs.ErrPermission, syscall.EBADF}},
		{"unsupported", []error{errors.ErrUnsupported}},
	} {
		for _, target := range id.errs {
			if errors.Is(err, target) {
				return id.name
			}
		}
	}
	if err != nil {
		return "refused"
	}
	return "ok"
}

func (s *stage) open(name string, flag int) *stageFile {
	f, err := s.OpenFile(name, flag, 0o644)
	s.note("open", err)
	if err != nil {
		f = nil
	}
	return &stageFile{File: f, s: s}
}

func (s *stage) put(name, content string) {
	s.note("put", afero.WriteFile(s.Fs, name, []byte(content), 0o644))
}

func (s *stage) get(name string) {
	b, err := afero.ReadFile(s.Fs, name)
	s.note(fmt.Sprintf("%q", b), err)
}

func (s *stage) list(dir string) {
	infos, err := afero.ReadDir(s.Fs, dir)
	names := ""
	for _, info := range infos {
		names += fmt.Sprint(" ", info.Name(), info.IsDir())
	}
	s.note(names, err)
}

func (s *stage) stat(name string) {
	info, err := s.Stat(name)
	if err != nil {
		s.note("stat", err)
		return
	}
	size := int64(0)
	if !info.IsDir() {
		size = info.Size()
	}
	s.note(fmt.Sprint(info.Name(), info.IsDir(), size), nil)
}

func (s *stage) rename(oldname, newname string) { s.note("rename", s.Rename(oldname, newname)) }
func (s *stage) remove(name string)             { s.note("remove", s.Remove(name)) }
func (s *stage) mkdir(name string)              { s.note("mkdir", s.Mkdir(name, 0o755)) }
func (s *stage) mkdirAll(name string)           { s.note("mkdirAll", s.MkdirAll(name, 0o755)) }

// stageFile is an open file of a stage.
type stageFile struct {
	afero.File
	s *stage
}

func (f *stageFile) write(text string) {
	n, err := f.WriteString(text)
	f.s.note(n, err)
}

func (f *stageFile) writeAt(text string, off int64) {
	n, err := f.WriteAt([]byte(text), off)
	f.s.note(n, err)
}

func (f *stageFile) read(n int) {
	p := make([]byte, n)
	got, err := f.Read(p)
	f.s.note(fmt.Sprintf("%q", p[:got]), err)
}

func (f *stageFile) readAt(n int, off int64) {
	p := make([]byte, n)
	got, err := f.ReadAt(p, off)
	f.s.note(fmt.Sprintf("%q", p[:got]), err)
}

func (f *stageFile) seek(off int64, whence int) {
	at, err := f.Seek(off, whence)
	f.s.note(at, err)
}

func (f *stageFile) cut(size int64) { f.s.note("cut", f.Truncate(size)) }
func (f *stageFile) close()         { f.s.note("close", f.Close()) }
func (f *stageFile) sync()          { f.s.note("sync", f.Sync()) }

func (f *stageFile) size() {
	info, err := f.Stat()
	if err != nil {
		f.s.note("size", err)
		return
	}
	f.s.note(info.Size(), nil)
}

func (f *stageFile) names(n int) {
	names, err := f.Readdirnames(n)
	f.s.note(len(names), err)
}

// play runs a scenario. One that panics has that as its last result.
func (s *stage) play(scenario func(s *stage)) (log string) {
	defer func() {
		if r := recover(); r != nil {
			s.log = append(s.log, "panic")
		}
		log = strings.Join(s.log, "; ")
	}()
	scenario(s)
	return ""
}

// rawDifferences are the scenarios in which the MemMapFs of this version of afero differs from a disk. An
// upgrade that changes this list changes nothing for Mem, but says whether New still needs to treat a
// MemMapFs as it does.
var rawDifferences = []string{
	"Read past the end", "ReadAt at a negative position", "ReadAt of nothing past the end", "ReadAt over the end",
	"ReadAt past the end", "Seek before the beginning", "Seek with a bad whence", "WriteAt at a negative position",
	"WriteAt leaves the cursor", "a listing of a file", "a listing while files go", "a long name",
	"a name with a NUL", "a root by another name", "append after a cut", "append after a seek",
	"append after another handle's cut", "append and cut at open", "append by two handles", "append refuses WriteAt",
	"close leaves the time", "close twice", "create below a file", "create over a directory",
	"create over an open file", "create without a parent", "cut after close", "cut under a reader",
	"exclusive without create", "mkdir without a parent", "mkdirAll below a file", "mkdirAll over a file",
	"name of a renamed file", "open a directory to write", "open below a file", "read a directory",
	"read a write-only file", "read after close", "remove a full directory", "rename a directory below itself",
	"rename a directory onto a file", "rename a directory onto a full one", "rename a file onto a directory",
	"rename a missing file onto itself", "rename without a parent", "seek after close", "stat after close",
	"stat below a file", "stat is a snapshot", "sync after close", "two ways to a file", "write a read-only file",
	"write a read-only file that was made", "write after close", "write of nothing past the end",
}

// ownDifferences are the scenarios in which ToAfero(Mem()) differs from a disk, and why.
var ownDifferences = map[string]string{
	"cut a read-only file":               "fsio says fs.ErrPermission, ftruncate EINVAL",
	"exclusive create of a directory":    "fsio says EISDIR, whatever the flags",
	"rename a file onto a directory":     "fsio says EISDIR, as the system call does; os.Rename looks before and says EEXIST",
	"rename a directory onto a full one": "fsio says ENOTEMPTY, as the system call does; os.Rename looks before and says EEXIST",
}

// TestFSRawMemMapFs plays scenarios on the disk, on a raw MemMapFs and on ToAfero(Mem()).
func TestFSRawMemMapFs(t *testing.T) {
	var differ []string
	for _, scenario := range rawScenarios {
		name, run := scenario.name, scenario.run
		disk := (&stage{Fs: afero.NewBasePathFs(afero.NewOsFs(), t.TempDir())}).play(run)
		raw := (&stage{Fs: afero.NewMemMapFs()}).play(run)
		ours := (&stage{Fs: aferofs.ToAfero(aferofs.Mem())}).play(run)
		if raw != disk {
			differ = append(differ, name)
		}
		if _, declared := ownDifferences[name]; declared != (ours != disk) {
			t.Errorf("%s:\n on the disk:    %s\n ToAfero(Mem()): %s", name, disk, ours)
		}
	}
	t.Logf("a raw MemMapFs differs from the disk in %d of %d scenarios", len(differ), len(rawScenarios))
	slices.Sort(differ)
	require.Equal(t, rawDifferences, differ)
}

const (
	rw  = os.O_RDWR
	rwc = os.O_RDWR | os.O_CREATE
	app = os.O_WRONLY | os.O_CREATE | os.O_APPEND
)

// rawScenarios are what a store may do to a filesystem.
var rawScenarios = []struct {
	name string
	run  func(s *stage)
}{
	{"append by two handles", func(s *stage) {
		f, g := s.open("f", app), s.open("f", app)
		f.write("A")
		g.write("B")
		f.write("C")
		s.get("f")
	}},
	{"append after a cut", func(s *stage) {
		f := s.open("f", app)
		f.write("abcdef")
		f.cut(0)
		f.write("Z")
		s.get("f")
	}},
	{"append and cut at open", func(s *stage) {
		s.put("f", "0123456789")
		f := s.open("f", os.O_RDWR|os.O_APPEND|os.O_TRUNC)
		f.write("Z")
		s.get("f")
	}},
	{"append after a seek", func(s *stage) {
		f := s.open("f", app)
		f.write("abc")
		f.seek(0, io.SeekStart)
		f.write("d")
		s.get("f")
	}},
	{"append after another handle's cut", func(s *stage) {
		f, g := s.open("f", app), s.open("f", rw)
		f.write("abcdef")
		g.cut(2)
		f.write("X")
		s.get("f")
	}},
	{"append refuses WriteAt", func(s *stage) {
		f := s.open("f", app)
		f.write("abc")
		f.writeAt("X", 0)
		s.get("f")
	}},
	{"WriteAt leaves the cursor", func(s *stage) {
		f := s.open("f", rwc)
		f.write("a")
		f.writeAt("xyz", 5)
		f.write("b")
		s.get("f")
	}},
	{"ReadAt leaves the cursor", func(s *stage) {
		s.put("f", "abcdef")
		f := s.open("f", rw)
		f.read(2)
		f.readAt(2, 4)
		f.read(2)
	}},
	{"ReadAt over the end", func(s *stage) { s.put("f", "abcd"); s.open("f", rw).readAt(5, 0) }},
	{"ReadAt at the end", func(s *stage) { s.put("f", "abcd"); s.open("f", rw).readAt(1, 4) }},
	{"ReadAt past the end", func(s *stage) { s.put("f", "abcd"); s.open("f", rw).readAt(1, 5) }},
	{"ReadAt of nothing", func(s *stage) { s.put("f", "abcd"); s.open("f", rw).readAt(0, 2) }},
	{"ReadAt of nothing past the end", func(s *stage) { s.put("f", "abcd"); s.open("f", rw).readAt(0, 9) }},
	{"ReadAt at a negative position", func(s *stage) { s.put("f", "abcd"); s.open("f", rw).readAt(1, -1) }},
	{"WriteAt at a negative position", func(s *stage) { s.put("f", "abcd"); s.open("f", rw).writeAt("x", -1); s.get("f") }},
	{"Read at the end", func(s *stage) {
		s.put("f", "ab")
		f := s.open("f", rw)
		f.read(5)
		f.read(5)
	}},
	{"Read past the end", func(s *stage) {
		s.put("f", "ab")
		f := s.open("f", rw)
		f.seek(10, io.SeekStart)
		f.read(5)
	}},
	{"Seek before the beginning", func(s *stage) { s.put("f", "ab"); s.open("f", rw).seek(-1, io.SeekStart) }},
	{"Seek with a bad whence", func(s *stage) { s.put("f", "ab"); s.open("f", rw).seek(0, 9) }},
	{"Seek to the end", func(s *stage) { s.put("f", "ab"); s.open("f", rw).seek(-1, io.SeekEnd) }},
	{"Seek from here", func(s *stage) {
		s.put("f", "abcdef")
		f := s.open("f", rw)
		f.read(1)
		f.seek(2, io.SeekCurrent)
		f.read(1)
	}},
	{"write of nothing past the end", func(s *stage) { s.put("f", "ab"); s.open("f", rw).writeAt("", 10); s.stat("f") }},
	{"write past the end", func(s *stage) { s.put("f", "ab"); s.open("f", rw).writeAt("x", 5); s.get("f") }},
	{"write in place", func(s *stage) { s.put("f", "abcdef"); s.open("f", rw).writeAt("XY", 2); s.get("f") }},
	{"cut and grow", func(s *stage) {
		s.put("f", "abcdef")
		f := s.open("f", rw)
		f.cut(2)
		f.cut(6)
		s.get("f")
	}},
	{"cut and write past the end", func(s *stage) {
		s.put("f", "abcdef")
		f := s.open("f", rw)
		f.cut(1)
		f.writeAt("Z", 4)
		s.get("f")
	}},
	{"cut under a reader", func(s *stage) {
		s.put("f", "abcdef")
		r := s.open("f", os.O_RDONLY)
		r.read(4)
		s.open("f", rw).cut(2)
		r.read(1)
	}},
	{"cut to a negative size", func(s *stage) { s.put("f", "ab"); s.open("f", rw).cut(-1) }},
	{"cut a read-only file", func(s *stage) { s.put("f", "ab"); s.open("f", os.O_RDONLY).cut(0); s.get("f") }},
	{"write a read-only file", func(s *stage) { s.put("f", "ab"); s.open("f", os.O_RDONLY).write("x"); s.get("f") }},
	{"write a read-only file that was made", func(s *stage) { s.open("f", os.O_RDONLY|os.O_CREATE).write("x"); s.get("f") }},
	{"read a write-only file", func(s *stage) { s.put("f", "ab"); s.open("f", os.O_WRONLY).read(1) }},
	{"exclusive without create", func(s *stage) { s.put("f", "ab"); s.open("f", rw|os.O_EXCL) }},
	{"exclusive create", func(s *stage) { s.open("f", rwc|os.O_EXCL); s.open("f", rwc|os.O_EXCL) }},
	{"exclusive create of a directory", func(s *stage) { s.mkdir("d"); s.open("d", os.O_WRONLY|os.O_CREATE|os.O_EXCL) }},
	{"create over an open file", func(s *stage) {
		s.put("f", "abc")
		r := s.open("f", os.O_RDONLY)
		f, err := s.Create("f")
		s.note("create", err)
		_, err = f.WriteString("XY")
		s.note("write", err)
		r.read(5)
	}},
	{"cut at open", func(s *stage) {
		s.put("f", "abc")
		r := s.open("f", os.O_RDONLY)
		s.open("f", rw|os.O_TRUNC)
		r.read(5)
	}},
	{"create without a parent", func(s *stage) { s.open("d/f", rwc); s.list(".") }},
	{"mkdir without a parent", func(s *stage) { s.mkdir("d/e"); s.list(".") }},
	{"rename without a parent", func(s *stage) { s.put("f", "ab"); s.rename("f", "d/f"); s.list(".") }},
	{"create below a file", func(s *stage) { s.put("f", "ab"); s.open("f/g", rwc); s.stat("f") }},
	{"open below a file", func(s *stage) { s.put("f", "ab"); s.open("f/g", rw) }},
	{"stat below a file", func(s *stage) { s.put("f", "ab"); s.stat("f/g") }},
	{"mkdirAll over a file", func(s *stage) { s.put("f", "ab"); s.mkdirAll("f"); s.stat("f") }},
	{"mkdirAll below a file", func(s *stage) { s.put("f", "ab"); s.mkdirAll("f/g"); s.stat("f") }},
	{"mkdirAll", func(s *stage) { s.mkdirAll("a/b/c"); s.mkdirAll("a/b/c"); s.list("a/b") }},
	{"mkdir over a directory", func(s *stage) { s.mkdir("d"); s.mkdir("d") }},
	{"mkdir over a file", func(s *stage) { s.put("f", "ab"); s.mkdir("f"); s.get("f") }},
	{"create over a directory", func(s *stage) { s.mkdir("d"); _, err := s.Create("d"); s.note("create", err); s.stat("d") }},
	{"open a directory to write", func(s *stage) { s.mkdir("d"); s.open("d", rw) }},
	{"read a directory", func(s *stage) { s.mkdir("d"); s.open("d", os.O_RDONLY).read(1) }},
	{"remove a full directory", func(s *stage) { s.mkdir("d"); s.put("d/f", "ab"); s.remove("d"); s.get("d/f") }},
	{"remove an empty directory", func(s *stage) { s.mkdir("d"); s.remove("d"); s.stat("d") }},
	{"remove twice", func(s *stage) { s.put("f", "ab"); s.remove("f"); s.remove("f") }},
	{"remove an open file", func(s *stage) {
		f := s.open("f", rwc)
		f.write("abc")
		s.remove("f")
		f.write("def")
		f.readAt(6, 0)
		s.stat("f")
	}},
	{"remove and make again", func(s *stage) {
		f := s.open("f", rwc)
		f.write("abc")
		s.remove("f")
		s.put("f", "new")
		f.readAt(3, 0)
	}},
	{"removeAll", func(s *stage) {
		s.mkdirAll("a/b")
		s.put("a/b/f", "ab")
		s.note("", s.RemoveAll("a"))
		s.stat("a/b/f")
		s.stat("a")
	}},
	{"removeAll of nothing", func(s *stage) { s.note("", s.RemoveAll("missing")) }},
	{"rename a file", func(s *stage) { s.put("f", "ab"); s.rename("f", "g"); s.get("g"); s.stat("f") }},
	{"rename over an open file", func(s *stage) {
		s.put("f", "new")
		s.put("g", "old")
		g := s.open("g", rw)
		s.rename("f", "g")
		g.readAt(3, 0)
		s.get("g")
	}},
	{"rename a file onto a directory", func(s *stage) { s.put("f", "ab"); s.mkdir("d"); s.rename("f", "d"); s.stat("d") }},
	{"rename a directory onto a file", func(s *stage) { s.put("f", "ab"); s.mkdir("d"); s.rename("d", "f"); s.stat("f") }},
	{"rename a directory onto a full one", func(s *stage) {
		s.mkdir("a")
		s.put("a/f", "ab")
		s.mkdir("b")
		s.put("b/g", "ab")
		s.rename("a", "b")
		s.list("b")
	}},
	{"rename a directory below itself", func(s *stage) { s.mkdir("d"); s.rename("d", "d/e"); s.stat("d") }},
	{"rename a missing file", func(s *stage) { s.rename("f", "g") }},
	{"rename a missing file onto itself", func(s *stage) { s.rename("f", "f") }},
	{"rename a file onto itself", func(s *stage) { s.put("f", "ab"); s.rename("f", "f"); s.get("f") }},
	{"rename a directory", func(s *stage) {
		s.mkdirAll("d/e")
		s.put("d/e/f", "ab")
		s.rename("d", "x")
		s.get("x/e/f")
		s.stat("d/e/f")
	}},
	{"rename above an open file", func(s *stage) {
		s.mkdir("d")
		f := s.open("d/f", rwc)
		s.rename("d", "e")
		f.write("abc")
		s.get("e/f")
	}},
	{"name of a renamed file", func(s *stage) { f := s.open("f", rwc); s.rename("f", "g"); s.note(path.Base(f.Name()), nil) }},
	{"stat is a snapshot", func(s *stage) {
		f := s.open("f", rwc)
		f.write("abc")
		info, err := s.Stat("f")
		f.write("def")
		s.note(info.Size(), err)
	}},
	{"sync", func(s *stage) { f := s.open("f", rwc); f.write("a"); f.sync() }},
	{"sync a directory", func(s *stage) { s.mkdir("d"); s.open("d", os.O_RDONLY).sync() }},
	{"sync after close", func(s *stage) { f := s.open("f", rwc); f.close(); f.sync() }},
	{"stat after close", func(s *stage) { f := s.open("f", rwc); f.close(); f.size() }},
	{"close twice", func(s *stage) { f := s.open("f", rwc); f.close(); f.close() }},
	{"read after close", func(s *stage) { f := s.open("f", rwc); f.close(); f.read(1) }},
	{"write after close", func(s *stage) { f := s.open("f", rwc); f.close(); f.write("x") }},
	{"seek after close", func(s *stage) { f := s.open("f", rwc); f.close(); f.seek(0, io.SeekStart) }},
	{"cut after close", func(s *stage) { f := s.open("f", rwc); f.close(); f.cut(0) }},
	{"close leaves the time", func(s *stage) {
		f := s.open("f", rwc)
		s.note("", s.Chtimes("f", time.UnixMilli(5), time.UnixMilli(5)))
		f.close()
		info, err := s.Stat("f")
		s.note(info.ModTime().UnixMilli(), err)
	}},
	{"chtimes of nothing", func(s *stage) { s.note("", s.Chtimes("f", time.UnixMilli(5), time.UnixMilli(5))) }},
	{"mode of a new file", func(s *stage) {
		f, err := s.Create("f")
		s.note("create", err)
		s.note("close", f.Close())
		info, err := s.Stat("f")
		s.note(info.Mode().Type(), err)
	}},
	{"mode of a new directory", func(s *stage) { s.mkdir("d"); info, err := s.Stat("d"); s.note(info.Mode(), err) }},
	{"a long name", func(s *stage) { s.open(strings.Repeat("n", 300), rwc) }},
	{"a name with a NUL", func(s *stage) { s.open("a\x00b", rwc) }},
	{"a listing", func(s *stage) { s.put("b", ""); s.mkdir("a"); s.put("c", ""); s.list(".") }},
	{"a listing of a file", func(s *stage) { s.put("f", "ab"); s.open("f", os.O_RDONLY).names(-1) }},
	{"a listing in pages", func(s *stage) {
		for _, name := range []string{"a", "b", "c"} {
			s.put(name, "")
		}
		d := s.open(".", os.O_RDONLY)
		d.names(2)
		d.names(2)
		d.names(2)
	}},
	{"a listing while files go", func(s *stage) {
		for _, name := range []string{"a", "b", "c", "d"} {
			s.put(name, "")
		}
		d := s.open(".", os.O_RDONLY)
		d.names(2)
		s.remove("a")
		s.remove("b")
		d.names(2)
	}},
	{"a listing of all", func(s *stage) { s.put("a", ""); d := s.open(".", os.O_RDONLY); d.names(-1); d.names(-1); d.names(1) }},
	{"a root by another name", func(s *stage) { s.put("/f", "ab"); s.get("f"); s.list("/") }},
	{"two ways to a file", func(s *stage) { s.put("f", "ab"); s.put("/f", "cd"); s.list("/"); s.get("f") }},
}
