package aferofs_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
)

// script is a sequence of calls, one a line:
//
//	open H NAME FLAG,FLAG…   flags: r rw create excl trunc append wronly sync
//	close H, name H, size H, sync H
//	read H POS N, write H POS TEXT, truncate H N, allocate H N, copy H POS N [ROOM]
//	map M H N ro|rw, view M POS N, store M POS TEXT, flush M POS N, resize M N, len M, unmap M
//	rename OLD NEW, remove NAME, mkdir NAME, ls NAME, stat NAME, chtimes NAME MILLISECONDS, syncdir NAME
//	lock L NAME, unlock L
//	tree                      all names, sizes and contents
//
// A first line "largest N" says that the script is about a disk whose largest file has N bytes: in memory that is
// ext4's, and other filesystems have others.
//
// H, M and L are names of the script's own. A TEXT is a word, a Go string, or "3*ab" for "ababab". A number
// may have the suffix k for 1024, M, G or T. A # begins a comment line.
type script struct {
	name    string
	largest int64 // 0 where the script does not depend on it
	lines   []string
}

// parseScripts reads the scripts of a file: each begins with "scenario" and its name.
func parseScripts(t *testing.T, text string) (scripts []script) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, begins := strings.CutPrefix(line, "scenario ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case begins:
			scripts = append(scripts, script{name: name})
		default:
			require.NotEmpty(t, scripts, "line before the first scenario: %s", line)
			last := &scripts[len(scripts)-1]
			if largest, ok := strings.CutPrefix(line, "largest "); ok {
				last.largest = number(t, largest)
			} else {
				last.lines = append(last.lines, line)
			}
		}
	}
	return scripts
}

// player plays a script on one filesystem.
type player struct {
	fsys  fsio.FS
	files map[string]fsio.File
	maps  map[string]fsio.Map
	locks map[string]io.Closer

	toClose []io.Closer
}

// play returns what each line gave, and the tree at the end.
func (s script) play(t *testing.T, fsys fsio.FS) (results []string) {
	t.Helper()
	p := &player{fsys: fsys, files: map[string]fsio.File{}, maps: map[string]fsio.Map{}, locks: map[string]io.Closer{}}
	for _, line := range append(s.lines, "tree") {
		words := split(t, line)
		results = append(results, p.do(t, words[0], words[1:]))
	}
	for _, c := range p.toClose {
		require.NoError(t, c.Close())
	}
	return results
}

// split cuts a line into words, of which some are Go strings.
func split(t *testing.T, line string) (words []string) {
	t.Helper()
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			word, err := strconv.Unquote(quoted)
			require.NoError(t, err)
			words, line = append(words, word), line[len(quoted):]
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		words, line = append(words, word), rest
	}
	return words
}

// number reads a position or a size.
func number(t *testing.T, word string) int64 {
	t.Helper()
	unit := int64(1)
	if i := strings.IndexByte("kMGT", word[len(word)-1]); i >= 0 {
		unit, word = 1<<(10*(i+1)), word[:len(word)-1]
	}
	n, err := strconv.ParseInt(word, 10, 64)
	require.NoError(t, err)
	return n * unit
}

// text reads a TEXT.
func text(t *testing.T, word string) []byte {
	t.Helper()
	if count, what, ok := strings.Cut(word, "*"); ok {
		return bytes.Repeat([]byte(what), int(number(t, count)))
	}
	return []byte(word)
}

// do plays one line.
func (p *player) do(t *testing.T, verb string, args []string) string {
	t.Helper()
	for _, verbs := range []func(*testing.T, string, []string) (string, bool){p.onFS, p.onFile, p.onMap} {
		if result, ok := verbs(t, verb, args); ok {
			return result
		}
	}
	require.Failf(t, "no such verb", "%s %v", verb, args)
	return ""
}

