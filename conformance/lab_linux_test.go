package conformance_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/conformance"
	"github.com/stratalog/strata/fsio"
)

// lab is a directory of the disk, and what the suite may want done to it.
type lab struct {
	fsio.FS
	dir string
}

var (
	_ conformance.Planter   = (*lab)(nil)
	_ conformance.Neighbour = (*lab)(nil)
)

func newLab(tb testing.TB) *laboratory {
	dir := tb.TempDir()
	fsys, err := fsio.OS(dir)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, fsys.Close()) })
	return &laboratory{FS: &lab{FS: fsys, dir: dir}, dir: dir}
}

// Plant is conformance.Planter's.
func (l *lab) Plant(name string, typ fs.FileMode, target string) error {
	at := filepath.Join(l.dir, name)
	switch typ {
	case fs.ModeSymlink:
		return os.Symlink(target, at)
	case fs.ModeNamedPipe:
		return syscall.Mkfifo(at, 0o600)
	case fs.ModeSocket:
		return syscall.Mknod(at, syscall.S_IFSOCK|0o600, 0)
	}
	return errors.ErrUnsupported
}

// lockVariable tells this test binary that it is to hold a lock, and where: the directory, a NUL, the name.
const lockVariable = "CONFORMANCE_TEST_LOCK"

// TestMain holds a lock until it is killed, where it is the other process of LockElsewhere.
func TestMain(m *testing.M) {
	if where, ok := os.LookupEnv(lockVariable); ok {
		dir, name, _ := strings.Cut(where, "|")
		fsys, err := fsio.OS(dir)
		if err == nil {
			_, err = fsys.Lock(name)
		}
		fmt.Println("locked:", err)
		select {}
	}
	os.Exit(m.Run())
}

// LockElsewhere is conformance.Neighbour's.
func (l *lab) LockElsewhere(name string) (end func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	other := exec.Command(self)
	other.Env = append(os.Environ(), lockVariable+"="+l.dir+"|"+name)
	out, err := other.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := other.Start(); err != nil {
		return nil, err
	}
	end = func() error {
		err := other.Process.Kill()
		_ = other.Wait() // it was killed
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil && line != "locked: <nil>\n" {
		err = errors.New(line)
	}
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}

// tmpfs is a directory of a small disk of its own.
type tmpfs struct {
	fsio.FS
	filler string
}

var _ conformance.Filler = (*tmpfs)(nil)

// newTmpfs mounts a small disk.
func newTmpfs(tb testing.TB) (fsio.FS, error) {
	at := tb.TempDir()
	if err := syscall.Mount("strata", at, "tmpfs", 0, "size=24m"); err != nil {
		return nil, err
	}
	tb.Cleanup(func() { require.NoError(tb, syscall.Unmount(at, 0)) })
	dir := filepath.Join(at, "fs")
	require.NoError(tb, os.Mkdir(dir, 0o755))
	fsys, err := fsio.OS(dir)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, fsys.Close()) })
	return &tmpfs{FS: fsys, filler: filepath.Join(at, "filler")}, nil
}

// Fill is conformance.Filler's.
func (t *tmpfs) Fill() error {
	f, err := os.Create(t.filler)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}
