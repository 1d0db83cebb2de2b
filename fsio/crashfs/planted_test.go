package crashfs_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/crashfs"
)

// quiet is a testing.TB that keeps what is said, so that a test can see an exploration fail.
type quiet struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

func (q *quiet) Error(args ...any) { q.Errorf("%s", fmt.Sprint(args...)) }

func (q *quiet) Errorf(format string, args ...any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.said = append(q.said, fmt.Sprintf(format, args...))
}

func (q *quiet) FailNow() { panic("FailNow") }

func (q *quiet) text() string { return strings.Join(q.said, "\n") }

// work fills a store of the given bug: appends, syncs, rolls, checkpoints, and a swap. Errors are not the
// end of it: it goes on as a user would, and acknowledges what the store says is durable.
func work(b bug, rounds int) func(testing.TB, *crashfs.FS) error {
	return func(_ testing.TB, fsys *crashfs.FS) error {
		s, err := openStore(fsys, b)
		if err != nil {
			return err
		}
		var errs []error
		for i := range rounds {
			errs = append(errs, s.append())
			if i%3 == 2 {
				err := s.sync()
				if err == nil {
					fsys.Ack(s.next)
				}
				errs = append(errs, err)
			}
			if i%7 == 6 {
				errs = append(errs, s.roll())
			}
			if i == 15 {
				errs = append(errs, s.swap(0))
			}
		}
		return errors.Join(append(errs, s.close())...)
	}
}

// held opens what a crash left, and holds it against what was acknowledged; then it appends a record, and
// holds it against that, too.
func held(b bug) func(testing.TB, *crashfs.FS, crashfs.History) error {
	return func(_ testing.TB, image *crashfs.FS, h crashfs.History) error {
		s, err := openStore(image, b)
		if fsio.NoRoom(err) {
			return nil // a full disk is nobody's mistake
		}
		if err != nil {
			return err
		}
		if owed := owed(h); s.next < owed {
			return errors.Join(fmt.Errorf("ends at record %d, acknowledged %d", s.next, owed), s.close())
		}
		end := s.next + 1
		if err := errors.Join(s.append(), s.sync(), s.close()); fsio.NoRoom(err) {
			end--
		} else if err != nil {
			return err
		}
		if s, err = openStore(image, b); err != nil {
			return fmt.Errorf("opened again: %w", err)
		}
		if s.next != end {
			err = fmt.Errorf("opened again it ends at record %d, want %d", s.next, end)
		}
		return errors.Join(err, s.close())
	}
}

func owed(h crashfs.History) uint64 {
	if len(h.Acks) == 0 {
		return 0
	}
	return h.Acks[len(h.Acks)-1].(uint64)
}

// failingSync fails the n-th Sync of a .log as mode says.
func failingSync(n int, mode crashfs.FsyncMode) func() fsio.Interceptor {
	return func() fsio.Interceptor {
		count := 0
		return func(op *fsio.Op, do func() error) error {
			if op.Kind == fsio.OpSync && strings.HasSuffix(op.Path, ".log") {
				if count++; count == n {
					return &crashfs.SyncError{Mode: mode, Err: syscall.EIO}
				}
			}
			return do()
		}
	}
}

// crowded is work on a disk that is full for a while: ballast is removed at half of the rounds.
func crowded(b bug) func(testing.TB, *crashfs.FS) error {
	return func(_ testing.TB, fsys *crashfs.FS) error {
		if err := writeSynced(fsys, "ballast", make([]byte, 4096)); err != nil {
			return err
		}
		s, err := openStore(fsys, b)
		if err != nil {
			return err
		}
		refused := 0
		for i := range 60 {
			if err := s.append(); err != nil {
				if refused++; refused == 2 {
					err = fsys.Remove("ballast")
				}
				if err != nil && !fsio.NoRoom(err) {
					return err
				}
				continue
			}
			if i%3 == 2 {
				if err := s.sync(); err != nil {
					return err
				}
				fsys.Ack(s.next)
			}
			if refused > 2 {
				break
			}
		}
		if refused == 0 {
			return errors.New("the disk was never full")
		}
		return s.close()
	}
}

