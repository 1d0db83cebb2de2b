package faultfs

import (
	"sync/atomic"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/internal/names"
)

// Rule is a condition on calls and what happens to those that meet it. Build one as
// On(kinds).condition().….action(); every method changes the Rule and returns it.
//
// All conditions of a Rule must hold. Path, Range and When choose the calls that match; AfterBytes, Nth,
// From, Prob and Times then choose among the matching ones, in this order, those at which the Rule fires.
// Without them it fires at every match.
//
// A Rule has the actions that were called on it, done in this order: Delay, Hang, Panic, PowerOff, then
// Fail, or Drop, or the call itself with what Misdirect, Short, FlipBits and Zero make of it, then
// FailAfter. An action that cannot be done to a kind leaves its calls alone:
//
//	Drop                  the kinds of fsio.Mutates except OpCreate, and fsio.Closes
//	Short                 OpReadAt, OpWriteAt, OpMapWriteAt, OpCopyTo
//	FlipBits, Zero        OpReadAt, OpMapView; FlipBits also OpWriteAt, OpMapWriteAt
//	Misdirect             OpReadAt, OpWriteAt, OpMapView, OpMapWriteAt, OpCopyTo
//	all others            every kind
//
// Matrix lists them. A call that is left alone counts as a match, but not as one at which the Rule fired.
//
// A Rule that can do nothing is refused by New, with the reason: one without an action, with an action that
// none of its kinds allows, with a number that makes no sense, with conditions that never hold, or with
// actions of which one hides the other, as Fail hides Short.
//
// A Rule belongs to one Faults, and may not be changed once it was given to it.
type Rule struct {
	kinds fsio.Kind
	conds condition // those that were set

	glob       string
	off, size  int64
	when       func(op *fsio.Op) bool
	afterBytes int64
	nth, from  int
	prob       float64
	times      int

	acts action // those that were set

	wait      time.Duration
	release   <-chan struct{}
	value     any
	failure   namedError // Fail
	lateError namedError // FailAfter
	keep      int        // Short
	cutError  namedError // Short
	bits      int
	delta     int64

	given atomic.Bool // to a Faults
}

// condition is a set of conditions.
type condition uint16

const (
	condPath condition = 1 << iota
	condRange
	condWhen
	condAfterBytes
	condNth
	condFrom
	condProb
	condTimes
)

// On starts a Rule for calls whose kind is in kinds.
func On(kinds fsio.Kind) *Rule { return &Rule{kinds: kinds} }

// Path matches calls whose Op.Path, or whose Op.To, matches glob. It is path.Match on the whole name,
// except that an element "**" stands for any number of elements, none included. A malformed glob panics.
func (r *Rule) Path(glob string) *Rule {
	if err := names.CheckGlob(glob); err != nil {
		panic("faultfs: glob " + glob + ": " + err.Error())
	}
	r.conds |= condPath
	r.glob = glob
	return r
}

// Range matches calls that touch a byte of [off, off+n): those that have an Op.Off.
func (r *Rule) Range(off, n int64) *Rule {
	r.conds |= condRange
	r.off, r.size = off, n
	return r
}

// When matches calls for which fn returns true. fn must not keep op, and may be called concurrently.
func (r *Rule) When(fn func(op *fsio.Op) bool) *Rule {
	r.conds |= condWhen
	r.when = fn
	return r
}

// AfterBytes fires only once the matching calls before have written n bytes or more. A call that failed
// counts as none.
func (r *Rule) AfterBytes(n int64) *Rule {
	r.conds |= condAfterBytes
	r.afterBytes = n
	return r
}

// Nth fires at the n-th matching call only, counted from 1. After AfterBytes it counts the calls that come
// once the bytes were written.
func (r *Rule) Nth(n int) *Rule {
	r.conds |= condNth
	r.nth = n
	return r
}

// From fires at the n-th matching call, counted as for Nth, and at every later one.
func (r *Rule) From(n int) *Rule {
	r.conds |= condFrom
	r.from = n
	return r
}

// Prob fires with probability p at each matching call.
func (r *Rule) Prob(p float64) *Rule {
	r.conds |= condProb
	r.prob = p
	return r
}

// Times fires n times at most.
func (r *Rule) Times(n int) *Rule {
	r.conds |= condTimes
	r.times = n
	return r
}

// Fail returns err, and the call is not made. The caller gets err as it is, without the fs.PathError that a
// real disk's error comes in.
func (r *Rule) Fail(err error) *Rule {
	r.acts |= fail
	r.failure = nameOf(err)
	return r
}

// FailAfter makes the call, and returns err though it succeeded. A rename that failed this way has
// happened; a File, Map or lock that the call gave is closed.
func (r *Rule) FailAfter(err error) *Rule {
	r.acts |= failAfter
	r.lateError = nameOf(err)
	return r
}

// Short reads or writes the first n bytes only, really, and returns n with err. A nil err is
// io.ErrShortWrite or io.ErrUnexpectedEOF: a File may not give a short count without an error. A call for n
// bytes or fewer is left alone.
func (r *Rule) Short(n int, err error) *Rule {
	r.acts |= short
	r.keep, r.cutError = n, nameOf(err)
	return r
}

// FlipBits inverts n bits, drawn from the seed: of what a read returns, so that a second read is clean, or
// of what a write stores, so that it is not. Where there are fewer than n bits all are inverted.
func (r *Rule) FlipBits(n int) *Rule {
	r.acts |= flip
	r.bits = n
	return r
}

// Zero makes a read return zeros, of the right length.
func (r *Rule) Zero() *Rule {
	r.acts |= zero
	return r
}

// Misdirect makes a read or write land delta bytes away from where it was sent, but not before position 0.
// A misdirected View reads through the File of the Map, which must still be open, and is not misdirected where
// FlipBits or Zero alter it.
func (r *Rule) Misdirect(delta int64) *Rule {
	r.acts |= misdirect
	r.delta = delta
	return r
}

// Drop returns nil, and the call is not made: the lying disk.
func (r *Rule) Drop() *Rule {
	r.acts |= drop
	return r
}

// Delay waits for d before it goes on, by the function given to Faults.SleepWith.
func (r *Rule) Delay(d time.Duration) *Rule {
	r.acts |= delay
	r.wait = d
	return r
}

// Hang waits until release is closed before it goes on, the Done of a context for example. PowerOff ends the
// wait, too.
func (r *Rule) Hang(release <-chan struct{}) *Rule {
	r.acts |= hang
	r.release = release
	return r
}

// PowerOff returns fsio.ErrPowerOff, from this call and from every later one of any kind, none of which is
// made. Calls in progress return it, too, made or not. Only what fsio.Closes names is done, though it returns
// fsio.ErrPowerOff like the rest: no machine without power holds a lock, and no test is to leak a file.
func (r *Rule) PowerOff() *Rule {
	r.acts |= powerOff
	return r
}

// Panic panics with v, as a process that dies at this call; the call is not made.
func (r *Rule) Panic(v any) *Rule {
	r.acts |= panics
	r.value = v
	return r
}
