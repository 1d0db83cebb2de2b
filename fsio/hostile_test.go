package fsio_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
)

// badNames are names that FS refuses, whatever is there.
func badNames() []string {
	names := []string{
		"", "/", "//", "/a", "//a", "/etc/passwd", "/tmp", "/dev/null", "/proc/self/mem", "a/", "a//", "./", "../",
		"./a", "a/.", "a/./b", "./.", "a//b", "a///b", "dir//file", "dir/", "dir/./file", "file/", "file/.",
		"\x00", "a\x00", "a\x00b", "file\x00", "file\x00.txt", "dir/\x00", "dir\x00/file", "..\x00", "\x00..",
		"\\", "a\\b", "..\\a", "\\a", "dir\\file", "C:\\a", "C:\\Windows\\System32", "\\\\server\\share",
		"\\\\?\\C:\\a", "\\\\.\\PhysicalDrive0", "\\\\.\\pipe\\a", "a\\..\\..\\b", "..\\..\\secret",
		"\xff", "a\xff", "a/\xfe\xfe/b", "\xc0\xae\xc0\xae", "\xc0\xaf", "..\xc0\xafsecret", "\xed\xa0\x80",
		"\xf8\x88\x80\x80\x80", "\x80", "dir/\xc3",
		strings.Repeat("a", 256), strings.Repeat("a", 4096), strings.Repeat("a", 1<<16), strings.Repeat("ä", 128),
		"dir/" + strings.Repeat("a", 256), strings.Repeat("a", 256) + "/file", strings.Repeat("/", 4096),
	}
	for depth := 1; depth <= 12; depth++ {
		up := strings.Repeat("../", depth)
		names = append(names, strings.TrimSuffix(up, "/"), up+"secret", "dir/"+up+"secret", up+"outside/secret")
	}
	return append(names, "dir/../../outside/secret", "dir/../file", "dir/..", "missing/../file", "file/../file", "dir/../dir/file")
}

// oddNames are names that FS allows, and that some system gives a meaning to.
func oddNames() []string {
	return []string{
		"...", "....", "..a", "a..", ".a", "-rf", "--", "~", "~root", "$HOME", "`id`", "$(id)", ";", "|", "&", ">", "*", "?",
		"\"", "'", " ", "  a", "a ", "a.", "a b", "\n", "\t", "\r\n", "\x01", "\x1b[2J", "\x7f", "\u202e", "\u200b", "\ufeff",
		"%2e%2e%2fsecret", "%00", "..%2f", "..;", "．．", "／", "∕", "con", "CON", "PRN", "aux.txt", "NUL", "NUL.txt", "COM1",
		"LPT9", "a:b", "file::$DATA", "desktop.ini", "Thumbs.db", ".git", ".lock", strings.Repeat("a", 255),
		strings.Repeat("d/", 100) + "file", strings.Repeat(strings.Repeat("a", 255)+"/", 20) + "file",
	}
}

// TestOSFSHostileNames gives every name to every call. Beside the root lies what no call may reach.
func TestOSFSHostileNames(t *testing.T) {
	base := t.TempDir()
	root, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
	require.NoError(t, os.Mkdir(root, 0o755))
	require.NoError(t, os.Mkdir(outside, 0o755))
	for _, secret := range []string{filepath.Join(outside, "secret"), filepath.Join(base, "secret")} {
		require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o644))
	}
	before := listing(t, base, root)
	fsys, err := fsio.OS(root)
	require.NoError(t, err)
	defer fsys.Close()
	create(t, fsys, "file", "content")
	require.NoError(t, fsys.MkdirAll("dir", 0o755))
	create(t, fsys, "dir/file", "content")
	rootBefore := listing(t, root, "")

	for _, name := range badNames() {
		for call, err := range callAll(fsys, name) {
			var pathErr *fs.PathError
			if assert.ErrorAs(t, err, &pathErr, "%s(%.40q)", call, name) {
				assert.ErrorIs(t, err, fsio.ErrBadName, "%s(%.40q)", call, name)
			}
		}
	}
	assert.Equal(t, rootBefore, listing(t, root, ""), "a refused name changed the root")
	for _, name := range oddNames() {
		for call, err := range callAll(fsys, name) {
			var pathErr *fs.PathError
			if err != nil {
				assert.ErrorAs(t, err, &pathErr, "%s(%.40q)", call, name)
			}
		}
	}
	after := listing(t, base, root)
	assert.Equal(t, before, after, "something changed outside of the root")
	escapes := len(before)
	for name, what := range after {
		if before[name] == what {
			escapes--
		} else {
			escapes++
		}
	}
	fmt.Printf("RESULT names=%d escapes=%d\n", len(badNames())+len(oddNames()), escapes)
}

// callAll gives name to each call of fsys, and returns their errors.
func callAll(fsys fsio.FS, name string) map[string]error {
	errs := map[string]error{}
	read := func(call string, flag int) {
		f, err := fsys.OpenFile(name, flag, 0o644)
		if err == nil {
			_, err = f.WriteAt([]byte("overwritten"), 0)
			err = firstOf(f.Close(), err)
		}
		errs[call] = err
	}
	read("open", os.O_RDWR)
	read("create", os.O_RDWR|os.O_CREATE)
	read("truncate", os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	_, errs["stat"] = fsys.Stat(name)
	_, errs["readdir"] = fsys.ReadDir(name)
	errs["chtimes"] = fsys.Chtimes(name, time.Unix(1, 0))
	errs["syncdir"] = fsys.SyncDir(name)
	lock, err := fsys.Lock(name)
	if err == nil {
		err = lock.Close()
	}
	errs["lock"] = err
	errs["writefile"] = fsio.WriteFile(fsys, name, []byte("overwritten"))
	errs["rename from"] = fsys.Rename(name, "renamed")
	errs["rename to"] = fsys.Rename("file", name)
	errs["remove"] = fsys.Remove(name)
	errs["mkdir"] = fsys.MkdirAll(name, 0o755)
	errs["mkdir below"] = fsys.MkdirAll(name+"/below", 0o755)
	return errs
}

// listing describes every file below dir, without what is below except.
func listing(t *testing.T, dir, except string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == except {
			return firstOf(err, fs.SkipDir)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var text []byte
		if info.Mode().IsRegular() {
			if text, err = os.ReadFile(name); err != nil {
				return err
			}
		}
		files[name] = fmt.Sprintf("%v %v %q", info.Mode(), info.ModTime(), text)
		return nil
	}))
	return files
}
