package conformance_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/conformance"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
)

// hostileNames are names that lead out of a directory, or that some system gives a meaning of its own.
func hostileNames() []string {
	names := append(conformance.BadNames(),
		"/etc/passwd", "/../x", "//server/share", "\\\\server\\share\\x", "\\..\\x", "C:", "C:/x", "c:x", "file:///etc/passwd",
		"../root/../outside/secret", "../outside/secret", "../../outside/secret", "./../outside/secret", "a/../../outside/secret",
		"d/../../outside/secret", "d/./../../outside/secret", "d/.../../secret", "....//outside/secret", "..//outside/secret",
		".../outside/secret", "%2e%2e/outside/secret", "..%2foutside%2fsecret", "%2e%2e%2foutside%2fsecret", "..;/outside/secret",
		"d/..", "d/../", "./", "/.", "/..", "../", "..//", "d//..", "d/./..", "...", "....", "..x", "x..", ". .", ".. ", " ..",
		"..\x00", "../outside/secret\x00", "f\x00.log", "d\x00/f", "..\\outside\\secret", "d\\..\\..\\outside\\secret", "d/..\\x",
		"link", "link/x", "dirlink", "dirlink/secret", "dirlink/new", "rootlink/outside/secret", "uplink/outside/secret",
		"fifo", "fifo/x",
		"..\xff", "\xff../x", "..\xc0\xaf..\xc0\xafoutside", "\xc0\xae\xc0\xae/outside/secret", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf8",
		"\u2025/outside/secret", "\uff0e\uff0e/outside/secret", "..\u2215outside\u2215secret", "a\u202eb", "a\u200bb", "\ufeffa",
		"a\nb", "a\rb", "a\tb", "\x1b[2J", "\x7f", "a\bb", " ", "  x", "x ", "x.", "-rf", "--", "-", "~", "~root", "$HOME", "$(id)",
		"`id`", "|id", ";id", "&", "*", "?", "<x>", "\"x\"", "'x'", "!x", "#x", "a:b", "a:$DATA", "a::$INDEX_ALLOCATION",
		strings.Repeat("x", 4096), strings.Repeat("é", 128), strings.Repeat(strings.Repeat("x", 250)+"/", 17)+"x", strings.Repeat("x", 255)+"/"+strings.Repeat("y", 256),
	)
	for _, device := range []string{"CON", "PRN", "AUX", "NUL", "COM1", "COM9", "LPT1", "CONIN$", "CLOCK$"} {
		names = append(names, device, strings.ToLower(device)+".log", device+" ", "d/"+device)
	}
	return names
}

// TestFSHostileNames calls everything on every hostile name, and looks at what lies outside.
func TestFSHostileNames(t *testing.T) {
	names, escapes := hostileNames(), 0
	for _, subject := range []struct {
		name string
		open func(t *testing.T, dir string) fsio.FS
	}{
		{"os", func(t *testing.T, dir string) fsio.FS {
			fsys, err := fsio.OS(dir)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, fsys.Close()) })
			return fsys
		}},
		{"mem", func(*testing.T, string) fsio.FS { return aferofs.Mem() }},
		{"afero", func(_ *testing.T, dir string) fsio.FS {
			return aferofs.New(afero.NewBasePathFs(afero.NewOsFs(), dir))
		}},
	} {
		t.Run(subject.name, func(t *testing.T) {
			base := hostileGround(t)
			inner := subject.open(t, filepath.Join(base, "root"))
			through := fsio.Intercept(inner, func(_ *fsio.Op, do func() error) error { return do() })
			for _, fsys := range []fsio.FS{inner, through} {
				for _, name := range names {
					escapes += escape(t, base, fsys, name)
				}
			}
		})
	}
	fmt.Printf("RESULT names=%d escapes=%d\n", len(names), escapes)
	require.GreaterOrEqual(t, len(names), 100)
	require.Zero(t, escapes)
}

// hostileGround is a directory with a root, what must not be reached beside it, and links to that.
func hostileGround(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(base, "outside"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(base, "root", "d"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(base, "outside", "secret"), []byte("secret"), 0o644))
	for link, target := range map[string]string{
		"link": "../outside/secret", "dirlink": "../outside", "uplink": "..", "rootlink": base,
	} {
		if err := os.Symlink(target, filepath.Join(base, "root", link)); err != nil {
			t.Logf("no links here: %v", err)
		}
	}
	return base
}

// escape makes all calls on name, and counts those that did what they must not.
func escape(t *testing.T, base string, fsys fsio.FS, name string) (escapes int) {
	t.Helper()
	f, err := fsys.OpenFile("other", os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	valid := fs.ValidPath(name) && !strings.ContainsAny(name, "\x00\\") && utf8.ValidString(name)
	for what, err := range hostileCalls(fsys, name) {
		if !valid && !errors.Is(err, fsio.ErrBadName) {
			escapes++
			t.Errorf("%s of %.60q = %v, want fsio.ErrBadName", what, name, err)
		}
		if err != nil && !hasIdentity(err) {
			t.Errorf("%s of %.60q = %v, an error that callers cannot ask for", what, name, err)
		}
	}
	got, err := os.ReadFile(filepath.Join(base, "outside", "secret"))
	require.NoError(t, err)
	require.Equal(t, "secret", string(got), "after calls on %q", name)
	for dir, want := range map[string]int{base: 2, filepath.Join(base, "outside"): 1} {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		if len(entries) != want {
			escapes++
			t.Errorf("calls on %.60q left %d entries in %s, want %d", name, len(entries), dir, want)
		}
	}
	return escapes
}

// errSecret says that the bytes of the file outside were read.
var errSecret = errors.New("read what lies outside")

// hostileCalls makes all calls on name.
func hostileCalls(fsys fsio.FS, name string) map[string]error {
	results := map[string]error{}
	for flagName, flag := range map[string]int{
		"OpenFile": os.O_RDONLY, "OpenFile to write": os.O_RDWR, "OpenFile to create": os.O_RDWR | os.O_CREATE,
		"OpenFile to cut": os.O_RDWR | os.O_TRUNC,
	} {
		f, err := fsys.OpenFile(name, flag, 0o644)
		results[flagName] = err
		if err != nil {
			continue
		}
		if b, _ := io.ReadAll(io.NewSectionReader(f, 0, 100)); string(b) == "secret" {
			results[flagName] = errSecret
		}
		_ = f.Close()
	}
	_, results["Stat"] = fsys.Stat(name)
	_, results["ReadDir"] = fsys.ReadDir(name)
	results["Chtimes"] = fsys.Chtimes(name, time.UnixMilli(1))
	results["SyncDir"] = fsys.SyncDir(name)
	l, err := fsys.Lock(name)
	if results["Lock"] = err; err == nil {
		_ = l.Close()
	}
	results["MkdirAll"] = fsys.MkdirAll(name, 0o755)
	results["Rename to it"] = fsys.Rename("other", name)
	results["Rename of it"] = fsys.Rename(name, "other")
	results["Remove"] = fsys.Remove(name)
	return results
}

// hasIdentity reports whether err is one that the contract names.
func hasIdentity(err error) bool {
	for _, known := range []error{
		fsio.ErrBadName, fsio.ErrNotRegular, fs.ErrNotExist, fs.ErrExist, fs.ErrInvalid, syscall.ENOTDIR, syscall.EISDIR, syscall.ENOTEMPTY, syscall.ENAMETOOLONG,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
