package crashfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/crashfs"
)

// open opens or makes the file name.
func open(t testing.TB, fsys fsio.FS, name string) fsio.File {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	return f
}

// write puts text at off.
func write(t testing.TB, f fsio.File, text string, off int64) {
	t.Helper()
	_, err := f.WriteAt([]byte(text), off)
	require.NoError(t, err)
}

// content reads all of f.
func content(t testing.TB, f fsio.File) string {
	t.Helper()
	size, err := f.Size()
	require.NoError(t, err)
	b, err := io.ReadAll(io.NewSectionReader(f, 0, size))
	require.NoError(t, err)
	return string(b)
}

// show is all names of fsys with their contents, "a=text b=" and "d/" for a directory. Zeros are dots.
func show(t testing.TB, fsys fsio.FS) string {
	t.Helper()
	var words []string
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := fsys.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if e.IsDir() {
				words = append(words, name+"/")
				walk(name)
				continue
			}
			f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
			require.NoError(t, err)
			words = append(words, name+"="+shorten(content(t, f)))
			require.NoError(t, f.Close())
		}
	}
	walk(".")
	return strings.Join(words, " ")
}

// shorten writes a run of more than eight equal bytes as "a*512".
func shorten(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		c := strings.ReplaceAll(s[i:i+1], "\x00", ".")
		if n := j - i; n > 8 {
			fmt.Fprintf(&b, "%s*%d,", c, n)
		} else {
			b.WriteString(strings.Repeat(c, n))
		}
		i = j
	}
	return strings.TrimSuffix(b.String(), ",")
}

// images are the states that a power cut now may leave.
func images(t testing.TB, fsys *crashfs.FS, p crashfs.Policy) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for id, image := range fsys.CrashClones(1, p) {
		again, err := crashfs.ParseCrashID(id.String())
		require.NoError(t, err)
		require.Equal(t, id, again)
		found[show(t, image)] = true
	}
	return found
}

// TestCrashLeaves holds what ext4 was seen to leave, and what the contract of fsio adds to it.
func TestCrashLeaves(t *testing.T) {
	for _, row := range []struct {
		name   string
		policy crashfs.Policy
		do     func(t *testing.T, fsys *crashfs.FS)
		want   []string
	}{
		{"a file without a sync", crashfs.Strict, func(t *testing.T, fsys *crashfs.FS) {
			write(t, open(t, fsys, "f"), "new", 0)
		}, []string{"", "f=", "f=...", "f=new"}},
		{"a killed process", crashfs.Kill, func(t *testing.T, fsys *crashfs.FS) {
			write(t, open(t, fsys, "f"), "new", 0)
		}, []string{"f=new"}},
		{"nothing but what was synced", crashfs.Lost, func(t *testing.T, fsys *crashfs.FS) {
			durable(t, fsys, "f", "old")
			write(t, open(t, fsys, "f"), "new", 0)
		}, []string{"f=old"}},
		{"an append to a synced file", crashfs.Strict, func(t *testing.T, fsys *crashfs.FS) {
			durable(t, fsys, "f", "old-")
			write(t, open(t, fsys, "f"), "tail", 4)
		}, []string{"f=old-", "f=old-....", "f=old-tail"}},
		{"a synced file without a synced name", crashfs.Strict, func(t *testing.T, fsys *crashfs.FS) {
			f := open(t, fsys, "f")
			write(t, f, "x", 0)
			require.NoError(t, f.Sync())
		}, []string{"", "f=x"}},
		{"as ext4 does", crashfs.Ext4, func(t *testing.T, fsys *crashfs.FS) {
			f := open(t, fsys, "f")
			write(t, f, "x", 0)
			require.NoError(t, f.Sync())
		}, []string{"f=x"}},
		{"a rename over a file", crashfs.Strict, func(t *testing.T, fsys *crashfs.FS) {
			durable(t, fsys, "tmp", "new")
			durable(t, fsys, "f", "old")
			require.NoError(t, fsys.Rename("tmp", "f"))
		}, []string{"f=old tmp=new", "f=new"}},
		{"two renames of one file", crashfs.Strict, func(t *testing.T, fsys *crashfs.FS) {
			durable(t, fsys, "a", "x")
			require.NoError(t, fsys.Rename("a", "b"))
			require.NoError(t, fsys.Rename("b", "c"))
		}, []string{"a=x", "b=x", "c=x"}},
		{"a rename that is half there", split, func(t *testing.T, fsys *crashfs.FS) {
			durable(t, fsys, "a", "x")
			require.NoError(t, fsys.Rename("a", "b"))
		}, []string{"a=x", "b=x", "a=x b=x", ""}},
		{"a remove", crashfs.Strict, func(t *testing.T, fsys *crashfs.FS) {
			durable(t, fsys, "f", "x")
			require.NoError(t, fsys.Remove("f"))
		}, []string{"f=x", ""}},
		{"three writes to a sector", crashfs.Strict, func(t *testing.T, fsys *crashfs.FS) {
			durable(t, fsys, "f", "0")
			for _, text := range []string{"1", "2", "3"} {
				write(t, open(t, fsys, "f"), text, 0)
			}
		}, []string{"f=0", "f=1", "f=2", "f=3"}},
		{"two sectors", crashfs.Strict, func(t *testing.T, fsys *crashfs.FS) {
			durable(t, fsys, "f", strings.Repeat("a", 1024))
			write(t, open(t, fsys, "f"), strings.Repeat("b", 1024), 0)
		}, []string{"f=a*1024", "f=a*512,b*512", "f=b*512,a*512", "f=b*1024"}},
		{"a cut", crashfs.Strict, func(t *testing.T, fsys *crashfs.FS) {
			durable(t, fsys, "f", strings.Repeat("a", 1024))
			require.NoError(t, open(t, fsys, "f").Truncate(100))
		}, []string{"f=a*1024", "f=a*100", "f=a*100,.*412,a*512", "f=a*512,.*512", "f=a*100,.*924"}},
		{"a cut, and growth", crashfs.Strict, func(t *testing.T, fsys *crashfs.FS) {
			durable(t, fsys, "f", strings.Repeat("a", 1024))
			require.NoError(t, open(t, fsys, "f").Truncate(100))
			require.NoError(t, open(t, fsys, "f").Truncate(600))
		}, []string{
			"f=a*1024", "f=a*100", "f=a*100,.*412,a*512", "f=a*512,.*512", "f=a*100,.*924", "f=a*100,.*500",
		}},
		{"an append across a page", crashfs.Strict, func(t *testing.T, fsys *crashfs.FS) {
			durable(t, fsys, "f", strings.Repeat("a", 4095))
			write(t, open(t, fsys, "f"), "bc", 4095)
		}, []string{
			"f=a*4095", "f=a*4095,b", "f=a*4095,.", "f=a*4095,bc", "f=a*4095,b.", "f=a*4095,.c", "f=a*4095,..",
		}},
		{"stores, one page of them flushed", crashfs.Strict, func(t *testing.T, fsys *crashfs.FS) {
			durable(t, fsys, "f", strings.Repeat("a", 8192))
			m, err := open(t, fsys, "f").Map(8192, fsio.ReadWrite)
			require.NoError(t, err)
			for _, off := range []int64{0, 4096} {
				_, err = m.WriteAt([]byte(strings.Repeat("b", 512)), off)
				require.NoError(t, err)
			}
			require.NoError(t, m.Flush(4096, 1))
			require.NoError(t, m.Close())
		}, []string{"f=a*4096,b*512,a*3584", "f=b*512,a*3584,b*512,a*3584"}},
		{"directories in any order", crashfs.Strict, func(t *testing.T, fsys *crashfs.FS) {
			require.NoError(t, fsys.MkdirAll("d", 0o755))
			open(t, fsys, "d/f")
			open(t, fsys, "g")
		}, []string{"", "d/", "d/ d/f=", "g=", "d/ g=", "d/ d/f= g="}},
		{"directories in one order", crashfs.Ext4, func(t *testing.T, fsys *crashfs.FS) {
			require.NoError(t, fsys.MkdirAll("d", 0o755))
			require.NoError(t, fsys.MkdirAll("e", 0o755))
		}, []string{"", "d/", "d/ e/"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys := crashfs.New()
			row.do(t, fsys)
			p := row.policy
			if p.Name != "kill" && p.Name != "lost" {
				p.ExhaustUpTo = 1 << 10
			}
			got := images(t, fsys, p)
			want := map[string]bool{}
			for _, state := range row.want {
				want[state] = true
			}
			require.Equal(t, want, got)
		})
	}
}

