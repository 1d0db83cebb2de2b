package crashfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/crashfs"
)

// failing is an FS on which the first call of kind fails as mode says.
func failing(kind fsio.Kind, mode crashfs.FsyncMode) *crashfs.FS {
	armed := true
	return crashfs.New(crashfs.WithInterceptor(func(op *fsio.Op, do func() error) error {
		if armed && op.Kind == kind && op.Path != "ready" {
			armed = false
			return &crashfs.SyncError{Mode: mode, Err: syscall.EIO}
		}
		return do()
	}))
}

// TestFsyncModes is the table of what a failed Sync leaves: what the caller sees, what a reader sees, and
// what is on the disk after the next Sync, which returns nil.
func TestFsyncModes(t *testing.T) {
	for _, row := range []struct {
		name           string
		mode           crashfs.FsyncMode
		first, second  error
		reads, evicted string
		disk           string
	}{
		{"keep", crashfs.FsyncKeep, syscall.EIO, nil, "new", "new", "f=new"},
		{"clean", crashfs.FsyncClean, syscall.EIO, nil, "new", "\x00\x00\x00", "f=..."},
		{"revert", crashfs.FsyncRevert, syscall.EIO, nil, "", "", "f="},
		{"late", crashfs.FsyncLate, nil, syscall.EIO, "new", "\x00\x00\x00", "f=..."},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys := failing(fsio.OpSync, row.mode)
			f := open(t, fsys, "f")
			require.NoError(t, fsys.SyncDir("."))
			write(t, f, "new", 0)
			m, err := f.Map(3, fsio.ReadOnly)
			require.NoError(t, err)
			require.NoError(t, m.View(0, 3, fsio.ViewFunc(func([]byte) error { return nil })))

			err = f.Sync()
			require.ErrorIs(t, err, row.first)
			require.Equal(t, row.first != nil, errorAs[*crashfs.SyncError](err) != nil)
			require.Equal(t, row.reads, content(t, f))
			require.ErrorIs(t, f.Sync(), row.second)
			require.NoError(t, f.Sync())
			fsys.Ack("something")
			fsys.Evict("**/f")
			require.Equal(t, row.evicted, content(t, f))
			if row.evicted != "" {
				require.NoError(t, m.View(0, 3, fsio.ViewFunc(func(b []byte) error {
					require.Equal(t, row.evicted, string(bytes.Clone(b)), "through a Map")
					return nil
				})))
			}
			require.Equal(t, map[string]bool{row.disk: true}, images(t, fsys, crashfs.Strict))
		})
	}
}

// TestSyncErrors: the names that rules use.
func TestSyncErrors(t *testing.T) {
	for name, mode := range map[string]crashfs.FsyncMode{
		"fsync-keep": crashfs.FsyncKeep, "fsync-clean": crashfs.FsyncClean, "fsync-revert": crashfs.FsyncRevert, "fsync-late": crashfs.FsyncLate,
	} {
		err := crashfs.SyncErrors()[name]
		require.ErrorIs(t, err, syscall.EIO)
		require.Equal(t, mode, errorAs[*crashfs.SyncError](err).Mode)
		require.Equal(t, syscall.EIO.Error(), err.Error())
	}
	require.Len(t, crashfs.SyncErrors(), 4)
}

func TestFsyncCleanIsToldOnceToEachFile(t *testing.T) {
	fsys := failing(fsio.OpSync, crashfs.FsyncClean)
	a, b := open(t, fsys, "f"), open(t, fsys, "f")
	write(t, a, "x", 0)
	require.ErrorIs(t, a.Sync(), syscall.EIO)
	require.NoError(t, a.Sync())
	require.ErrorIs(t, b.Sync(), syscall.EIO)
	require.NoError(t, b.Sync())
	require.NoError(t, open(t, fsys, "f").Sync(), "opened afterwards")
}

