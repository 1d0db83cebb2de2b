package crashfs_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/crashfs"
)

// fine is a check that likes everything.
func fine(testing.TB, *crashfs.FS, crashfs.History) error { return nil }

// TestCrashReports: what can go wrong in an exploration is told apart.
func TestCrashReports(t *testing.T) {
	good := work(noBug, 6)
	runs, checks := 0, atomic.Int64{}
	panicking := func(testing.TB, *crashfs.FS, crashfs.History) error { panic("oops") }
	named := func(p crashfs.Policy, change func(p *crashfs.Policy)) crashfs.Config {
		change(&p)
		return crashfs.Config{Policies: []crashfs.Policy{p}}
	}
	for _, row := range []struct {
		name     string
		config   crashfs.Config
		workload func(testing.TB, *crashfs.FS) error
		check    func(testing.TB, *crashfs.FS, crashfs.History) error
		want     []string
	}{
		{"an error of the workload", crashfs.Config{}, func(testing.TB, *crashfs.FS) error { return errors.New("broken") }, fine, []string{"the workload failed at step 0: broken"}},
		{"a panic of the workload", crashfs.Config{}, func(testing.TB, *crashfs.FS) error { panic("oops") }, fine, []string{"the workload panicked at step 0: panic: oops"}},
		{"a workload that fails its test", crashfs.Config{}, func(tb testing.TB, _ *crashfs.FS) error {
			tb.Fatalf("not %d", 7)
			return nil
		}, fine, []string{"the workload failed at step 0: not 7"}},
		{"a panic of the check", crashfs.Config{}, good, panicking, []string{"check panicked", "panic: oops", "explore_test.go", "CRASHFS_REPLAY="}},
		{"a check that fails its test", crashfs.Config{}, good, func(tb testing.TB, _ *crashfs.FS, _ crashfs.History) error {
			require.Equal(tb, 1, 2)
			return nil
		}, []string{"check failed", "Not equal", "CRASHFS_REPLAY="}},
		{"a check that is skipped", crashfs.Config{}, good, func(tb testing.TB, _ *crashfs.FS, _ crashfs.History) error {
			tb.Skip("not today")
			return nil
		}, []string{"check skipped on", "not today", "CRASHFS_REPLAY="}},
		{"a check that fails the test around it", crashfs.Config{}, good, func(testing.TB, *crashfs.FS, crashfs.History) error {
			runtime.Goexit() // what FailNow does
			return nil
		}, []string{"check failed on", "not of the test around it", "CRASHFS_REPLAY="}},
		{"a workload that fails the test around it", crashfs.Config{}, func(testing.TB, *crashfs.FS) error {
			runtime.Goexit()
			return nil
		}, fine, []string{"the workload failed at step 0: it ended its goroutine"}},
		{"a check that fails in a cleanup", crashfs.Config{}, good, func(tb testing.TB, _ *crashfs.FS, _ crashfs.History) error {
			tb.Cleanup(func() { tb.Log("last") })
			tb.Cleanup(func() { tb.Fatal("not closed") })
			tb.Log("open")
			return nil
		}, []string{"check failed on", "open\nnot closed\nlast", "CRASHFS_REPLAY="}},
		{"a check that panics after a word", crashfs.Config{}, good, func(tb testing.TB, image *crashfs.FS, h crashfs.History) error {
			tb.Logf("step %d", h.Step)
			return panicking(tb, image, h)
		}, []string{"check panicked on", "step 0\npanic: oops"}},
		{"a check that is not deterministic", crashfs.Config{}, good, func(testing.TB, *crashfs.FS, crashfs.History) error {
			if checks.Add(1) == 3 {
				return errors.New("just once")
			}
			return nil
		}, []string{"check failed on 1 of", "just once", "cannot be replayed, since the check is not deterministic"}},
		{"no policies", crashfs.Config{Policies: []crashfs.Policy{}}, good, panicking, []string{"check panicked on"}},
		{"no faults", crashfs.Config{Faults: func() fsio.Interceptor { return nil }}, good, panicking, []string{"check panicked on"}},
		{"no workload", crashfs.Config{}, nil, fine, []string{"there is no workload"}},
		{"no check", crashfs.Config{}, good, nil, []string{"there is no check"}},
		{"a slip where a disk fails", crashfs.Config{Faults: failingSync(1, crashfs.FsyncKeep)}, func(tb testing.TB, fsys *crashfs.FS) error {
			if err := good(tb, fsys); err != nil {
				return emptied()[0].Close()
			}
			return nil
		}, fine, []string{"the workload panicked at step", "index out of range", "explore_test.go"}},
		{"a workload that is not deterministic", crashfs.Config{}, func(tb testing.TB, fsys *crashfs.FS) error {
			runs++
			return writeSynced(fsys, fmt.Sprintf("f%d", runs), nil)
		}, func(_ testing.TB, image *crashfs.FS, _ crashfs.History) error {
			if show(t, image) != "" {
				return errors.New("there is a file")
			}
			return nil
		}, []string{"there is a file", "cannot be replayed", `step 1 was "create f`}},
		{"a policy without a name", named(crashfs.Strict, func(p *crashfs.Policy) { p.Name = "" }), good, fine, []string{"it has no name"}},
		{"two policies of one name", crashfs.Config{Policies: []crashfs.Policy{crashfs.Kill, crashfs.Kill}}, good, fine, []string{`two policies are named "kill"`}},
		{"no such mode", named(crashfs.Strict, func(p *crashfs.Policy) { p.Dir = 9 }), good, fine, []string{"no such mode"}},
		{"NoPSOW alone", named(crashfs.Strict, func(p *crashfs.Policy) { p.NoPSOW = true }), good, fine, []string{"NoPSOW without DataTorn"}},
		{"SplitRename of nothing", named(crashfs.Kill, func(p *crashfs.Policy) { p.SplitRename = true }), good, fine, []string{"SplitRename"}},
		{"more than anybody waits for", named(crashfs.Strict, func(p *crashfs.Policy) { p.ExhaustUpTo = math.MaxInt }), good, fine, []string{"ExhaustUpTo"}},
		{"a depth that is none", crashfs.Config{Depth: 3}, good, fine, []string{"depth 3, want 1 or 2"}},
		{"no journal", crashfs.Config{Options: []crashfs.Option{crashfs.WithoutJournal()}}, good, fine, []string{"WithoutJournal"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := &quiet{TB: t}
			report := crashfs.CrashEverywhere(q, row.config, row.workload, row.check)
			require.Equal(t, report.Failures > 0, report.First.Policy != "")
			for _, want := range row.want {
				require.Contains(t, q.text(), want)
			}
		})
	}
}