// onFS plays a call on the tree.
func (p *player) onFS(t *testing.T, verb string, args []string) (string, bool) {
	t.Helper()
	switch verb {
	case "open":
		f, err := p.fsys.OpenFile(args[1], flags(t, args[2]), 0o644)
		if err == nil {
			p.files[args[0]] = f
			p.toClose = append(p.toClose, f)
		}
		return outcome("", err), true
	case "rename":
		return outcome("", p.fsys.Rename(args[0], args[1])), true
	case "remove":
		return outcome("", p.fsys.Remove(args[0])), true
	case "mkdir":
		return outcome("", p.fsys.MkdirAll(args[0], 0o755)), true
	case "ls":
		entries, err := p.fsys.ReadDir(args[0])
		names := ""
		for _, e := range entries {
			names += fmt.Sprintf(" %s(%v)", e.Name(), e.Type())
		}
		return outcome(names, err), true
	case "stat":
		info, err := p.fsys.Stat(args[0])
		return outcome(describe(info), err), true
	case "chtimes":
		return outcome("", p.fsys.Chtimes(args[0], time.UnixMilli(number(t, args[1])))), true
	case "syncdir":
		return outcome("", p.fsys.SyncDir(args[0])), true
	case "lock":
		l, err := p.fsys.Lock(args[1])
		if err == nil {
			p.locks[args[0]] = l
			p.toClose = append(p.toClose, l)
		}
		return outcome("", err), true
	case "unlock":
		if l := p.locks[args[0]]; l != nil {
			return outcome("", l.Close()), true
		}
		return "nothing", true
	case "tree":
		return p.tree(t, "."), true
	}
	return "", false
}

// flags reads the flags of an open.
func flags(t *testing.T, word string) (flag int) {
	t.Helper()
	bits := map[string]int{
		"r": os.O_RDONLY, "rw": os.O_RDWR, "create": os.O_CREATE, "excl": os.O_EXCL, "trunc": os.O_TRUNC,
		"append": os.O_APPEND, "wronly": os.O_WRONLY, "sync": os.O_SYNC,
	}
	for name := range strings.SplitSeq(word, ",") {
		bit, ok := bits[name]
		require.True(t, ok, "no such flag: %s", name)
		flag |= bit
	}
	return flag
}

// describe is what a FileInfo promises. Times are compared where a script set them, long ago.
func describe(info fs.FileInfo) string {
	if info == nil {
		return ""
	}
	s := fmt.Sprintf(" %s %v", info.Name(), info.Mode().Type())
	if info.Mode().IsRegular() {
		s += fmt.Sprintf(" %d", info.Size())
	}
	if ms := info.ModTime().UnixMilli(); ms < 1e12 {
		s += fmt.Sprintf(" %dms", ms)
	}
	return s
}

// tree is all below dir.
func (p *player) tree(t *testing.T, dir string) string {
	t.Helper()
	entries, err := p.fsys.ReadDir(dir)
	require.NoError(t, err)
	s := ""
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		info, err := e.Info()
		require.NoError(t, err)
		s += name + describe(info)
		if e.IsDir() {
			s += "\n" + p.tree(t, name)
			continue
		}
		f, err := p.fsys.OpenFile(name, os.O_RDONLY, 0)
		require.NoError(t, err)
		b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
		require.NoError(t, errors.Join(err, f.Close()))
		s += " " + digest(b) + "\n"
	}
	return s
}

// digest is b, or a sum of it where it is long.
func digest(b []byte) string {
	if len(b) <= 60 {
		return strconv.Quote(string(b))
	}
	sum := fnv.New64a()
	_, _ = sum.Write(b)
	return fmt.Sprintf("%d bytes with sum %x", len(b), sum.Sum64())
}

// fileVerbs are those of onFile.
var fileVerbs = []string{"close", "name", "size", "sync", "read", "write", "truncate", "allocate", "copy"}

// onFile plays a call on a File.
func (p *player) onFile(t *testing.T, verb string, args []string) (string, bool) {
	t.Helper()
	if len(args) == 0 {
		return "", false
	}
	f, ok := p.files[args[0]]
	if !ok && slices.Contains(fileVerbs, verb) {
		return "nothing", true
	}
	n := func(i int) int64 { return number(t, args[i]) }
	switch verb {
	case "close":
		return outcome("", f.Close()), true
	case "name":
		return f.Name(), true
	case "size":
		size, err := f.Size()
		return outcome(fmt.Sprintf(" %d", size), err), true
	case "sync":
		return outcome("", f.Sync()), true
	case "read":
		b := make([]byte, n(2))
		got, err := f.ReadAt(b, n(1))
		return outcome(fmt.Sprintf(" %d %s", got, digest(b[:got])), err), true
	case "write":
		got, err := f.WriteAt(text(t, args[2]), n(1))
		return outcome(fmt.Sprintf(" %d", got), err), true
	case "truncate":
		return outcome("", f.Truncate(n(1))), true
	case "allocate":
		return outcome("", f.Allocate(n(1))), true
	case "copy":
		w := &room{left: 1 << 30}
		if len(args) > 3 {
			w.left = int(n(3))
		}
		got, err := f.CopyTo(w, n(1), n(2))
		return outcome(fmt.Sprintf(" %d %s", got, digest(w.got.Bytes())), err), true
	}
	return "", false
}

