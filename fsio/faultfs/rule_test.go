package faultfs_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/faultfs"
)

// create makes a file and leaves it open until the test ends.
func create(tb testing.TB, fsys fsio.FS, name, content string) fsio.File {
	tb.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = f.Close() })
	_, err = f.WriteAt([]byte(content), 0)
	require.NoError(tb, err)
	return f
}

// call makes one call of a kind on a fake filesystem that does nothing.
func call(f *faultfs.Faults, kind fsio.Kind, path string, off, size int64) error {
	op := &fsio.Op{Kind: kind, Path: path, Off: off, Size: size}
	if (fsio.OpReadAt | fsio.Writes | fsio.OpMapView).Has(kind) {
		op.Data = make([]byte, size)
	}
	return f.Intercept(op, func() error { return nil })
}

// firedAt is the numbers of the calls at which f fired.
func firedAt(f *faultfs.Faults) (calls []uint64) {
	for _, firing := range f.Fired() {
		calls = append(calls, firing.Call)
	}
	return calls
}

// TestConditions makes the same calls under rules with different conditions.
func TestConditions(t *testing.T) {
	type op struct {
		kind      fsio.Kind
		path      string
		off, size int64
	}
	ops := []op{
		{fsio.OpWriteAt, "a/0.log", 0, 10},  // 1
		{fsio.OpWriteAt, "b/0.log", 0, 10},  // 2
		{fsio.OpSync, "a/0.log", 0, 0},      // 3
		{fsio.OpReadAt, "a/0.log", 5, 10},   // 4
		{fsio.OpWriteAt, "a/0.log", 10, 10}, // 5
		{fsio.OpMapFlush, "a/x", 4096, 1},   // 6
		{fsio.OpTruncate, "a/x", 0, 9},      // 7
		{fsio.OpWriteAt, "a/0.log", 20, 0},  // 8
		{fsio.OpSync, "a/0.log", 0, 0},      // 9
		{fsio.OpWriteAt, "a/0.log", 20, 5},  // 10
	}
	on := faultfs.On
	for name, row := range map[string]struct {
		rule *faultfs.Rule
		want []uint64
	}{
		"kinds":            {on(fsio.Syncs), []uint64{3, 6, 9}},
		"path":             {on(fsio.All).Path("b/*"), []uint64{2}},
		"path, any depth":  {on(fsio.All).Path("**/x"), []uint64{6, 7}},
		"range":            {on(fsio.All).Range(9, 1), []uint64{1, 2, 4}},
		"range, its end":   {on(fsio.All).Range(10, 5), []uint64{4, 5}},
		"range, huge":      {on(fsio.OpWriteAt).Range(1, 1<<63-1), []uint64{1, 2, 5, 10}},
		"when":             {on(fsio.All).When(func(op *fsio.Op) bool { return op.Size == 9 }), []uint64{7}},
		"after bytes":      {on(fsio.Writes).AfterBytes(15), []uint64{5, 8, 10}},
		"after no bytes":   {on(fsio.Writes).AfterBytes(0), []uint64{1, 2, 5, 8, 10}},
		"after own bytes":  {on(fsio.Writes).Path("a/**").AfterBytes(15), []uint64{8, 10}},
		"after bytes, nth": {on(fsio.Writes).AfterBytes(15).Nth(2), []uint64{8}},
		"nth":              {on(fsio.OpWriteAt).Nth(3), []uint64{5}},
		"nth of a path":    {on(fsio.OpWriteAt).Path("a/*").Nth(3), []uint64{8}},
		"from":             {on(fsio.OpWriteAt).From(3), []uint64{5, 8, 10}},
		"from and nth":     {on(fsio.OpWriteAt).From(2).Nth(3), []uint64{5}},
		"times":            {on(fsio.OpWriteAt).Times(2), []uint64{1, 2}},
		"from and times":   {on(fsio.OpWriteAt).From(2).Times(2), []uint64{2, 5}},
		"prob 1":           {on(fsio.OpSync).Prob(1), []uint64{3, 9}},
		"prob 0":           {on(fsio.OpSync).Prob(0), nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := faultfs.New(1, row.rule.FailAfter(errOwn)) // after the call, so that bytes are written
			for i, op := range ops {
				err := call(f, op.kind, op.path, op.off, op.size)
				assert.Equal(t, err != nil, len(f.Fired()) > 0 && f.Fired()[len(f.Fired())-1].Call == uint64(i+1))
			}
			assert.Equal(t, row.want, firedAt(f))
			assert.EqualValues(t, len(ops), f.Calls())
		})
	}
}

