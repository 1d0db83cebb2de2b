package faultfs_test

import (
	"fmt"
	"math/bits"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/faultfs"
)

// TestFaultMatrix does every action to every kind of call, in memory and on the disk: the fault happens, and
// nothing else does.
func TestFaultMatrix(t *testing.T) {
	cells := faultfs.Matrix()
	passed := map[faultfs.Cell]int{}
	for _, f := range filesystems {
		want := references(t, f.newFS)
		for _, cell := range cells {
			if t.Run(fmt.Sprint(f.name, " ", cell.Action, " ", cell.Kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { tryCell(t, f.newFS(t), cell, want[cell.Kind]) })
			}) {
				passed[cell]++
			}
		}
	}
	done := 0
	for _, n := range passed {
		done += n / len(filesystems)
	}
	fmt.Printf("RESULT cells=%d/%d\n", done, len(cells))
}

// TestMatrixIsTheContract compares Matrix with the table in Rule's comment.
func TestMatrixIsTheContract(t *testing.T) {
	data := fsio.OpReadAt | fsio.OpWriteAt | fsio.OpMapWriteAt
	want := map[string]fsio.Kind{
		"drop":      fsio.Mutates&^fsio.OpCreate | fsio.Closes,
		"short":     data | fsio.OpCopyTo,
		"flip":      data | fsio.OpMapView,
		"zero":      fsio.OpReadAt | fsio.OpMapView,
		"misdirect": data | fsio.OpMapView | fsio.OpCopyTo,
	}
	for _, action := range []string{"fail", "failafter", "delay", "hang", "off", "panic"} {
		want[action] = fsio.All
	}
	got := map[string]fsio.Kind{}
	for _, cell := range faultfs.Matrix() {
		assert.Zero(t, got[cell.Action]&cell.Kind, "%v is there twice", cell)
		got[cell.Action] |= cell.Kind
	}
	assert.Equal(t, want, got)
}

// reference is what a call does without faults.
type reference struct {
	got           outcome
	before, after state
	witness       []string // what all calls give one after the other, on the other folder
}

func references(t *testing.T, newFS func(testing.TB) fsio.FS) map[fsio.Kind]reference {
	t.Helper()
	all := map[fsio.Kind]reference{}
	for _, c := range calls {
		t.Run("reference", func(t *testing.T) {
			l, victim, witness := newLab(t, newFS(t))
			before := l.look(t)
			got := c.make(t, victim)
			require.NoError(t, got.err)
			all[c.kind] = reference{got, before, l.look(t), everyCall(t, witness)}
		})
	}
	return all
}

// everyCall makes all calls and says what each gave.
func everyCall(tb testing.TB, d *folder) (said []string) {
	tb.Helper()
	for _, c := range calls {
		said = append(said, fmt.Sprint(c.kind, " ", c.make(tb, d)))
	}
	return said
}

// The arguments of the actions.
const (
	kept     = 3
	flips    = 5
	distance = 4
	pause    = time.Hour
)

// rule is a Rule with the action of a cell.
func rule(cell faultfs.Cell, release <-chan struct{}) *faultfs.Rule {
	r := faultfs.On(cell.Kind).Path("victim/**").Times(1)
	switch cell.Action {
	case "fail":
		return r.Fail(syscall.EIO)
	case "failafter":
		return r.FailAfter(syscall.EIO)
	case "short":
		return r.Short(kept, syscall.ENOSPC)
	case "flip":
		return r.FlipBits(flips)
	case "zero":
		return r.Zero()
	case "misdirect":
		return r.Misdirect(distance)
	case "drop":
		return r.Drop()
	case "delay":
		return r.Delay(pause)
	case "hang":
		return r.Hang(release)
	case "off":
		return r.PowerOff()
	case "panic":
		return r.Panic("the process died")
	}
	return r
}

// tryCell makes one call with one fault.
func tryCell(t *testing.T, disk fsio.FS, cell faultfs.Cell, ref reference) {
	t.Helper()
	l, victim, witness := newLab(t, disk)
	l.takeMade()
	require.Equal(t, ref.before, l.look(t))
	release := make(chan struct{})
	r := rule(cell, release)
	l.faults.Add(r)
	l.faults.SleepWith(func(d time.Duration) {
		assert.Equal(t, pause, d)
		assert.Empty(t, l.takeMade(), "the delay comes before the call")
		time.Sleep(d) // in the time of the bubble
	})
	begin := time.Now()
	got, panicked := l.callAside(t, victim, cell, release)
	made := l.takeMade()

	fired := l.faults.Fired()
	require.Len(t, fired, 1)
	assert.Same(t, r, fired[0].Rule)
	assert.Equal(t, cell.Kind, fired[0].Op.Kind)
	assert.Nil(t, fired[0].Op.Data)

	expectation := expect(cell, ref)
	assert.Equal(t, expectation.panicked, panicked)
	assert.Equal(t, expectation.made, len(made), "calls made")
	assert.Equal(t, cell.Action == "delay", time.Since(begin) == pause)
	assert.ErrorIs(t, got.err, expectation.got.err)
	if cell.Action == "flip" {
		unflip(t, cell.Kind, &got, &expectation, l.look(t))
	} else {
		assert.Equal(t, expectation.state, l.look(t))
	}
	got.err, expectation.got.err = nil, nil
	assert.Equal(t, expectation.got, got)

	others := ref.witness
	if cell.Action == "off" {
		others = allOff()
	}
	assert.Equal(t, others, everyCall(t, witness), "the other folder")
	if cell.Action == "off" {
		assert.ElementsMatch(t, []fsio.Kind{fsio.OpClose, fsio.OpMapClose, fsio.OpUnlock}, l.takeMade(), "calls made after the end")
	} else if fsio.Reads.Has(cell.Kind) {
		assert.Equal(t, ref.got, victim.callOf(t, cell.Kind), "a second read is clean")
	}
	assert.Len(t, l.faults.Fired(), 1)
}