// TestFailReports is TestCrashReports for FailEverywhere.
func TestFailReports(t *testing.T) {
	good := work(noBug, 6)
	runs := 0
	for _, row := range []struct {
		name     string
		workload func(testing.TB, *crashfs.FS) error
		want     []string
	}{
		{"a panic that may be meant", func(tb testing.TB, fsys *crashfs.FS) error {
			if err := good(tb, fsys); err != nil {
				panic("a sync failed")
			}
			return nil
		}, nil},
		{"a slip", func(tb testing.TB, fsys *crashfs.FS) error {
			if good(tb, fsys) != nil {
				return emptied()[0].Close()
			}
			return nil
		}, []string{
			`the workload panicked where call 1, sync of s/0.log, failed with "input/output error" at step`,
			"CRASHFS_REPLAY=1:once:0/kill,", "index out of range",
			`the workload panicked where call 2, sync of s/0.log, and all later ones failed with "input/output error" at step`,
		}},
		{"a workload that is not deterministic", func(_ testing.TB, fsys *crashfs.FS) error {
			runs++
			for i := range runs {
				if err := writeSynced(fsys, fmt.Sprint(i), nil); err != nil {
					return err
				}
			}
			return nil
		}, []string{"the workload is not deterministic: it made"}},
		{"no workload", nil, []string{"there is no workload"}},
		{"a workload without such a call", func(testing.TB, *crashfs.FS) error { return nil }, []string{"the workload makes no call of sync: nothing was failed"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			q := &quiet{TB: t}
			crashfs.FailEverywhere(q, crashfs.Config{}, fsio.OpSync, []error{syscall.EIO}, row.workload,
				nothing)
			if row.want == nil {
				require.Empty(t, q.text())
			}
			for _, want := range row.want {
				require.Contains(t, q.text(), want)
			}
		})
	}
}