// onMap plays a call on a Map, or makes one.
func (p *player) onMap(t *testing.T, verb string, args []string) (string, bool) {
	t.Helper()
	m, ok := p.maps[args[0]]
	if !ok && verb != "map" || verb == "map" && p.files[args[1]] == nil {
		return "nothing", true
	}
	n := func(i int) int64 { return number(t, args[i]) }
	switch verb {
	case "map":
		m, err := p.files[args[1]].Map(n(2), map[string]fsio.Prot{"ro": fsio.ReadOnly, "rw": fsio.ReadWrite}[args[3]])
		if err == nil {
			p.maps[args[0]] = m
			p.toClose = append(p.toClose, m)
		}
		return outcome("", err), true
	case "view":
		seen := ""
		err := m.View(n(1), n(2), fsio.ViewFunc(func(b []byte) error {
			seen = " " + digest(bytes.Clone(b))
			return nil
		}))
		return outcome(seen, err), true
	case "store":
		got, err := m.WriteAt(text(t, args[2]), n(1))
		return outcome(fmt.Sprintf(" %d", got), err), true
	case "flush":
		return outcome("", m.Flush(n(1), n(2))), true
	case "resize":
		return outcome("", m.Resize(n(1))), true
	case "len":
		return strconv.FormatInt(m.Len(), 10), true
	case "unmap":
		return outcome("", m.Close()), true
	}
	return "", false
}

var errRoom = errors.New("no room")

// room is a writer that takes so much, and no more.
type room struct {
	left int
	got  bytes.Buffer
}

func (r *room) Write(p []byte) (int, error) {
	n := min(len(p), r.left)
	r.left -= n
	r.got.Write(p[:n])
	if n < len(p) {
		return n, errRoom
	}
	return n, nil
}

// identities are the errors that callers may ask for.
var identities = []struct {
	name string
	err  error
}{
	{"ErrBadName", fsio.ErrBadName},
	{"ErrNotRegular", fsio.ErrNotRegular},
	{"ErrLocked", fsio.ErrLocked},
	{"ErrMapBusy", fsio.ErrMapBusy},
	{"ErrExist", fs.ErrExist},
	{"ErrNotExist", fs.ErrNotExist},
	{"ErrPermission", fs.ErrPermission},
	{"ErrClosed", fs.ErrClosed},
	{"ErrInvalid", fs.ErrInvalid},
	{"EOF", io.EOF},
	{"ErrUnexpectedEOF", io.ErrUnexpectedEOF},
	{"ENOTDIR", syscall.ENOTDIR},
	{"EISDIR", syscall.EISDIR},
	{"ENOTEMPTY", syscall.ENOTEMPTY},
	{"EFBIG", syscall.EFBIG},
	{"ENOSPC", syscall.ENOSPC},
	{"errRoom", errRoom},
}

// outcome is a result and the identity of an error, with what it wraps.
func outcome(result string, err error) string {
	if err == nil {
		return "ok" + result
	}
	s := "error"
	for _, id := range identities {
		if errors.Is(err, id.err) {
			s += " " + id.name
		}
		if err == id.err { // whether it is wrapped is asked
			return s + ", bare" + result
		}
	}
	if s == "error" {
		s += " " + err.Error()
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		s += fmt.Sprintf(" %s %q", e.Op, e.Path)
	}
	if e, ok := errors.AsType[*fsio.FaultError](err); ok {
		s += fmt.Sprintf(" fault of %q at [%d, +%d)", e.Path, e.Off, e.Size)
	}
	return s + result
}