func TestFsyncCleanWithoutAFile(t *testing.T) {
	fsys := failing(fsio.OpMapFlush, crashfs.FsyncClean)
	f := open(t, fsys, "f")
	require.NoError(t, f.Allocate(10))
	m, err := f.Map(10, fsio.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = m.WriteAt([]byte("x"), 0)
	require.NoError(t, err)
	require.ErrorIs(t, m.Flush(0, 1), syscall.EIO)
	require.ErrorIs(t, open(t, fsys, "f").Sync(), syscall.EIO, "the next one opened")
	require.NoError(t, open(t, fsys, "f").Sync(), "the one after it")
}

func TestFsyncRevertOfADirectory(t *testing.T) {
	fsys := failing(fsio.OpSyncDir, crashfs.FsyncRevert)
	require.ErrorIs(t, fsys.SyncDir("."), syscall.EIO) // disarmed
	durable(t, fsys, "a", "a")
	durable(t, fsys, "b", "b")
	fsys = reverting(t, fsys)
	require.NoError(t, fsys.Rename("a", "c"))
	require.NoError(t, fsys.Remove("b"))
	open(t, fsys, "d")
	require.Equal(t, "c=a d=", show(t, fsys))
	require.ErrorIs(t, fsys.SyncDir("."), syscall.EIO)
	require.Equal(t, "a=a b=b", show(t, fsys))
	require.NoError(t, fsys.SyncDir("."))
	require.Equal(t, map[string]bool{"a=a b=b": true}, images(t, fsys, crashfs.Strict))
}

// reverting is an FS with the files of another, on which the third SyncDir is reverted.
func reverting(t *testing.T, from *crashfs.FS) *crashfs.FS {
	t.Helper()
	n := 0
	fsys := crashfs.New(crashfs.WithInterceptor(func(op *fsio.Op, do func() error) error {
		if op.Kind == fsio.OpSyncDir {
			if n++; n == 3 {
				return &crashfs.SyncError{Mode: crashfs.FsyncRevert, Err: syscall.EIO}
			}
		}
		return do()
	}))
	for word := range strings.FieldsSeq(show(t, from)) {
		name, text, _ := strings.Cut(word, "=")
		durable(t, fsys, name, text)
	}
	return fsys
}

// TestLies: what was acknowledged behind a sync that was claimed only is not owed.
func TestLies(t *testing.T) {
	lie := func(op *fsio.Op, do func() error) error {
		if op.Kind == fsio.OpSync {
			return nil
		}
		return do()
	}
	crashfs.CrashEverywhere(t, crashfs.Config{Faults: func() fsio.Interceptor { return lie }},
		func(_ testing.TB, fsys *crashfs.FS) error {
			fsys.Ack("before")
			f := open(t, fsys, "f")
			write(t, f, "x", 0)
			err := f.Sync()
			fsys.Ack("after")
			fsys.Note("the end")
			return errors.Join(err, f.Close())
		},
		func(_ testing.TB, _ *crashfs.FS, h crashfs.History) error {
			if len(h.Acks) > 1 || len(h.Notes) > len(h.Unprotected) {
				return errors.New("a lie was believed")
			}
			return nil
		})
}

func TestQuota(t *testing.T) {
	fsys := crashfs.New(crashfs.WithQuota(2048))
	f := open(t, fsys, "f")
	n, err := f.WriteAt(make([]byte, 3000), 100)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, 1948, n)
	require.ErrorIs(t, f.Allocate(3000), syscall.ENOSPC)
	size, err := f.Size()
	require.NoError(t, err)
	require.EqualValues(t, 2048, size)
	require.NoError(t, f.Truncate(512))
	require.NoError(t, f.Truncate(8192))

	m, err := f.Map(8192, fsio.ReadWrite)
	require.NoError(t, err)
	_, err = m.WriteAt(make([]byte, 1536), 4096)
	require.NoError(t, err)
	_, err = m.WriteAt([]byte("x"), 7000)
	require.ErrorIs(t, err, syscall.ENOSPC, "a store to a hole")
	require.NotNil(t, errorAs[*fsio.FaultError](err))

	require.NoError(t, f.Sync())
	image := fsys.CrashClone(1, crashfs.Kill)
	_, err = open(t, image, "g").WriteAt([]byte("x"), 0)
	require.ErrorIs(t, err, syscall.ENOSPC, "an image has the room that its origin had")
	require.NoError(t, image.Remove("f"))
	_, err = open(t, image, "g").WriteAt([]byte("x"), 0)
	require.NoError(t, err, "what was removed is free")

	require.NoError(t, fsys.Remove("f"))
	_, err = open(t, fsys, "g").WriteAt([]byte("x"), 0)
	require.ErrorIs(t, err, syscall.ENOSPC, "a removed file that is open keeps its blocks")
	require.NoError(t, errors.Join(m.Close(), f.Close()))
	_, err = open(t, fsys, "g").WriteAt([]byte("x"), 0)
	require.NoError(t, err)
}

func errorAs[E error](err error) E {
	e, _ := errors.AsType[E](err)
	return e
}

