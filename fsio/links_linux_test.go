package fsio_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stratalog/strata/fsio"
)

// plantIrregular makes what a store must refuse, each below dir under the name of its row, and returns the
// names.
func plantIrregular(t *testing.T, dir string) (irregular, through []string) {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Mkdir(at("real"), 0o755))
	require.NoError(t, os.WriteFile(at("real/file"), []byte("content"), 0o644))
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "file"), []byte("content"), 0o644))
	for name, target := range map[string]string{
		"to-file": "real/file", "to-dir": "real", "to-nothing": "nothing", "to-itself": "to-itself", "to-root": ".",
		"to-parent": "..", "to-outside": outside, "to-outside-file": filepath.Join(outside, "file"), "to-null": "/dev/null",
	} {
		require.NoError(t, os.Symlink(target, at(name)))
		irregular = append(irregular, name)
	}
	require.NoError(t, syscall.Mkfifo(at("fifo"), 0o644))
	irregular = append(irregular, "fifo")
	t.Chdir(dir) // the name of a socket is at most 108 bytes long
	socket, err := net.Listen("unix", "socket")
	require.NoError(t, err)
	t.Cleanup(func() { socket.Close() })
	irregular = append(irregular, "socket")
	if err := unix.Mknod(at("device"), unix.S_IFCHR|0o644, int(unix.Mkdev(1, 3))); err == nil { // the null device
		irregular = append(irregular, "device")
	}
	for _, link := range append([]string{"to-dir", "to-root/real", "to-outside", "to-parent"}, irregular...) {
		through = append(through, link+"/file", link+"/missing")
	}
	return irregular, through
}

func TestOSRefusesIrregular(t *testing.T) {
	fsys, dir := openOS(t)
	irregular, through := plantIrregular(t, dir)
	create(t, fsys, "file", "content")
	before := listing(t, dir, "")
	for _, name := range append(irregular, through...) {
		for call, err := range map[string]error{
			"open":       openError(fsys, name, os.O_RDONLY),
			"open rw":    openError(fsys, name, os.O_RDWR),
			"create":     openError(fsys, name, os.O_RDWR|os.O_CREATE),
			"create new": openError(fsys, name, os.O_RDWR|os.O_CREATE|os.O_EXCL),
			"truncate":   openError(fsys, name, os.O_RDWR|os.O_TRUNC),
			"rename":     fsys.Rename(name, "renamed"),
			"remove":     fsys.Remove(name),
			"mkdir":      fsys.MkdirAll(name, 0o755),
			"readdir":    second(fsys.ReadDir(name)),
			"stat":       second(fsys.Stat(name)),
			"chtimes":    fsys.Chtimes(name, time.Unix(1, 0)),
			"syncdir":    fsys.SyncDir(name),
			"lock":       second(fsys.Lock(name)),
		} {
			t.Run(name+"/"+call, func(t *testing.T) { refused(t, err, name, fsio.ErrNotRegular) })
		}
		refused(t, fsys.Rename("file", name), "file", fsio.ErrNotRegular)
		refused(t, fsys.Rename("real", name), "real", fsio.ErrNotRegular)
	}
	assert.Equal(t, before, listing(t, dir, ""), "a refused call changed something")
}

func TestOSListsIrregular(t *testing.T) {
	fsys, dir := openOS(t)
	irregular, _ := plantIrregular(t, dir)
	list, err := fsys.ReadDir(".")
	require.NoError(t, err)
	types := map[string]fs.FileMode{}
	for _, e := range list {
		types[e.Name()] = e.Type()
	}
	assert.Equal(t, fs.ModeDir, types["real"])
	for _, name := range irregular {
		mode, ok := types[name]
		assert.True(t, ok && mode != fs.ModeDir && !mode.IsRegular(), "%s is listed as %v", name, mode)
	}
	assert.Equal(t, fs.ModeSymlink, types["to-nothing"])
	assert.Equal(t, fs.ModeNamedPipe, types["fifo"])
	assert.Equal(t, fs.ModeSocket, types["socket"])
	for _, e := range list {
		if e.Name() == "to-file" {
			_, err := e.Info()
			refused(t, err, "to-file", fsio.ErrNotRegular)
		}
	}
}

// TestOSOpensOnlyWhatItSaw swaps a file against a link and a FIFO while it is opened: each open gets the
// file or an error, and none waits.
func TestOSOpensOnlyWhatItSaw(t *testing.T) {
	fsys, dir := openOS(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("secret"), []byte("secret"), 0o644))
	require.NoError(t, os.WriteFile(at("good"), []byte("good"), 0o644))
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			var err error
			switch i % 3 {
			case 0:
				err = os.Link(at("good"), at("next"))
			case 1:
				err = os.Symlink("secret", at("next"))
			case 2:
				err = syscall.Mkfifo(at("next"), 0o644)
			}
			if err := firstOf(err, os.Rename(at("next"), at("name"))); err != nil {
				t.Error(err)
				return
			}
			_ = os.Remove(at("next")) // still there where both were the same file
		}
	})
	opened := 0
	for i := range 3000 {
		flag := []int{os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE}[i%3]
		f, err := fsys.OpenFile("name", flag, 0o644)
		if err != nil {
			continue
		}
		b := make([]byte, 8)
		n, _ := f.ReadAt(b, 0)
		require.NoError(t, f.Close())
		if n > 0 { // of no bytes is a file that O_CREATE made, before the first swap
			opened++
			require.Equal(t, "good", string(b[:n]))
		}
	}
	close(stop)
	swapper.Wait()
	t.Logf("opened the file %d times", opened)
}

// openError opens name and returns the error.
func openError(fsys fsio.FS, name string, flag int) error {
	f, err := fsys.OpenFile(name, flag, 0o644)
	if err == nil {
		f.Close()
	}
	return err
}
