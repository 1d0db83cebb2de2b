package crashfs

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// probe is the testing.TB of one call of a workload or a check: what is said there is the error of that
// call. FailNow ends it by a panic, not by the end of the goroutine, which has more calls to make.
type probe struct {
	testing.TB

	mu     sync.Mutex
	errs   []string
	failed bool
}

// ended is what FailNow and SkipNow panic with.
type ended struct{}

func (p *probe) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = true
	if text = strings.TrimSpace(text); text != "" {
		p.errs = append(p.errs, text)
	}
}

func (p *probe) Error(args ...any)                 { p.say(fmt.Sprintln(args...)) }
func (p *probe) Errorf(format string, args ...any) { p.say(fmt.Sprintf(format, args...)) }
func (p *probe) Fail()                             { p.say("") }

func (p *probe) FailNow() {
	p.say("")
	panic(ended{})
}

func (p *probe) Fatal(args ...any) {
	p.Error(args...)
	panic(ended{})
}

func (p *probe) Fatalf(format string, args ...any) {
	p.Errorf(format, args...)
	panic(ended{})
}

func (p *probe) Failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// err is what was said.
func (p *probe) err() error {
	if !p.Failed() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.errs) == 0 {
		return errors.New("failed without a word")
	}
	return errors.New(strings.Join(p.errs, "\n"))
}

// attempt calls f with a probe, and returns what went wrong. panicked says that f panicked.
func attempt(tb testing.TB, f func(tb testing.TB) error) (err error, panicked bool) {
	p := &probe{TB: tb}
	defer func() {
		switch v := recover().(type) {
		case nil:
		case ended:
			err = p.err()
		default:
			err, panicked = fmt.Errorf("panic: %v\n%s", v, debug.Stack()), true
		}
	}()
	err = f(p)
	if said := p.err(); said != nil {
		err = errors.Join(said, err)
	}
	return err, false
}
