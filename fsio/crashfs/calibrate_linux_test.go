package crashfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/crashfs"
)

// calibrateVariable asks for all filesystems, all ways to mount them and all nudges, which take minutes. Without
// it a part that takes seconds is done.
const calibrateVariable = "CRASHFS_CALIBRATE"

// kernelFS is a filesystem of the kernel and a way to mount it.
type kernelFS struct {
	typ, options string
	bytes        int64
	mkfs         []string
	without      []string // scenarios that are not for it
}

// kernels are the filesystems to compare with. A long commit interval keeps the journal's clock out of it.
//
// With data=writeback ext4 brings bytes back that were cut off, when the file has grown over them before a sync
// (seen), as its manual warns. That is less than what the contract of fsio asks of a disk, so the scenarios that cut
// and grow are not held against it.
var kernels = []kernelFS{
	{"ext4", "commit=1000", 16 << 20, mkfsExt4, nil},
	{"ext4", "commit=1000,nodelalloc", 16 << 20, mkfsExt4, nil},
	{"ext4", "commit=1000,noauto_da_alloc", 16 << 20, mkfsExt4, nil},
	{"ext4", "commit=1000,data=journal", 16 << 20, mkfsExt4, nil},
	{"ext4", "commit=1000,data=writeback", 16 << 20, mkfsExt4, []string{"cut", "cut and grown"}},
	{"xfs", "defaults", 320 << 20, []string{"mkfs.xfs", "-q", "-f"}, nil},
	{"btrfs", "commit=300", 160 << 20, []string{"mkfs.btrfs", "-q", "-f"}, nil},
}

var mkfsExt4 = []string{"mkfs.ext4", "-q", "-F", "-b", "4096"}

// nudges make the kernel write some of what it holds back before the image is copied: chosen parts reach the
// disk that no sync has asked for.
var nudges = []struct {
	name string
	make func(tb testing.TB, mount string)
}{
	{"as it is", func(testing.TB, string) {}},
	{"bytes written", writeBytes},
	{"first pages written", writeFirstPages},
	{"journal written", writeJournal},
	{"bytes, then journal written", func(tb testing.TB, mount string) {
		writeBytes(tb, mount)
		writeJournal(tb, mount)
	}},
}

// TestCrashCalibration runs each scenario on a filesystem of the kernel in an image of a disk, cuts it after
// every call by copying the image, mounts the copy, and looks for what it finds among the images that Strict
// gives for the same calls.
func TestCrashCalibration(t *testing.T) {
	if testing.Short() {
		t.Skip("mounts hundreds of disks")
	}
	all := os.Getenv(calibrateVariable) != ""
	kernels, nudges := kernels, nudges
	if !all {
		kernels, nudges = kernels[:1], nudges[len(nudges)-1:]
	}
	checked, refused := 0, 0
	for _, k := range kernels {
		template, err := k.format(scratch(t))
		if err != nil {
			fmt.Printf("no calibration on %s here: %v\n", k.typ, err)
			continue
		}
		for name, steps := range scenarios {
			if slices.Contains(k.without, name) {
				continue
			}
			want := admitted(t, steps)
			for _, n := range nudges {
				t.Run(fmt.Sprintf("%s %s/%s/%s", k.typ, k.options, name, n.name), func(t *testing.T) {
					for step, got := range k.observe(t, template, steps, n.make) {
						checked++
						if !want[step][got] {
							refused++
							t.Errorf("after %d calls the disk has %q, and Strict has none of %d images like it: %q",
								step, got, len(want[step]), slices.Sorted(maps.Keys(want[step])))
						}
					}
				})
			}
		}
	}
	if checked == 0 {
		t.Skip("it takes root, loop devices and mkfs.ext4")
	}
	fmt.Printf("RESULT calibrated=%d refused=%d\n", checked, refused)
}

// admitted is, for each number of calls, what Strict says that a power cut may leave.
func admitted(tb testing.TB, steps []step) (sets []map[string]bool) {
	tb.Helper()
	exact := crashfs.Strict
	exact.ExhaustUpTo, exact.Random = 1<<14, -1
	fsys := crashfs.New()
	run(tb, fsys, steps, func() { sets = append(sets, images(tb, fsys, exact)) })
	return sets
}

// observe is, for each number of calls, what the kernel's filesystem has after a cut.
func (k kernelFS) observe(tb testing.TB, template string, steps []step, nudge func(testing.TB, string)) (seen []string) {
	tb.Helper()
	dir := scratch(tb)
	disk, at := filepath.Join(dir, "disk"), filepath.Join(dir, "at")
	require.NoError(tb, os.Mkdir(at, 0o755))
	takeSnapshot(tb, template).write(tb, disk)
	unmount, err := k.mount(disk, at)
	require.NoError(tb, err)
	var cuts []string // the name of the copy after each call
	var last snapshot
	func() {
		defer func() { assert.NoError(tb, unmount()) }()
		withRoot(tb, at, func(fsys fsio.FS) {
			run(tb, fsys, steps, func() {
				nudge(tb, at)
				now := takeSnapshot(tb, disk)
				if !now.equal(last) {
					last = now
					now.write(tb, fmt.Sprint(disk, len(cuts)))
					cuts = append(cuts, fmt.Sprint(disk, len(cuts)))
				} else { // nothing was written meanwhile
					cuts = append(cuts, cuts[len(cuts)-1])
				}
			})
		})
	}()
	for i, cut := range cuts { // after the original is gone: some filesystems bear no twin beside it
		if i > 0 && cut == cuts[i-1] {
			seen = append(seen, seen[i-1])
			continue
		}
		unmount, err := k.mount(cut, at)
		require.NoError(tb, err)
		withRoot(tb, at, func(fsys fsio.FS) { seen = append(seen, show(tb, fsys)) })
		require.NoError(tb, unmount())
	}
	return seen
}