var split = crashfs.Policy{Name: "split", Data: crashfs.DataSectors, Dir: crashfs.DirUnordered, SplitRename: true, Systematic: true}

// durable makes the file name with text, for certain.
func durable(t testing.TB, fsys *crashfs.FS, name, text string) {
	t.Helper()
	f := open(t, fsys, name)
	write(t, f, text, 0)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	require.NoError(t, fsys.SyncDir(path.Dir(name)))
}

func TestNewRefuses(t *testing.T) {
	for name, opt := range map[string]crashfs.Option{
		"sector": crashfs.WithSectorSize(500), "page": crashfs.WithPageSize(700), "quota": crashfs.WithQuota(-1),
	} {
		t.Run(name, func(t *testing.T) { require.Panics(t, func() { crashfs.New(opt) }) })
	}
}

func TestWindows(t *testing.T) {
	fsys := crashfs.New(crashfs.WithWindowsSemantics())
	require.NoError(t, fsys.MkdirAll("d", 0o755))
	durable(t, fsys, "d/f", "text")
	f := open(t, fsys, "d/f")
	for name, err := range map[string]error{
		"remove": fsys.Remove("d/f"), "rename": fsys.Rename("d/f", "g"), "rename above": fsys.Rename("d", "e"),
	} {
		require.ErrorIs(t, err, fs.ErrPermission, name)
	}
	m, err := f.Map(4, fsio.ReadWrite)
	require.NoError(t, err)
	for name, err := range map[string]error{
		"truncate": f.Truncate(0), "rename": fsys.Rename("d/f", "g"), "remove": fsys.Remove("d/f"),
	} {
		require.ErrorIs(t, err, fsio.ErrMapBusy, name)
	}
	require.NoError(t, m.Resize(2))
	require.NoError(t, errors.Join(m.Close(), f.Close()))
	require.NoError(t, fsys.Rename("d", "e"))
	require.Equal(t, "e/ e/f=te", show(t, fsys))
}