// TestPathOfRename: either name of a rename is matched.
func TestPathOfRename(t *testing.T) {
	for _, glob := range []string{"old", "new", "*"} {
		f := faultfs.New(1, faultfs.On(fsio.OpRename).Path(glob).Fail(errOwn))
		err := f.Intercept(&fsio.Op{Kind: fsio.OpRename, Path: "old", To: "new"}, func() error { return nil })
		assert.Equal(t, errOwn, err, glob)
	}
}

// TestFiring: a Firing has the call as it was made.
func TestFiring(t *testing.T) {
	rule := faultfs.On(fsio.OpWriteAt).Misdirect(100)
	f := faultfs.New(1, rule)
	require.NoError(t, call(f, fsio.OpSync, "a", 0, 0))
	require.NoError(t, call(f, fsio.OpWriteAt, "a", 7, 3))
	want := faultfs.Firing{Call: 2, Rule: rule, Op: fsio.Op{Kind: fsio.OpWriteAt, Path: "a", Off: 7, Size: 3}}
	assert.Equal(t, []faultfs.Firing{want}, f.Fired())
}

// TestLeftAlone: what cannot be done to a call does not fire, and the next rule has the call.
func TestLeftAlone(t *testing.T) {
	f := faultfs.New(1,
		faultfs.On(fsio.All).Drop(),
		faultfs.On(fsio.All).Short(7, nil).Times(1),
		faultfs.On(fsio.All).Misdirect(-5),
		faultfs.On(fsio.All).FailAfter(errOwn),
	)
	require.Equal(t, errOwn, call(f, fsio.OpStat, "a", 0, 0), "neither drop nor short can be done to a stat")
	require.Equal(t, errOwn, call(f, fsio.OpReadAt, "a", 0, 7), "no shorter, and at position 0 already")
	require.NoError(t, call(f, fsio.OpReadAt, "a", 0, 8), "cut: fsio makes the error")
	require.NoError(t, call(f, fsio.OpReadAt, "a", 1, 8), "cut before; moved now")
	require.NoError(t, call(f, fsio.OpWriteAt, "a", 0, 8), "dropped")
	assert.Equal(t, []uint64{1, 2, 3, 4, 5}, firedAt(f))
}

// TestFirstRuleHasTheCall: a later one counts it all the same; delays add up.
func TestFirstRuleHasTheCall(t *testing.T) {
	var slept []time.Duration
	f := faultfs.New(1,
		faultfs.On(fsio.OpSync).Delay(time.Second),
		faultfs.On(fsio.OpSync).Nth(1).Fail(syscall.EIO),
		faultfs.On(fsio.OpSync).Nth(2).Delay(time.Minute).Fail(syscall.ENOSPC),
		faultfs.On(fsio.OpSync).Fail(errOwn),
	)
	f.SleepWith(func(d time.Duration) { slept = append(slept, d) })
	for _, want := range []error{syscall.EIO, syscall.ENOSPC, errOwn} {
		assert.Equal(t, want, call(f, fsio.OpSync, "a", 0, 0))
	}
	assert.Equal(t, []time.Duration{time.Second, time.Second, time.Minute, time.Second}, slept)
	assert.Equal(t, []uint64{1, 1, 2, 2, 3, 3}, firedAt(f))
}

func TestAddAndRemove(t *testing.T) {
	f := faultfs.New(1)
	require.NoError(t, call(f, fsio.OpSync, "a", 0, 0))
	remove := f.Add(faultfs.On(fsio.OpSync).Fail(errOwn), faultfs.On(fsio.OpStat).Fail(errOwn))
	removeOther := f.Add(faultfs.On(fsio.OpSync).Fail(io.EOF))
	require.Equal(t, errOwn, call(f, fsio.OpSync, "a", 0, 0))
	remove()
	require.Equal(t, io.EOF, call(f, fsio.OpSync, "a", 0, 0))
	require.NoError(t, call(f, fsio.OpStat, "a", 0, 0))
	remove()
	removeOther()
	require.NoError(t, call(f, fsio.OpSync, "a", 0, 0))
	assert.Equal(t, []uint64{2, 3}, firedAt(f))
}

