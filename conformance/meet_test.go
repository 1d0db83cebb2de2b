package conformance_test

import (
	"sync"
	"sync/atomic"
)

// What breaks a rule about calls that come beside each other does so for certain: it waits for the other call rather
// than for some time. It waits once; where nobody comes, the row ends by its limit, and has found nothing.

// meeting is where calls meet: the first waits for the second, and all others pass.
type meeting struct {
	came   atomic.Int64
	second chan struct{}
}

func newMeeting() *meeting { return &meeting{second: make(chan struct{})} }

func (m *meeting) wait() {
	if m.came.Add(1) == 2 {
		close(m.second)
	}
	<-m.second
}

// alone refuses calls that come beside each other. The first stays until the second has come.
type alone struct {
	*meeting
	inside atomic.Int64
}

func newAlone() *alone { return &alone{meeting: newMeeting()} }

// do calls f where nobody else is inside, and says whether it did.
func (a *alone) do(f func()) bool {
	defer a.inside.Add(-1)
	first := a.inside.Add(1) == 1
	a.wait()
	if first {
		f()
	}
	return first
}

// gap is a moment in which it shows that something is broken. The first gap stays until somebody has looked into it.
type gap struct {
	mu     sync.RWMutex // nobody looks while the damage is done: who saw it without being noticed may not come again
	open   bool
	looked chan struct{}
	shut   func()
}

func newGap() *gap {
	looked := make(chan struct{})
	return &gap{looked: looked, shut: sync.OnceFunc(func() { close(looked) })}
}

// show does damage, and returns when somebody has looked since.
func (g *gap) show(damage func()) {
	g.mu.Lock()
	damage()
	g.open = true
	g.mu.Unlock()
	<-g.looked
}

// look calls f, which looks.
func (g *gap) look(f func()) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.open {
		defer g.shut() // also where f panics of what it sees
	}
	f()
}