func TestCorrupt(t *testing.T) {
	fsys := crashfs.New()
	f := open(t, fsys, "f")
	write(t, f, "abc", 0)
	require.NoError(t, errors.Join(f.Sync(), fsys.SyncDir(".")))
	write(t, f, "ABC", 0)
	require.NoError(t, fsys.Corrupt("f", 1, 1))
	require.Equal(t, "ACC", content(t, f))
	require.Equal(t, map[string]bool{"f=acc": true, "f=ACC": true}, images(t, fsys, crashfs.Strict))
	require.ErrorIs(t, fsys.Corrupt("f", 3, 1), fs.ErrInvalid)
	require.ErrorIs(t, fsys.Corrupt("g", 0, 1), fs.ErrNotExist)
}

func TestDigest(t *testing.T) {
	a, b := crashfs.New(), crashfs.New()
	durable(t, a, "f", "text")
	write(t, open(t, b, "f"), "text", 0)
	require.Equal(t, a.Digest(), b.Digest())
	require.NoError(t, b.Rename("f", "g"))
	require.NotEqual(t, a.Digest(), b.Digest())
	require.NoError(t, b.Rename("g", "f"))
	require.NoError(t, open(t, b, "f").Truncate(5))
	require.NotEqual(t, a.Digest(), b.Digest())
}

// TestCrashFreesLocks: an image has the file of a lock, and no lock.
func TestCrashFreesLocks(t *testing.T) {
	fsys := crashfs.New()
	l, err := fsys.Lock(".lock")
	require.NoError(t, err)
	defer l.Close()
	for _, image := range []*crashfs.FS{fsys.CrashClone(1, crashfs.Kill), fsys.CrashClone(1, crashfs.Strict)} {
		again, err := image.Lock(".lock")
		require.NoError(t, err)
		require.NoError(t, again.Close())
	}
	_, err = fsys.Lock(".lock")
	require.ErrorIs(t, err, fsio.ErrLocked)
}

func TestWithoutJournal(t *testing.T) {
	fsys := crashfs.New(crashfs.WithoutJournal())
	require.NoError(t, fsys.MkdirAll("d", 0o755))
	write(t, open(t, fsys, "d/f"), "text", 0)
	require.Zero(t, fsys.Step())
	require.Equal(t, map[string]bool{"d/ d/f=text": true}, images(t, fsys, crashfs.Strict))
	image := fsys.CrashClone(1, crashfs.Lost)
	write(t, open(t, image, "d/f"), "T", 0)
	require.Equal(t, "d/ d/f=text", show(t, fsys))
	require.Equal(t, "d/ d/f=Text", show(t, image))
}

// TestCloneGoesItsOwnWay: an FS and its images do not disturb each other.
func TestCloneGoesItsOwnWay(t *testing.T) {
	fsys := crashfs.New()
	durable(t, fsys, "f", strings.Repeat("a", 10_000))
	image := fsys.CrashClone(1, crashfs.Kill)
	other := fsys.CrashClone(2, crashfs.Kill)
	write(t, open(t, fsys, "f"), "b", 5000)
	write(t, open(t, image, "f"), "c", 5000)
	g := open(t, image, "g")
	write(t, g, "new", 0)
	require.NoError(t, g.Sync())
	again := image.CrashClone(1, crashfs.Kill)
	for name, want := range map[*crashfs.FS]string{fsys: "b", image: "c", other: "a", again: "c"} {
		b := make([]byte, 1)
		_, err := open(t, name, "f").ReadAt(b, 5000)
		require.NoError(t, err)
		require.Equal(t, want, string(b))
	}
	_, err := open(t, fsys, "f").ReadAt(make([]byte, 1), 10_000)
	require.ErrorIs(t, err, io.EOF)
}

// TestFsyncCleanIsNotTheCut has a check fail for bytes that a failed sync threw away, where the power cut itself
// takes nothing: the report blames the sync.
func TestFsyncCleanIsNotTheCut(t *testing.T) {
	q := &quiet{TB: t}
	report := crashfs.CrashEverywhere(q, crashfs.Config{
		Faults: failingSync(1, crashfs.FsyncClean), Policies: []crashfs.Policy{crashfs.Kill},
	}, func(tb testing.TB, fsys *crashfs.FS) error {
		f := open(tb, fsys, "a.log")
		write(tb, f, "new", 0)
		if err := f.Sync(); err == nil {
			return errors.New("the sync did not fail")
		}
		fsys.Ack("believed all the same")
		return f.Close()
	}, func(tb testing.TB, fsys *crashfs.FS, h crashfs.History) error {
		if len(h.Acks) == 0 {
			return nil
		}
		if got := content(tb, open(tb, fsys, "a.log")); got != "new" {
			return errors.New("the bytes are gone")
		}
		return nil
	})
	require.Positive(t, report.Failures)
	require.Contains(t, q.text(), "the power cut takes nothing: all is there but what a failed sync threw away\n")
	require.NotContains(t, q.text(), "lost: ")
}