// TestFailOfNothing: kinds and errors that fail no call are a mistake.
func TestFailOfNothing(t *testing.T) {
	for _, row := range []struct {
		kinds fsio.Kind
		errs  []error
		want  string
	}{
		{0, nil, "no kind of call is to be failed"},
		{1 << 31, nil, "no kind of call is to be failed"},
		{fsio.OpSync, []error{}, "calls cannot be failed with the errors []"},
		{fsio.OpSync, []error{syscall.EIO, nil}, "calls cannot be failed with the errors [input/output error <nil>]"},
	} {
		q := &quiet{TB: t}
		report := crashfs.FailEverywhere(q, crashfs.Config{}, row.kinds, row.errs, work(noBug, 6),
			nothing)
		require.Zero(t, report.Steps)
		require.Contains(t, q.text(), row.want)
	}
}

// TestFailReplayRefuses: an id that is of no call, or of nothing, is an error.
func TestFailReplayRefuses(t *testing.T) {
	for _, row := range []struct{ id, want string }{
		{"99:once:0/kill,4,now,0", "the workload makes no call 99"},
		{"0:once:0/kill,4,now,0", "for calls from 1"},
		{"1:once:1/kill,4,now,0", "errors 0 to 0"},
		{"1:once:0/kill", "want policy,step,choice,seed"},
		{"1:once:0/kill,999,rand,1", "the journal has"},
		{"1:twice:0/kill,4,now,0", "want policy,step,choice,seed"},
		{"kill,4", "want policy,step,choice,seed"},
		{"kill,4,rand,1", ""}, // of a CrashEverywhere in the same test
	} {
		t.Run(row.id, func(t *testing.T) {
			t.Setenv("CRASHFS_REPLAY", row.id)
			q := &quiet{TB: t}
			crashfs.FailEverywhere(q, crashfs.Config{}, fsio.OpSync, []error{syscall.EIO}, work(noBug, 6),
				nothing)
			require.Equal(t, row.want == "", q.text() == "")
			require.Contains(t, q.text(), row.want)
		})
	}
}

// TestCrashReplayOfAnother: an id of FailEverywhere in the same test is none of CrashEverywhere's.
func TestCrashReplayOfAnother(t *testing.T) {
	t.Setenv("CRASHFS_REPLAY", "1:once:0/kill,4,now,0")
	report := crashfs.CrashEverywhere(t, crashfs.Config{}, work(noBug, 6), held(noBug))
	require.Zero(t, report.Images)
}

// TestCrashSkips: a workload that is skipped skips the test.
func TestCrashSkips(t *testing.T) {
	passed := t.Run("inner", func(t *testing.T) {
		defer func() { require.True(t, t.Skipped()) }()
		crashfs.CrashEverywhere(t, crashfs.Config{}, func(tb testing.TB, _ *crashfs.FS) error {
			tb.Skip("no such thing here")
			return nil
		}, fine)
		t.Error("it goes on")
	})
	require.True(t, passed)
}

// TestCrashCleanup: what a call cleans up is cleaned up when it ends.
func TestCrashCleanup(t *testing.T) {
	var opened, closed atomic.Int64
	crashfs.CrashEverywhere(t, crashfs.Config{Parallel: 1}, work(noBug, 6), func(tb testing.TB, _ *crashfs.FS, _ crashfs.History) error {
		require.Equal(tb, opened.Load(), closed.Load())
		opened.Add(1)
		tb.Cleanup(func() { closed.Add(1) })
		return nil
	})
	require.Positive(t, closed.Load())
	require.Equal(t, opened.Load(), closed.Load())
}

// TestCrashReplayRefuses: an id that is not of this journal is an error, never another image.
func TestCrashReplayRefuses(t *testing.T) {
	for _, row := range []struct{ id, want string }{
		{"kill", "want policy,step,choice,seed"},
		{"kill,x,rand,1", "invalid syntax"},
		{"other,1,rand,1", "no policy of that name"},
		{"kill,100000,rand,1", "the journal has"},
		{"kill,1,sideways:1,1", "unknown choice"},
		{"strict,9,prefix:99,1", "choice prefix:99 of"},
		{"strict,9,drop:-1,1", "choice drop:-1 of"},
		{"strict,9,lost:77=0,1", "no digit 0 of unit 77"},
		{"strict,9,lost:x,1", `choice "lost:x"`},
		{"kill,1,rand,1/kill,999,rand,1", "the journal has"},
	} {
		t.Run(row.id, func(t *testing.T) {
			t.Setenv("CRASHFS_REPLAY", row.id)
			q := &quiet{TB: t}
			crashfs.CrashEverywhere(q, crashfs.Config{}, work(noBug, 6), held(noBug))
			require.Contains(t, q.text(), row.want)
		})
	}
}

