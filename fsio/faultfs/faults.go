package faultfs

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stratalog/strata/fsio"
)

// Faults is a set of Rules at work. Its Intercept is an fsio.Interceptor:
//
//	fsys := fsio.Intercept(inner, faults.Intercept)
//
// All methods may be called concurrently.
type Faults struct {
	seed  uint64
	rules atomic.Pointer[[]*counter] // replaced as a whole, under mu
	off   chan struct{}              // closed when the power is

	mu    sync.Mutex // never held while a call is made or a function of the user's runs
	sleep func(time.Duration)
	added uint64 // rules so far
	calls uint64
	fired []Firing
	dark  bool // off is closed
}

// New puts rules to work. Each counts every call that it matches. Where several fire, the first of them in
// order has the call, except that one with nothing but Delay lets the next have it, too. A Rule without an
// action panics, and so does one that can do nothing, or was given before, and nil.
func New(seed uint64, rules ...*Rule) *Faults {
	f := &Faults{
		seed:  seed,
		off:   make(chan struct{}),
		sleep: realSleep,
	}
	f.rules.Store(new([]*counter))
	f.Add(rules...)
	return f
}

// Add puts more rules to work, after those that are there; remove takes them away again. So faults can be
// kept to one phase of a test.
func (f *Faults) Add(rules ...*Rule) (remove func()) {
	for _, r := range rules {
		if r == nil {
			panic("faultfs: a rule that is nil")
		}
		if err := r.check(); err != nil {
			panic(fmt.Sprintf("faultfs: rule %q: %v", r, err))
		}
		if r.given.Swap(true) {
			panic(fmt.Sprintf("faultfs: rule %q was given before", r))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fresh := make([]*counter, len(rules))
	for i, r := range rules {
		fresh[i] = &counter{Rule: r, seed: f.seed, number: f.added}
		f.added++
	}
	f.replace(slices.Concat(*f.rules.Load(), fresh))
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.replace(slices.DeleteFunc(slices.Clone(*f.rules.Load()), func(c *counter) bool {
			return slices.Contains(fresh, c)
		}))
	}
}

// replace sets the rules. Calls in progress go on with those that they began with. The caller holds mu.
func (f *Faults) replace(rules []*counter) { f.rules.Store(&rules) }

// SleepWith sets how Delay lets time pass; at first, and with nil, it is time.Sleep. A simulation gives its
// clock's, as scheduler.Manual has Advance.
func (f *Faults) SleepWith(sleep func(time.Duration)) {
	if sleep == nil {
		sleep = realSleep
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sleep = sleep
}

// realSleep lets the time of the system pass.
func realSleep(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // what the contract says; SleepWith replaces it
}

// Calls is the number of calls seen.
func (f *Faults) Calls() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Fired returns the calls at which a Rule fired, in order. A test that asks for a fault and finds Fired
// empty has tested nothing.
func (f *Faults) Fired() []Firing {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.fired)
}

// Firing is one call at which a Rule fired.
type Firing struct {
	Call uint64 // its number among all calls, from 1
	Rule *Rule
	Op   fsio.Op // as the caller made it, without Data
}

// String is "call 10, write of wal: op=write path=wal nth=3 fail=EIO".
func (f Firing) String() string {
	return fmt.Sprintf("call %d, %v of %s: %v", f.Call, f.Op.Kind, f.Op.Path, f.Rule)
}

// Intercept lets the Rules act on one call.
func (f *Faults) Intercept(op *fsio.Op, do func() error) error {
	matching := f.match(op)
	p, on := f.plan(op, matching)
	if !on {
		return f.dead(op, do)
	}
	err := p.run(op, func() error {
		wrote := int64(len(op.Data))
		err := do()
		if err == nil && fsio.Writes.Has(op.Kind) {
			f.count(matching, wrote)
		}
		return err
	})
	if f.isOff() {
		return fsio.ErrPowerOff // the power went while the call was made
	}
	return err
}

// dead makes a call without power: it does nothing but free what a machine that stops frees.
func (f *Faults) dead(op *fsio.Op, do func() error) error {
	if fsio.Closes.Has(op.Kind) {
		_ = do() // nobody is left to be told
	}
	return fsio.ErrPowerOff
}

// match returns the rules whose conditions on a single call hold.
func (f *Faults) match(op *fsio.Op) (matching []*counter) {
	for _, c := range *f.rules.Load() {
		if c.matches(op) {
			matching = append(matching, c)
		}
	}
	return matching
}

// plan counts a call and says what is to be done to it; on is false once the power is off.
func (f *Faults) plan(op *fsio.Op, matching []*counter) (p plan, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.dark {
		return plan{}, false
	}
	p = plan{faults: f, sleep: f.sleep}
	for _, c := range matching {
		random, fires := c.fires(op.Path) // counts, also where an earlier rule has the call
		acts := c.doable(op)
		if !fires || acts == 0 || p.rule != nil {
			continue
		}
		c.firings++
		f.fired = append(f.fired, Firing{Call: f.calls, Rule: c.Rule, Op: withoutData(op)})
		if acts == delay {
			p.delays = append(p.delays, c.wait)
			continue
		}
		p.rule, p.acts, p.random = c.Rule, acts, random
	}
	return p, true
}

func withoutData(op *fsio.Op) fsio.Op {
	copied := *op
	copied.Data = nil
	return copied
}

// count adds the bytes of a call that succeeded.
func (f *Faults) count(matching []*counter, wrote int64) {
	if len(matching) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range matching {
		c.written += wrote
	}
}

// switchOff turns the power off.
func (f *Faults) switchOff() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.dark {
		f.dark = true
		close(f.off)
	}
}

// isOff reports whether the power is off.
func (f *Faults) isOff() bool {
	select {
	case <-f.off:
		return true
	default:
		return false
	}
}

var _ fsio.Interceptor = (*Faults)(nil).Intercept