// scratch is a folder in memory where there is one: an unmount has the image synced, again and again.
func scratch(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "calibrate-") //nolint:usetesting // TempDir is on a disk
	if err != nil {
		return tb.TempDir()
	}
	tb.Cleanup(func() { assert.NoError(tb, os.RemoveAll(dir)) })
	return dir
}

// withRoot calls f with the folder of a mounted filesystem that the scenarios have for themselves.
func withRoot(tb testing.TB, at string, f func(fsys fsio.FS)) {
	tb.Helper()
	fsys, err := fsio.OS(filepath.Join(at, "root"))
	require.NoError(tb, err)
	defer func() { assert.NoError(tb, fsys.Close()) }()
	f(fsys)
}

// format makes an empty filesystem with the folder for the scenarios, and returns its image.
func (k kernelFS) format(dir string) (image string, err error) {
	if os.Geteuid() != 0 {
		return "", errors.New("not root")
	}
	mkfs, err := exec.LookPath(k.mkfs[0])
	if err != nil {
		return "", err
	}
	image, at := filepath.Join(dir, "template"), filepath.Join(dir, "at")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, k.bytes), os.Mkdir(at, 0o755)); err != nil {
		return "", err
	}
	if err := command(mkfs, append(k.mkfs[1:len(k.mkfs):len(k.mkfs)], image)...); err != nil {
		return "", err
	}
	unmount, err := k.mount(image, at)
	if err != nil {
		return "", err
	}
	return image, errors.Join(os.Mkdir(filepath.Join(at, "root"), 0o755), unmount())
}

// mount mounts an image by a loop device, which goes with the mount.
func (k kernelFS) mount(image, at string) (unmount func() error, err error) {
	if err := command("mount", "-t", k.typ, "-o", "loop,"+k.options, image, at); err != nil {
		return nil, err
	}
	return func() error { return command("umount", at) }, nil
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// snapshot is the content of an image, without its holes.
type snapshot struct {
	size    int64
	extents []extent
}

type extent struct {
	off  int64
	data []byte
}

// takeSnapshot reads what the loop device has written so far.
func takeSnapshot(tb testing.TB, name string) (s snapshot) {
	tb.Helper()
	f, err := os.Open(name)
	require.NoError(tb, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(tb, err)
	s.size = info.Size()
	for end := int64(0); ; {
		off, err := unix.Seek(int(f.Fd()), end, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return s
		}
		require.NoError(tb, err)
		end, err = unix.Seek(int(f.Fd()), off, unix.SEEK_HOLE)
		require.NoError(tb, err)
		data := make([]byte, end-off)
		_, err = f.ReadAt(data, off)
		require.NoError(tb, err)
		s.extents = append(s.extents, extent{off, data})
	}
}

func (s snapshot) equal(other snapshot) bool {
	return s.size == other.size && slices.EqualFunc(s.extents, other.extents, func(a, b extent) bool {
		return a.off == b.off && bytes.Equal(a.data, b.data)
	})
}

// write makes an image of s.
func (s snapshot) write(tb testing.TB, name string) {
	tb.Helper()
	f, err := os.Create(name)
	require.NoError(tb, err)
	require.NoError(tb, f.Truncate(s.size))
	for _, e := range s.extents {
		_, err := f.WriteAt(e.data, e.off)
		require.NoError(tb, err)
	}
	require.NoError(tb, f.Close())
}

// eachFile opens every file of the scenarios on the kernel's filesystem.
func eachFile(tb testing.TB, mount string, f func(file *os.File)) {
	tb.Helper()
	require.NoError(tb, filepath.WalkDir(filepath.Join(mount, "root"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		f(file)
		return file.Close()
	}))
}

const writeNow = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER

// writeBytes has the bytes of all files written, without their sizes and names.
func writeBytes(tb testing.TB, mount string) {
	tb.Helper()
	eachFile(tb, mount, func(file *os.File) {
		require.NoError(tb, unix.SyncFileRange(int(file.Fd()), 0, 0, writeNow))
	})
}

// writeFirstPages has the first page of all files written, and not the rest.
func writeFirstPages(tb testing.TB, mount string) {
	tb.Helper()
	eachFile(tb, mount, func(file *os.File) {
		require.NoError(tb, unix.SyncFileRange(int(file.Fd()), 0, 4096, writeNow))
	})
}

// writeJournal has names and sizes written, by the sync of a file that has nothing to do with the others.
func writeJournal(tb testing.TB, mount string) {
	tb.Helper()
	f, err := os.OpenFile(filepath.Join(mount, "elsewhere"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	require.NoError(tb, err)
	_, err = f.WriteString("more")
	require.NoError(tb, errors.Join(err, f.Sync(), f.Close()))
}