// callAside makes the call of a cell in a goroutine of its own, which may hang until it is released, or
// panic.
func (l *lab) callAside(t *testing.T, victim *folder, cell faultfs.Cell, release chan struct{}) (got outcome, panicked any) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		got = victim.callOf(t, cell.Kind)
	}()
	if cell.Action == "hang" {
		synctest.Wait()
		select {
		case <-done:
			t.Error("the call did not wait")
		default:
			assert.Empty(t, func() []fsio.Kind { l.mu.Lock(); defer l.mu.Unlock(); return l.made }(), "made while it hangs")
		}
		close(release)
	}
	<-done
	return got, panicked
}

// expectation is what a cell does.
type expectation struct {
	made     int
	got      outcome
	state    state
	panicked any
}

// expect says what a cell does, from what the call does without the fault.
func expect(cell faultfs.Cell, ref reference) expectation {
	notMade := func(n int64, err error) expectation {
		return expectation{got: outcome{n: n, err: err}, state: ref.before}
	}
	whole := expectation{made: 1, got: ref.got, state: ref.after}
	switch cell.Action {
	case "fail":
		return notMade(0, syscall.EIO)
	case "off":
		if fsio.Closes.Has(cell.Kind) { // nothing is leaked
			return expectation{made: 1, got: outcome{err: fsio.ErrPowerOff}, state: ref.after}
		}
		return notMade(0, fsio.ErrPowerOff)
	case "panic":
		e := notMade(0, nil)
		e.panicked = "the process died"
		return e
	case "drop":
		return notMade(ref.got.n, nil)
	case "failafter":
		return failedAfter(cell.Kind, whole, ref)
	case "short":
		whole.got.n, whole.got.err = kept, syscall.ENOSPC
		whole.got.data = whole.got.data[:min(kept, len(whole.got.data))]
		return wrote(cell.Kind, whole, "0123"+written[:kept]+"789abcdef")
	case "zero":
		whole.got.data = strings.Repeat("\x00", len(whole.got.data))
	case "misdirect":
		if fsio.Reads.Has(cell.Kind) {
			whole.got.data = content[4+distance:]
		}
		return wrote(cell.Kind, whole, content[:4+distance]+written)
	}
	return whole
}

// failedAfter is whole with an error: what the call gave is lost, and closed.
func failedAfter(kind fsio.Kind, whole expectation, ref reference) expectation {
	whole.got.err = syscall.EIO
	switch {
	case (fsio.OpOpen | fsio.OpCreate | fsio.Holds).Has(kind):
		whole.state = whole.state.clone()
		whole.state.alive = ref.before.alive
		if kind == fsio.OpLock {
			whole.state.held = map[string]bool{"victim/.held": true, "victim/.taken": false, "witness/.held": true}
		}
	case fsio.Looks.Has(kind):
		whole.got = outcome{err: syscall.EIO}
	}
	return whole
}

// wrote is whole with another content of the file that a write goes to.
func wrote(kind fsio.Kind, whole expectation, content string) expectation {
	whole.state = whole.state.clone()
	switch kind {
	case fsio.OpWriteAt:
		whole.state.files["victim/file"] = content
	case fsio.OpMapWriteAt:
		whole.state.files["victim/mapped"] = content
	}
	return whole
}

// unflip checks that as many bits differ as were to be flipped, of what was read or of what was stored, and
// takes the difference away.
func unflip(t *testing.T, kind fsio.Kind, got *outcome, want *expectation, after state) {
	t.Helper()
	was, is := want.got.data, got.data
	if fsio.Writes.Has(kind) {
		name := map[fsio.Kind]string{fsio.OpWriteAt: "victim/file", fsio.OpMapWriteAt: "victim/mapped"}[kind]
		was, is = want.state.files[name], after.files[name]
		want.state = want.state.clone()
		want.state.files[name] = is
		assert.Equal(t, was[:4]+was[12:], is[:4]+is[12:], "around the write")
	}
	require.Len(t, is, len(was))
	different := 0
	for i := range was {
		different += bits.OnesCount8(was[i] ^ is[i])
	}
	assert.Equal(t, flips, different, "bits flipped")
	got.data = want.got.data
	assert.Equal(t, want.state, after)
}

// allOff is what all calls give when the power is off.
func allOff() (said []string) {
	for _, c := range calls {
		said = append(said, fmt.Sprint(c.kind, " ", outcome{err: fsio.ErrPowerOff}))
	}
	return said
}
