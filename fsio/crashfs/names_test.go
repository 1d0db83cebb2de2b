package crashfs_test

import (
	"fmt"
	"math"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/crashfs"
	"github.com/stratalog/strata/fsio/faultfs"
)

// every is the policy of all states of names.
var every = crashfs.Policy{Name: "every", Data: crashfs.DataKept, Dir: crashfs.DirUnordered, ExhaustUpTo: 1 << 16, Random: -1}

// TestNeverTwoNames moves a file between directories, syncing some of them: no image has it twice, and none has
// it again once its removal is durable.
func TestNeverTwoNames(t *testing.T) {
	names := []string{"a/x", "a/y", "b/x", "b/y"}
	for script := range 256 {
		fsys := crashfs.New()
		for _, dir := range []string{"a", "b"} {
			require.NoError(t, fsys.MkdirAll(dir, 0o755))
		}
		require.NoError(t, fsys.SyncDir("."))
		at := names[script&3]
		require.NoError(t, writeSynced(fsys, at, []byte("it")))
		log := "create " + at
		for move := range 3 {
			to := names[script>>(2*move)&3]
			require.NoError(t, fsys.Rename(at, to))
			at = to
			log += ", to " + at
			if dir := [...]string{"", "", "a", "b"}[script>>(2+2*move)&3]; dir != "" {
				require.NoError(t, fsys.SyncDir(dir))
				log += ", sync " + dir
			}
			for id, image := range fsys.CrashClones(1, every) {
				require.LessOrEqual(t, len(found(t, image, names)), 1, "%s: %s", log, id)
			}
		}
		require.NoError(t, fsys.SyncDir(at[:1]))
		for id, image := range fsys.CrashClones(1, every) {
			require.Equal(t, []string{at}, found(t, image, names), "%s, sync %s: %s", log, at[:1], id)
		}
		require.NoError(t, fsys.Remove(at))
		require.NoError(t, fsys.SyncDir(at[:1]))
		for id, image := range fsys.CrashClones(1, every) {
			require.Empty(t, found(t, image, names), "%s, removed: %s", log, id)
		}
	}
}

// found is which of the names there are.
func found(tb testing.TB, fsys fsio.FS, names []string) (found []string) {
	tb.Helper()
	for _, name := range names {
		if _, err := fsys.Stat(name); err == nil {
			found = append(found, name)
		}
	}
	return found
}

// TestManyRenames: a file that is renamed again and again without a sync costs no more for each rename before.
func TestManyRenames(t *testing.T) {
	for _, name := range []func(i int) string{
		func(i int) string { return fmt.Sprint("f", i%2) },
		func(i int) string { return fmt.Sprint("f", i) },
	} {
		fsys := crashfs.New()
		require.NoError(t, writeSynced(fsys, name(0), []byte("x")))
		const renames = 1 << 12
		for i := range renames {
			require.NoError(t, fsys.Rename(name(i), name(i+1)))
		}
		for seed := range uint64(8) {
			entries, err := fsys.CrashClone(seed, crashfs.Strict).ReadDir(".")
			require.NoError(t, err)
			require.LessOrEqual(t, len(entries), 1)
		}
	}
}

// TestMistakes: what cannot be is refused at once, by its name.
func TestMistakes(t *testing.T) {
	fsys := crashfs.New()
	for _, row := range []struct {
		want string
		do   func()
	}{
		{"crashfs: an interceptor that is nil", func() { crashfs.New(crashfs.WithInterceptor(nil)) }},
		{"crashfs: a quota of -1 bytes", func() { crashfs.New(crashfs.WithQuota(-1)) }},
		{"crashfs: a sector of 0 bytes is no power of two", func() { crashfs.New(crashfs.WithSectorSize(0)) }},
		{"crashfs: a sector of 513 bytes is no power of two", func() { crashfs.New(crashfs.WithSectorSize(513)) }},
		{"crashfs: a page of 4096 bytes is no multiple of a sector of 8192", func() { crashfs.New(crashfs.WithSectorSize(8192)) }},
		{`crashfs: policy "": no such mode`, func() { fsys.CrashClone(1, crashfs.Policy{Data: 77}) }},
		{`crashfs: policy "": a negative count`, func() { fsys.CrashClones(1, crashfs.Policy{ExhaustUpTo: -1}) }},
		{`crashfs: policy "": NoPSOW without DataTorn`, func() { fsys.CrashClone(1, crashfs.Policy{NoPSOW: true}) }},
		{"crashfs: glob [: syntax error in pattern", func() { fsys.Evict("[") }},
	} {
		func() {
			defer func() { require.Equal(t, row.want, fmt.Sprint(recover())) }()
			row.do()
		}()
	}
	require.NotPanics(t, func() { fsys.CrashClone(1, crashfs.Policy{}) })
	require.ErrorIs(t, fsys.Corrupt("none", 0, 1), os.ErrNotExist)
}

// TestSyncErrorOfNothing: an order without an error is EIO, and one for no known mode says so.
func TestSyncErrorOfNothing(t *testing.T) {
	for _, row := range []struct {
		e    *crashfs.SyncError
		want string
	}{
		{&crashfs.SyncError{Mode: crashfs.FsyncClean}, syscall.EIO.Error()},
		{&crashfs.SyncError{Mode: 9}, "crashfs: no FsyncMode 9"},
	} {
		faults := faultfs.New(1, faultfs.On(fsio.OpSync).Nth(1).Fail(row.e))
		fsys := crashfs.New(crashfs.WithInterceptor(faults.Intercept))
		err := open(t, fsys, "f").Sync()
		require.ErrorIs(t, err, syscall.EIO)
		require.ErrorContains(t, err, row.want)
	}
}

// TestHugeFiles: positions up to the largest are positions like others.
func TestHugeFiles(t *testing.T) {
	const largest = 16<<40 - 4096
	fsys := crashfs.New(crashfs.WithQuota(1 << 20))
	f := open(t, fsys, "f")
	for _, off := range []int64{0, 1<<28 - 1, 1 << 28, 1<<31 - 1, 1 << 32, 1 << 40, largest - 2} {
		write(t, f, "xy", off)
	}
	n, err := f.WriteAt([]byte("xy"), largest-1)
	require.Equal(t, 1, n)
	require.ErrorIs(t, err, syscall.EFBIG)
	_, err = f.WriteAt([]byte("xy"), math.MaxInt64-1)
	require.ErrorIs(t, err, syscall.EFBIG)
	require.ErrorIs(t, f.Truncate(largest+1), syscall.EFBIG)
	require.ErrorIs(t, f.Allocate(largest), syscall.ENOSPC)
	for _, p := range []crashfs.Policy{crashfs.Kill, crashfs.Lost, crashfs.Ext4, crashfs.Strict, crashfs.Paranoid} {
		image := fsys.CrashClone(1, p)
		if info, err := image.Stat("f"); err == nil {
			require.LessOrEqual(t, info.Size(), int64(largest))
		}
	}
	require.NoError(t, f.Sync())
	b := make([]byte, 2)
	image := open(t, fsys.CrashClone(1, crashfs.Policy{Dir: crashfs.DirKept}), "f")
	_, err = image.ReadAt(b, 1<<40)
	require.NoError(t, err)
	require.Equal(t, "xy", string(b))
	require.NoError(t, f.Close())
}