// TestRefused: rules that can do nothing are refused when they are put to work; a glob at once.
func TestRefused(t *testing.T) {
	used := faultfs.On(fsio.All).Drop()
	faultfs.New(1, used)
	on := faultfs.On
	for want, rule := range map[string]*faultfs.Rule{
		`rule "": it has no action`:                                            on(fsio.All),
		`rule "op= drop": it is for no kind of call`:                           on(0).Drop(),
		`rule "fail=": fail has no error: drop is for that`:                    on(fsio.All).Fail(nil),
		`rule "hang": hang has no release`:                                     on(fsio.All).Hang(nil),
		`rule "when drop": when has no function`:                               on(fsio.All).When(nil).Drop(),
		`rule "op=open drop": drop cannot be done to open`:                     on(fsio.OpOpen).Drop(),
		`rule "fail=\"own error\" drop": of fail and drop one hides the other`: on(fsio.All).Fail(errOwn).Drop(),
		`rule "drop" was given before`:                                         used,
	} {
		assert.PanicsWithValue(t, "faultfs: "+want, func() { faultfs.New(1, rule) })
	}
	assert.Panics(t, func() { on(fsio.All).Path("a/[") })
}

// TestDeterminism: one seed and one sequence of calls give the same faults; calls on another file do not
// shift them.
func TestDeterminism(t *testing.T) {
	run := func(seed uint64, others bool) (fired string) {
		f := faultfs.New(seed, faultfs.On(fsio.OpReadAt).Path("a").Prob(0.5).FlipBits(2), faultfs.On(fsio.All).Prob(0.3).Delay(1))
		f.SleepWith(func(time.Duration) {})
		for i := range 64 {
			if others {
				require.NoError(t, call(f, fsio.OpReadAt, fmt.Sprint("other", i%3), 0, 8))
			}
			op := &fsio.Op{Kind: fsio.OpReadAt, Path: "a", Size: 8, Data: make([]byte, 8)}
			require.NoError(t, f.Intercept(op, func() error { return nil }))
			fired += fmt.Sprintf("%x ", op.Data)
		}
		return fired
	}
	assert.Equal(t, run(1, false), run(1, false))
	assert.Equal(t, run(1, false), run(1, true))
	assert.NotEqual(t, run(1, false), run(2, false))
}

// TestProb: the probability is that which was asked for, and two rules do not draw alike.
func TestProb(t *testing.T) {
	for _, p := range []float64{0.1, 0.5, 0.9} {
		f := faultfs.New(1, faultfs.On(fsio.OpSync).Prob(p).Delay(1), faultfs.On(fsio.OpSync).Prob(p).Delay(1))
		f.SleepWith(func(time.Duration) {})
		const calls = 4000
		for range calls {
			require.NoError(t, call(f, fsio.OpSync, "a", 0, 0))
		}
		firedAtCall := map[uint64]int{}
		for _, at := range firedAt(f) {
			firedAtCall[at]++
		}
		both := 0
		for _, n := range firedAtCall {
			both += n / 2
		}
		assert.InDelta(t, p, float64(len(f.Fired()))/(2*calls), 0.03)
		assert.InDelta(t, p*p, float64(both)/calls, 0.03)
	}
}

// TestPowerOffInProgress: a call that was being made, and one that hangs, end with the power.
func TestPowerOffInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := faultfs.New(1,
			faultfs.On(fsio.OpRemove).Hang(make(chan struct{})),
			faultfs.On(fsio.OpStat).PowerOff(),
		)
		var all sync.WaitGroup
		disk := make(chan struct{})
		all.Go(func() {
			assert.Equal(t, fsio.ErrPowerOff, call(f, fsio.OpRemove, "a", 0, 0))
		})
		all.Go(func() {
			err := f.Intercept(&fsio.Op{Kind: fsio.OpSync}, func() error { <-disk; return nil })
			assert.Equal(t, fsio.ErrPowerOff, err, "made, and the caller is not told so")
		})
		synctest.Wait()
		assert.Equal(t, fsio.ErrPowerOff, call(f, fsio.OpStat, "a", 0, 0))
		close(disk)
		all.Wait()
		err := f.Intercept(&fsio.Op{Kind: fsio.OpMkdirAll}, func() error { return errors.New("was made") })
		assert.Equal(t, fsio.ErrPowerOff, err)
		assert.EqualValues(t, 4, f.Calls())
	})
}

