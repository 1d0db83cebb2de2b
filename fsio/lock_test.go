package fsio_test

import (
	"bufio"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
)

func TestLock(t *testing.T) {
	fsys, dir := openOS(t)
	require.NoError(t, fsys.MkdirAll("dir", 0o755))
	twin, err := fsio.OS(dir) // another FS of the same directory
	require.NoError(t, err)
	defer twin.Close()
	for _, name := range []string{".lock", "dir/.lock", "dir", "."} {
		t.Run(name, func(t *testing.T) {
			lock, err := fsys.Lock(name)
			require.NoError(t, err)
			for _, other := range []fsio.FS{fsys, twin} {
				for range 2 { // a refused Lock frees nothing
					_, err := other.Lock(name)
					refused(t, err, name, fsio.ErrLocked)
				}
			}
			require.NoError(t, lock.Close())
			again, err := twin.Lock(name)
			require.NoError(t, err)
			require.NoError(t, lock.Close(), "a second Close")
			_, err = fsys.Lock(name)
			refused(t, err, name, fsio.ErrLocked)
			require.NoError(t, again.Close())
			_, err = fsys.Stat(name)
			require.NoError(t, err, "Close of the lock removed the name")
		})
	}
	assert.Empty(t, content(t, fsys, ".lock"), "a lock file is made empty")
	list, err := fsys.ReadDir("dir")
	require.NoError(t, err)
	assert.Len(t, list, 1, "a locked directory gets no file")
	_, err = fsys.Lock("missing/.lock")
	refused(t, err, "missing/.lock", fs.ErrNotExist)
	_, err = fsys.Lock(".lock/below")
	refused(t, err, ".lock/below", syscall.ENOTDIR)
}

// TestLockKeepsContent: a file that is locked keeps its bytes, and may be read and written.
func TestLockKeepsContent(t *testing.T) {
	fsys, _ := openOS(t)
	f := create(t, fsys, "file", "content")
	lock, err := fsys.Lock("file")
	require.NoError(t, err)
	defer lock.Close()
	_, err = f.WriteAt([]byte("C"), 0)
	require.NoError(t, err)
	b := make([]byte, 7)
	_, err = f.ReadAt(b, 0)
	require.NoError(t, err)
	assert.Equal(t, "Content", string(b))
}

// TestLockOneWinner: of many that want a lock at once, one has it at a time.
func TestLockOneWinner(t *testing.T) {
	fsys, _ := openOS(t)
	var held, won atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				lock, err := fsys.Lock(".lock")
				if err != nil {
					assert.ErrorIs(t, err, fsio.ErrLocked)
					continue
				}
				assert.EqualValues(t, 1, held.Add(1), "holders at once")
				won.Add(1)
				held.Add(-1)
				assert.NoError(t, lock.Close())
			}
		})
	}
	all.Wait()
	assert.Positive(t, won.Load())
}

// jvm starts a Java virtual machine that wants the lock of a file. It returns what it says, and the end of
// it.
func jvm(t *testing.T, java, file string) (says string, end func()) {
	t.Helper()
	cmd := exec.Command(java, "-Xshare:auto", "-XX:TieredStopAtLevel=1", "testdata/Lock.java", file)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	end = sync.OnceFunc(func() {
		in.Close()
		assert.NoError(t, cmd.Wait())
	})
	t.Cleanup(end)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return line, end
}

// TestLockAgainstJVM: a broker and a store that are started on one directory exclude each other.
func TestLockAgainstJVM(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two Java virtual machines")
	}
	java, err := exec.LookPath("java")
	if err != nil {
		t.Skip("there is no java")
	}
	fsys, dir := openOS(t)
	file := filepath.Join(dir, ".lock")

	lock, err := fsys.Lock(".lock")
	require.NoError(t, err)
	says, end := jvm(t, java, file)
	assert.Equal(t, "busy\n", says, "the JVM, while the lock is held here")
	end()
	require.NoError(t, lock.Close())

	says, end = jvm(t, java, file)
	require.Equal(t, "held\n", says)
	_, err = fsys.Lock(".lock")
	refused(t, err, ".lock", fsio.ErrLocked)
	end()
	lock, err = fsys.Lock(".lock")
	require.NoError(t, err, "once the JVM has ended")
	require.NoError(t, lock.Close())
}
