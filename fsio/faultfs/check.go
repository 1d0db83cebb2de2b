package faultfs

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/stratalog/strata/fsio"
)

// positioned are the kinds whose calls touch the bytes [Op.Off, Op.Off+Op.Size).
const positioned = fsio.Reads | fsio.Writes | fsio.OpMapFlush

// check says why r can never do what it says, or nil.
func (r *Rule) check() error {
	switch {
	case r.kinds&fsio.All == 0:
		return errors.New("it is for no kind of call")
	case r.acts == 0:
		return errors.New("it has no action")
	}
	return errors.Join(r.checkConditions(), r.checkArguments(), r.checkActions())
}

// checkConditions looks for conditions that never hold.
func (r *Rule) checkConditions() error {
	has := func(c condition) bool { return r.conds&c != 0 }
	switch {
	case has(condRange) && (r.off < 0 || r.size <= 0):
		return fmt.Errorf("range %d+%d has no byte", r.off, r.size)
	case has(condRange) && r.kinds&positioned == 0:
		return fmt.Errorf("%v touches no range of bytes", r.kinds)
	case has(condWhen) && r.when == nil:
		return errors.New("when has no function")
	case has(condAfterBytes) && r.afterBytes < 0:
		return fmt.Errorf("after %d bytes is never", r.afterBytes)
	case has(condAfterBytes) && r.kinds&fsio.Writes == 0:
		return fmt.Errorf("after %d bytes never comes: %v writes none", r.afterBytes, r.kinds)
	case has(condNth) && r.nth < 1:
		return fmt.Errorf("nth %d is below 1", r.nth)
	case has(condFrom) && r.from < 1:
		return fmt.Errorf("from %d is below 1", r.from)
	case has(condNth) && has(condFrom) && r.from > r.nth:
		return fmt.Errorf("call %d is not from %d on", r.nth, r.from)
	case has(condProb) && !(r.prob >= 0 && r.prob <= 1): // NaN included
		return fmt.Errorf("prob %v is no probability", r.prob)
	case has(condTimes) && r.times < 1:
		return fmt.Errorf("times %d is below 1", r.times)
	}
	return nil
}

// checkArguments looks for actions that do nothing.
func (r *Rule) checkArguments() error {
	has := func(a action) bool { return r.acts&a != 0 }
	switch {
	case has(fail) && r.failure.err == nil:
		return errors.New("fail has no error: drop is for that")
	case has(failAfter) && r.lateError.err == nil:
		return errors.New("failafter has no error")
	case has(short) && r.keep < 0:
		return fmt.Errorf("short %d is below 0", r.keep)
	case has(flip) && r.bits < 1:
		return fmt.Errorf("flip %d is below 1", r.bits)
	case has(misdirect) && r.delta == 0:
		return errors.New("misdirect by 0 is no misdirection")
	case has(delay) && r.wait <= 0:
		return fmt.Errorf("delay of %v is none", r.wait)
	case has(hang) && r.release == nil:
		return errors.New("hang has no release")
	}
	return nil
}

// checkActions looks for actions that no kind of the Rule allows, and for those that hide another.
func (r *Rule) checkActions() error {
	for a := range r.acts.each {
		if r.kinds&actions[a.index()].kinds == 0 {
			return fmt.Errorf("%v cannot be done to %v", a, r.kinds)
		}
	}
	ends := r.acts & (fail | drop | powerOff | panics) // the call is not made
	shapes := r.acts & (failAfter | short | flip | zero | misdirect)
	hides := func(set action) bool { return bits.OnesCount16(uint16(r.acts&set)) > 1 }
	if hides(ends) || ends != 0 && shapes != 0 || hides(flip|zero) || hides(short|failAfter) {
		return fmt.Errorf("of %v one hides the other", ends|shapes)
	}
	return nil
}
