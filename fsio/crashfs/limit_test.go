package crashfs_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/crashfs"
)

// waits is a function that does not return before the test is over.
func waits() (wait func() error, end func()) {
	over := make(chan struct{})
	return func() error {
		<-over
		return nil
	}, func() { close(over) }
}

// TestCrashLimit: what does not return is reported, with the place, and is the last thing that is tried. The
// time is that of a bubble: none of these tests waits.
func TestCrashLimit(t *testing.T) {
	good := work(noBug, 6)
	synced := func(h crashfs.History) bool { return len(h.Acks) == 2 }
	for _, row := range []struct {
		name  string
		limit time.Duration
		run   func(tb testing.TB, config crashfs.Config, wait func() error) crashfs.Report
		after time.Duration
		want  []string
	}{
		{
			"a workload", 0, func(tb testing.TB, config crashfs.Config, wait func() error) crashfs.Report {
				return crashfs.CrashEverywhere(tb, config, func(_ testing.TB, fsys *crashfs.FS) error {
					return errors.Join(writeSynced(fsys, "f", []byte("x")), wait())
				}, fine)
			},
			5 * time.Minute,
			[]string{`the workload did not return; it was at step 3, after "sync of inode 2`, "not done after 5m0s", "limit_test.go"},
		}, {
			"a check", 5 * time.Millisecond, func(tb testing.TB, config crashfs.Config, wait func() error) crashfs.Report {
				return crashfs.CrashEverywhere(tb, config, good, func(_ testing.TB, _ *crashfs.FS, h crashfs.History) error {
					if synced(h) {
						return wait()
					}
					return nil
				})
			},
			5 * time.Millisecond,
			[]string{"check did not return on an image, and the exploration ended there\nCRASHFS_REPLAY=kill,", "not done after 5ms", "limit_test.go"},
		}, {
			"a check, after it failed", 5 * time.Millisecond, func(tb testing.TB, config crashfs.Config, wait func() error) crashfs.Report {
				return crashfs.CrashEverywhere(tb, config, good, func(_ testing.TB, _ *crashfs.FS, h crashfs.History) error {
					if synced(h) {
						return wait()
					}
					return fmt.Errorf("not yet, at step %d", h.Step)
				})
			},
			5 * time.Millisecond,
			[]string{"check did not return on an image", "check failed on", "not yet, at step 0"},
		}, {
			"a check of a crashed recovery", 5 * time.Millisecond, func(tb testing.TB, config crashfs.Config, wait func() error) crashfs.Report {
				config.Depth = 2
				return crashfs.CrashEverywhere(tb, config, good, func(_ testing.TB, image *crashfs.FS, h crashfs.History) error {
					if strings.Contains(show(t, image), "again") {
						return wait()
					}
					return errors.Join(writeSynced(image, "again", nil), image.SyncDir("."))
				})
			},
			5 * time.Millisecond,
			[]string{"check did not return on an image", "CRASHFS_REPLAY=kill,0,rand,1/kill,"},
		}, {
			"a workload that tries again for ever", time.Second, func(tb testing.TB, config crashfs.Config, wait func() error) crashfs.Report {
				return crashfs.FailEverywhere(tb, config, fsio.OpSync, []error{syscall.EIO}, func(_ testing.TB, fsys *crashfs.FS) error {
					f, err := fsys.OpenFile("f", os.O_RDWR|os.O_CREATE, 0o644)
					if err != nil {
						return err
					}
					for err := f.Sync(); err != nil; err = f.Sync() {
						time.Sleep(time.Millisecond)
						if wait() == nil {
							return err
						}
					}
					return nil
				}, nothing)
			},
			time.Second,
			[]string{`the workload did not return where call 1, sync of f, failed with "input/output error"; it was at step 1`, "CRASHFS_REPLAY=1:once:0/kill,1,now,0 go test -run"},
		}, {
			"a check of what a failure left", time.Second, func(tb testing.TB, config crashfs.Config, wait func() error) crashfs.Report {
				return crashfs.FailEverywhere(tb, config, fsio.OpSync, nil, good, func(_ testing.TB, _ *crashfs.FS, _ crashfs.History, failed fsio.Op) error {
					if failed.Path == "s/0.log" {
						return wait()
					}
					return nil
				})
			},
			time.Second,
			[]string{`check did not return on an image where call 1, sync of s/0.log, failed with "input/output error"`, "CRASHFS_REPLAY=1:once:0/kill,"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &quiet{TB: t}
				wait, end := waits()
				defer end()
				start := time.Now()
				report := row.run(q, crashfs.Config{Limit: row.limit, Parallel: 1}, wait)
				require.Equal(t, row.after, time.Since(start), "no call but one waits")
				require.Equal(t, report.Failures > 0, report.First.Policy != "")
				for _, want := range row.want {
					require.Contains(t, q.text(), want)
				}
			})
		})
	}
}