func TestReplay(t *testing.T) {
	fsys := crashfs.New()
	workload := work(noBug, 10)
	require.NoError(t, workload(t, fsys))
	id := crashfs.CrashID{Policy: "strict", Step: fsys.Step(), Choice: "rand", Seed: 5}
	image, h := crashfs.Replay(t, crashfs.Config{}, id, workload)
	require.Equal(t, fsys.CrashClone(5, crashfs.Strict).Digest(), image.Digest())
	require.Equal(t, []any{uint64(3), uint64(6), uint64(9)}, h.Acks)
	require.Equal(t, fsys.Step(), h.Step)
}

// TestCrashIsTheSameEverywhere pins what was drawn, and which images there are: the same journal and id give the
// same image on every machine.
func TestCrashIsTheSameEverywhere(t *testing.T) {
	fsys := crashfs.New()
	require.NoError(t, work(noBug, 16)(t, fsys))
	f := open(t, fsys, "s/more")
	write(t, f, strings.Repeat("abc", 3000), 100)
	write(t, f, strings.Repeat("xyz", 1000), 600)
	var got []string
	for _, p := range []crashfs.Policy{crashfs.Ext4, crashfs.Strict, crashfs.Paranoid} {
		for seed := range uint64(3) {
			got = append(got, fmt.Sprintf("%x", fsys.CrashClone(seed, p).Digest()))
		}
	}
	for _, p := range []crashfs.Policy{crashfs.Lost, inFull(crashfs.Strict), inFull(crashfs.Paranoid)} {
		all := sha256.New()
		for id, image := range fsys.CrashClones(7, p) {
			fmt.Fprintf(all, "%s %x\n", id, image.Digest())
		}
		got = append(got, fmt.Sprintf("%x", all.Sum(nil)))
	}
	text, err := os.ReadFile("testdata/drawn.txt")
	require.NoError(t, err)
	require.Equal(t, strings.Fields(string(text)), got)
}

// TestCrashModes explores the correct store by every combination of modes, with both sizes of sectors: it
// is blamed by none.
func TestCrashModes(t *testing.T) {
	var policies []crashfs.Policy
	for data := crashfs.DataLost; data <= crashfs.DataTorn; data++ {
		for size := crashfs.SizeFollows; size <= crashfs.SizeGarbage; size++ {
			for dir := crashfs.DirLost; dir <= crashfs.DirUnordered; dir++ {
				policies = append(policies, crashfs.Policy{
					Name: fmt.Sprintf("%d-%d-%d", data, size, dir), Data: data, Size: size, Dir: dir,
					Systematic: true, ExhaustUpTo: 16, Random: 2,
				})
			}
		}
	}
	all := crashfs.Strict
	all.Name, all.FsyncFileDir, all.SyncDirInodes = "extra", true, true
	every2nd := crashfs.Paranoid
	every2nd.Name, every2nd.EveryNth = "every 2nd", 2
	policies = append(policies, all, every2nd, crashfs.Ext4)
	images, rounds := 0, 20
	if testing.Short() {
		rounds = 9
	}
	for _, sector := range []int{512, 4096} {
		report := crashfs.CrashEverywhere(t, crashfs.Config{
			Policies: policies, Options: []crashfs.Option{crashfs.WithSectorSize(sector)},
		}, work(noBug, rounds), held(noBug))
		images += report.Images
		require.Len(t, report.PerPolicy, len(policies))
	}
	fmt.Printf("RESULT policies=%d images=%d failures=0\n", len(policies), images)
}

// TestCrashNoPSOW: where a torn write may spoil what lies beside it in its sector, a log that appends within
// a sector loses what it acknowledged.
func TestCrashNoPSOW(t *testing.T) {
	torn := crashfs.Paranoid
	torn.NoPSOW = true
	q := &quiet{TB: t}
	report := crashfs.CrashEverywhere(q, crashfs.Config{Policies: []crashfs.Policy{torn}}, work(noBug, 20), held(noBug))
	require.Positive(t, report.Failures)
	require.Contains(t, q.text(), "spoiled: the sector of s/0.log at")
}

// TestFailEverywhere fails every call of the correct store.
func TestFailEverywhere(t *testing.T) {
	kinds := fsio.Mutates | fsio.OpOpen | fsio.OpReadAt | fsio.OpMap
	report := crashfs.FailEverywhere(t, crashfs.Config{}, kinds, nil, work(noBug, 9),
		func(tb testing.TB, image *crashfs.FS, h crashfs.History, failed fsio.Op) error {
			return held(noBug)(tb, image, h)
		})
	require.Positive(t, report.Unique)
	fmt.Printf("RESULT failed_calls images=%d failures=%d\n", report.Unique, report.Failures)
}

