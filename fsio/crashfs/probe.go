package crashfs

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stratalog/strata/scheduler"
)

// verdict is how a call of a workload or a check ended.
type verdict struct {
	err  error // nil: well
	how  ending
	said string // on the testing.TB; of a call that did not end well it is in err, too
}

// slip reports whether v is a mistake that no fault of a disk excuses: a panic of the Go runtime.
func (v *verdict) slip() bool {
	_, ok := errors.AsType[runtime.Error](v.err)
	return v.how == panicked && ok
}

// ending says how, for people: "check failed".
type ending string

const (
	failed   ending = "failed"
	panicked ending = "panicked"
	skipped  ending = "skipped"
	hung     ending = "did not return"
	flooded  ending = "made too many steps"
)

// errStray says that a call ended by a method of another testing.TB than its own: the usual slip is to use the
// test's t inside a check.
var errStray = errors.New("it ended its goroutine without a word: FailNow, Fatal and Skip are those of the " +
	"testing.TB that it is given, not of the test around it")

// attempt calls f with a testing.TB of its own, and says how it ended. A call that takes longer than limit is
// left behind; a limit of 0 or less is none.
func attempt(tb testing.TB, limit time.Duration, f func(tb testing.TB) error) verdict {
	p := &probe{TB: tb}
	if !scheduler.Within(limit, func() {
		defer p.cleanUp()
		p.call(func() error { return f(p) })
	}) {
		return verdict{how: hung, err: fmt.Errorf("not done after %v; all goroutines, the one left behind first:\n%s", limit, stacks())}
	}
	return p.verdict()
}

// stacksBytes is how much of all stacks is shown.
const stacksBytes = 256 << 10

// stacks are those of all goroutines but this one, at first those of attempts.
func stacks() string {
	text := make([]byte, stacksBytes)
	all := strings.Split(string(text[:runtime.Stack(text, true)]), "\n\n")[1:]
	slices.SortStableFunc(all, func(a, b string) int { return when(attempts(b)) - when(attempts(a)) })
	return strings.Join(all, "\n\n")
}

func attempts(stack string) bool { return strings.Contains(stack, "crashfs.(*probe).call") }

// probe is the testing.TB of one call of a workload or a check: what is said there is said of that call. It is
// no longer the test's where that would outlive the call, or judge the whole test.
type probe struct {
	testing.TB

	mu       sync.Mutex
	lines    []string // what was said
	failed   bool
	skipped  bool
	ended    verdict // how the call, or one of its cleanups, ended, if not well
	cleanups []func()
}

// call is a part of the attempt.
func (p *probe) call(f func() error) {
	returned := false
	defer func() {
		switch v := recover(); {
		case returned:
		case v != nil:
			p.end(verdict{how: panicked, err: panicError(v)})
		case !p.Failed() && !p.Skipped():
			p.end(verdict{how: failed, err: errStray})
		}
	}()
	err := f()
	returned = true
	if err != nil {
		p.end(verdict{how: failed, err: err})
	}
}

// panicError is the error of a panic with v.
func panicError(v any) error {
	if err, ok := v.(error); ok {
		return fmt.Errorf("panic: %w\n%s", err, debug.Stack())
	}
	return fmt.Errorf("panic: %v\n%s", v, debug.Stack())
}

// end notes how a part ended. The first that did not end well counts.
func (p *probe) end(v verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended.err == nil {
		p.ended = v
	}
}

// cleanUp does what Cleanup was given, the last one first, also where one of them ends the goroutine.
func (p *probe) cleanUp() {
	p.mu.Lock()
	last := len(p.cleanups) - 1
	if last < 0 {
		p.mu.Unlock()
		return
	}
	f := p.cleanups[last]
	p.cleanups = p.cleanups[:last]
	p.mu.Unlock()
	defer p.cleanUp()
	p.call(func() error {
		f()
		return nil
	})
}

// verdict is how all ended, with what was said.
func (p *probe) verdict() verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.ended
	v.said = strings.Join(p.lines, "\n")
	switch {
	case v.err != nil:
	case p.failed:
		v.how = failed
	case p.skipped:
		v.how = skipped
	default:
		return v
	}
	if v.said != "" {
		v.err = errors.Join(errors.New(v.said), v.err)
	} else if v.err == nil {
		v.err = errors.New("without a word")
	}
	return v
}

// note keeps what was said, if anything.
func (p *probe) note(text string, failed, skipped bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed, p.skipped = p.failed || failed, p.skipped || skipped
	if text = strings.TrimSpace(text); text != "" {
		p.lines = append(p.lines, text)
	}
}

func (p *probe) Log(args ...any)                   { p.note(fmt.Sprintln(args...), false, false) }
func (p *probe) Logf(format string, args ...any)   { p.note(fmt.Sprintf(format, args...), false, false) }
func (p *probe) Error(args ...any)                 { p.note(fmt.Sprintln(args...), true, false) }
func (p *probe) Errorf(format string, args ...any) { p.note(fmt.Sprintf(format, args...), true, false) }
func (p *probe) Fail()                             { p.note("", true, false) }

func (p *probe) FailNow() {
	p.Fail()
	runtime.Goexit()
}

func (p *probe) Fatal(args ...any) {
	p.Error(args...)
	runtime.Goexit()
}

func (p *probe) Fatalf(format string, args ...any) {
	p.Errorf(format, args...)
	runtime.Goexit()
}

func (p *probe) SkipNow() {
	p.note("", false, true)
	runtime.Goexit()
}

func (p *probe) Skip(args ...any) {
	p.Log(args...)
	p.SkipNow()
}

func (p *probe) Skipf(format string, args ...any) {
	p.Logf(format, args...)
	p.SkipNow()
}

func (p *probe) Failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

func (p *probe) Skipped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.skipped
}

func (p *probe) Cleanup(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleanups = append(p.cleanups, f)
}