// TestPowerOffFrees: who closes all that he has after the power went can open it again, without the rules.
func TestPowerOffFrees(t *testing.T) {
	disk, err := fsio.OS(t.TempDir())
	require.NoError(t, err)
	defer func() { assert.NoError(t, disk.Close()) }()
	f := faultfs.New(1, faultfs.On(fsio.OpSync).PowerOff())
	fsys := fsio.Intercept(disk, f.Intercept)
	lock, err := fsys.Lock("lock")
	require.NoError(t, err)
	file, err := fsys.OpenFile("file", os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	require.ErrorIs(t, file.Sync(), fsio.ErrPowerOff)
	for _, c := range []io.Closer{file, lock, file, lock} {
		require.ErrorIs(t, c.Close(), fsio.ErrPowerOff)
	}
	lock, err = disk.Lock("lock")
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}

// TestFiringString is what a test logs.
func TestFiringString(t *testing.T) {
	f := faultfs.New(1, faultfs.On(fsio.OpStat).Nth(2).Fail(syscall.EIO))
	for range 3 {
		_ = call(f, fsio.OpStat, "a/b", 0, 0)
	}
	require.Equal(t, "[call 2, stat of a/b: op=stat nth=2 fail=EIO]", fmt.Sprint(f.Fired()))
}

// TestNil: what is not there is a mistake that is named, or the default.
func TestNil(t *testing.T) {
	require.PanicsWithValue(t, "faultfs: a rule that is nil", func() { faultfs.New(1, nil) })
	f := faultfs.New(1, faultfs.On(fsio.OpStat).Delay(time.Minute))
	synctest.Test(t, func(t *testing.T) {
		f.SleepWith(nil)
		begin := time.Now()
		require.NoError(t, call(f, fsio.OpStat, "a", 0, 0))
		require.Equal(t, time.Minute, time.Since(begin))
	})
}

// TestConcurrent: every call is counted, and of n the n-th fires.
func TestConcurrent(t *testing.T) {
	f := faultfs.New(1,
		faultfs.On(fsio.OpWriteAt).Nth(500).Fail(errOwn),
		faultfs.On(fsio.OpWriteAt).AfterBytes(900*8).Times(3).Fail(errOwn),
		faultfs.On(fsio.All).Prob(0.5).FlipBits(1),
	)
	fsys := fsio.Intercept(newMem(t), f.Intercept)
	file, err := fsys.OpenFile("file", os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	failed := make([]int, 8)
	var all sync.WaitGroup
	for i := range failed {
		all.Go(func() {
			for j := range 125 {
				if _, err := file.WriteAt([]byte("8 bytes."), int64(j)*8); err != nil {
					failed[i]++
				}
				remove := f.Add(faultfs.On(fsio.OpSync).Drop())
				_ = file.Sync()
				remove()
			}
		})
	}
	all.Wait()
	total := 0
	for _, n := range failed {
		total += n
	}
	assert.Equal(t, 4, total)
	assert.EqualValues(t, 1+2*1000, f.Calls())
}

// TestAfterBytesOfFailedCalls: only bytes of calls that succeeded count, not those that failed or were
// dropped.
func TestAfterBytesOfFailedCalls(t *testing.T) {
	f := faultfs.New(1,
		faultfs.On(fsio.OpWriteAt).Nth(1).Drop(),
		faultfs.On(fsio.OpWriteAt).AfterBytes(8).Fail(errOwn),
	)
	write := func(err error) error {
		op := &fsio.Op{Kind: fsio.OpWriteAt, Path: "a", Size: 8, Data: make([]byte, 8)}
		return f.Intercept(op, func() error { return err })
	}
	require.NoError(t, write(nil), "dropped")
	require.Equal(t, io.EOF, write(io.EOF), "failed by itself")
	require.NoError(t, write(nil), "written")
	require.Equal(t, errOwn, write(nil))
}