// exploration is a way to look for bugs.
type exploration struct {
	name     string
	config   crashfs.Config
	workload func(b bug) func(testing.TB, *crashfs.FS) error
}

func explorations() []exploration {
	usual := func(b bug) func(testing.TB, *crashfs.FS) error { return work(b, 24) }
	torn := crashfs.Paranoid
	torn.Name, torn.Systematic = "torn", false
	return []exploration{
		{"crash", crashfs.Config{Policies: []crashfs.Policy{crashfs.Kill, crashfs.Lost, crashfs.Strict, torn}}, usual},
		{"failed sync", crashfs.Config{Faults: failingSync(4, crashfs.FsyncClean)}, usual},
		{"reverted sync", crashfs.Config{Faults: failingSync(4, crashfs.FsyncRevert)}, usual},
		{"full disk", crashfs.Config{Options: []crashfs.Option{crashfs.WithQuota(15 << 10)}}, crowded},
		{"crash of recovery", crashfs.Config{Depth: 2, Policies: []crashfs.Policy{crashfs.Strict}}, func(b bug) func(testing.TB, *crashfs.FS) error {
			return work(b, 16)
		}},
	}
}

// TestCrashPlanted looks for each planted bug, and finds it; and finds none in the store without one.
func TestCrashPlanted(t *testing.T) {
	bugs := []bug{
		ackEarly, pointNotSynced, pointRenamedFirst, pointInPlace, noChecksum, segmentNotNamed,
		rolledNotSynced, swapOneSync, tailKept, rewriteNotSynced, syncRetried, partKept, indexOnlyFlushed,
		indexTrusted, removesBeforeSwap, segmentBeforeFlush,
	}
	found := 0
	for _, b := range bugs {
		t.Run(string(b), func(t *testing.T) {
			for _, x := range explorations() {
				q := &quiet{TB: t}
				report := crashfs.CrashEverywhere(q, x.config, x.workload(b), held(b))
				if report.Failures == 0 {
					continue
				}
				found++
				t.Logf("%s: %d of %d images: %s", x.name, report.Failures, report.Unique, q.text())
				require.Contains(t, q.text(), "CRASHFS_REPLAY="+report.First.String())
				replayed(t, x, b, report.First, q.text())
				return
			}
			t.Error("not found")
		})
	}
	fmt.Printf("RESULT planted=%d/%d\n", found, len(bugs))
}

// replayed replays a failure.
func replayed(t *testing.T, x exploration, b bug, id crashfs.CrashID, said string) {
	t.Helper()
	if os.Getenv("CRASHFS_REPLAY") != "" {
		t.Skip("an image was asked for")
	}
	t.Setenv("CRASHFS_REPLAY", id.String())
	first := ""
	times := 100
	if testing.Short() {
		times = 2
	}
	for range times {
		q := &quiet{TB: t}
		report := crashfs.CrashEverywhere(q, x.config, x.workload(b), held(b))
		require.Equal(t, 1, report.Failures, q.text())
		if first == "" {
			first = q.text()
			require.Contains(t, said, strings.SplitN(first, "\n", 2)[1])
		}
		require.Equal(t, first, q.text())
	}
}

// TestCrashCorrect explores the store without a bug: it is never blamed.
func TestCrashCorrect(t *testing.T) {
	var total crashfs.Report
	for _, x := range explorations() {
		t.Run(x.name, func(t *testing.T) {
			report := crashfs.CrashEverywhere(t, x.config, x.workload(noBug), held(noBug))
			total.Images += report.Images
			total.Unique += report.Unique
			total.Failures += report.Failures
			total.Elapsed += report.Elapsed
		})
	}
	fmt.Printf("RESULT images=%d per_second=%.0f failures=%d\n",
		total.Images, float64(total.Images)/total.Elapsed.Seconds(), total.Failures)
}