// TestFailEverywhereFinds a store that goes on after a write that failed, and replays what it finds.
func TestFailEverywhereFinds(t *testing.T) {
	errs := []error{syscall.EIO, syscall.ENOSPC}
	run := func(t *testing.T) (crashfs.Report, string) {
		q := &quiet{TB: t}
		report := crashfs.FailEverywhere(q, crashfs.Config{}, fsio.OpWriteAt, errs,
			func(_ testing.TB, fsys *crashfs.FS) error {
				f, err := fsys.OpenFile("f", os.O_RDWR|os.O_CREATE, 0o644)
				if err != nil {
					return err
				}
				for i := range 3 {
					_, _ = f.WriteAt([]byte{byte('a' + i)}, int64(i))
				}
				err = errors.Join(f.Sync(), fsys.SyncDir("."))
				fsys.Ack("abc")
				return errors.Join(err, f.Close())
			},
			func(_ testing.TB, image *crashfs.FS, h crashfs.History, failed fsio.Op) error {
				if failed.Kind != fsio.OpWriteAt || failed.Path != "f" {
					return fmt.Errorf("it says that %v failed", failed)
				}
				if len(h.Acks) > 0 && show(t, image) != "f=abc" {
					return fmt.Errorf("%s was acknowledged, there is %s", h.Acks[0], show(t, image))
				}
				return nil
			})
		return report, q.text()
	}
	report, said := run(t)
	require.GreaterOrEqual(t, report.Failures, 12, said) // three calls, two errors, once and for ever
	require.Contains(t, said, "where call 2, write of f, failed with \"input/output error\"")
	lines := strings.Split(said, "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "CRASHFS_REPLAY=2:once:1/") })
	require.GreaterOrEqual(t, i, 0, said)
	id, command, _ := strings.Cut(strings.TrimPrefix(lines[i], "CRASHFS_REPLAY="), " ")
	require.Equal(t, "go test -run '^TestFailEverywhereFinds$'", command)
	t.Setenv("CRASHFS_REPLAY", id)
	report, said = run(t)
	require.Equal(t, 1, report.Failures, said)
	require.Contains(t, said, "where call 2, write of f, failed with \"no space left on device\": abc was acknowledged, there is f=a.c")
}

// TestCrashDepth: a recovery is crashed, too.
func TestCrashDepth(t *testing.T) {
	config := crashfs.Config{Depth: 2, Policies: []crashfs.Policy{crashfs.Strict}}
	report := crashfs.CrashEverywhere(t, config, work(noBug, 10), held(noBug))
	require.Positive(t, report.Nested)
	require.Greater(t, report.Unique, report.Nested)
}

// TestCrashParallel: the number of processors changes nothing.
func TestCrashParallel(t *testing.T) {
	var reports []crashfs.Report
	for _, n := range []int{1, 4} {
		q := &quiet{TB: t}
		report := crashfs.CrashEverywhere(q, crashfs.Config{Parallel: n, Depth: 2}, work(swapOneSync, 20), held(swapOneSync))
		report.Elapsed = 0
		reports = append(reports, report)
	}
	require.Equal(t, reports[0], reports[1])
}

// longRounds are those of a workload of 1,500 events and more.
const longRounds = 390

// full asks for all systematic images of every step, and eight drawn ones, by three policies, on one core.
var full = crashfs.Config{Policies: []crashfs.Policy{inFull(crashfs.Ext4), inFull(crashfs.Strict), inFull(crashfs.Paranoid)}, Parallel: 1}

func inFull(p crashfs.Policy) crashfs.Policy {
	p.Systematic, p.Random = true, 8
	return p
}

// TestCrashLong explores a long workload in full.
func TestCrashLong(t *testing.T) {
	if testing.Short() {
		t.Skip("not in short mode")
	}
	report := crashfs.CrashEverywhere(t, full, work(noBug, longRounds), held(noBug))
	require.GreaterOrEqual(t, report.Steps, 1500)
	fmt.Printf("RESULT steps=%d images=%d unique=%d seconds=%.1f\n", report.Steps, report.Images, report.Unique, report.Elapsed.Seconds())
}

// emptied is a list of files in which a careless error path looks for one.
func emptied() []fsio.File { return nil }