// TestCrashLimitParallel: where several checks are on their way, none begins after one that did not return.
func TestCrashLimitParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait, end := waits()
		defer end()
		q, start := &quiet{TB: t}, time.Now()
		report := crashfs.CrashEverywhere(q, crashfs.Config{Limit: time.Second, Parallel: 3}, work(noBug, 6),
			func(testing.TB, *crashfs.FS, crashfs.History) error { return wait() })
		require.Equal(t, time.Second, time.Since(start))
		require.LessOrEqual(t, report.Unique, 3)
		require.Equal(t, report.Unique, report.Failures)
	})
}

// TestCrashLimitNone: a negative limit is none.
func TestCrashLimitNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		crashfs.CrashEverywhere(t, crashfs.Config{Limit: -1, Parallel: 1}, func(testing.TB, *crashfs.FS) error {
			time.Sleep(24 * time.Hour)
			return nil
		}, fine)
		require.Equal(t, 24*time.Hour, time.Since(start))
	})
}

// TestCrashLimitReplayed: the id of a check that did not return is replayed, and does not return.
func TestCrashLimitReplayed(t *testing.T) {
	t.Setenv("CRASHFS_REPLAY", "kill,4,lost,1")
	synctest.Test(t, func(t *testing.T) {
		wait, end := waits()
		defer end()
		q := &quiet{TB: t}
		crashfs.CrashEverywhere(q, crashfs.Config{Limit: time.Second}, work(noBug, 6),
			func(testing.TB, *crashfs.FS, crashfs.History) error { return wait() })
		require.Contains(t, q.text(), "replayed kill,4,lost,1: check did not return\nnot done after 1s")
	})
}

// TestCrashSteps: a loop that writes for ever is told before it has taken all memory.
func TestCrashSteps(t *testing.T) {
	flood := func(fsys *crashfs.FS) error {
		f, err := fsys.OpenFile("f", os.O_RDWR|os.O_CREATE, 0o644)
		for err == nil {
			_, err = f.WriteAt([]byte("x"), 0)
		}
		return errors.Join(err, f.Close())
	}
	flooded := func(_ testing.TB, fsys *crashfs.FS) error { return flood(fsys) }
	config := crashfs.Config{Steps: 1000, Policies: []crashfs.Policy{crashfs.Kill}}
	for _, row := range []struct {
		name string
		run  func(tb testing.TB)
		want string
	}{
		{"a workload", func(tb testing.TB) { crashfs.CrashEverywhere(tb, config, flooded, fine) }, "the workload made too many steps at step 1000: it made 1000 steps"},
		{"a check", func(tb testing.TB) {
			crashfs.CrashEverywhere(tb, config, work(noBug, 6), func(_ testing.TB, image *crashfs.FS, _ crashfs.History) error { return flood(image) })
		}, "check made too many steps on"},
		{"a workload of which nothing fails", func(tb testing.TB) {
			crashfs.FailEverywhere(tb, config, fsio.OpSync, nil, flooded, nothing)
		}, "the workload made too many steps at step 1000"},
		{"a workload of which something fails", func(tb testing.TB) {
			crashfs.FailEverywhere(tb, config, fsio.OpSync, []error{syscall.EIO}, func(tb testing.TB, fsys *crashfs.FS) error {
				if work(noBug, 6)(tb, fsys) != nil {
					return flood(fsys)
				}
				return nil
			}, nothing)
		}, `the workload made too many steps where call 1, sync of s/0.log, failed with "input/output error" at step 1000`},
		{"not even one", func(tb testing.TB) {
			crashfs.CrashEverywhere(tb, crashfs.Config{Steps: -1}, flooded, fine)
		}, "-1 steps are none"},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := &quiet{TB: t}
			row.run(q)
			require.Contains(t, q.text(), row.want)
		})
	}
}

// nothing is a check of FailEverywhere that likes everything.
func nothing(testing.TB, *crashfs.FS, crashfs.History, fsio.Op) error { return nil }

// TestCrashLimitLeavesNoWriter: who is left behind writes no more.
func TestCrashLimitLeavesNoWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		result := make(chan error, 1)
		crashfs.CrashEverywhere(&quiet{TB: t}, crashfs.Config{Limit: time.Second}, func(_ testing.TB, fsys *crashfs.FS) error {
			f, err := fsys.OpenFile("f", os.O_RDWR|os.O_CREATE, 0o644)
			for ; err == nil; time.Sleep(time.Millisecond) { // a loop without an end
				_, err = f.WriteAt([]byte("x"), 0)
			}
			result <- errors.Join(err, f.Close())
			return err
		}, fine)
		require.ErrorIs(t, <-result, fsio.ErrPowerOff)
	})
}
