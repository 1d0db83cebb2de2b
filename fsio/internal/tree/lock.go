package tree

import (
	"sync"

	"github.com/stratalog/strata/fsio"
)

// lock takes the file or directory name, which it makes a file where nothing is.
func (t *Tree) lock(name string) (*lock, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, err := t.find(name)
	if err != nil {
		return nil, err
	}
	if at.node == nil {
		if at, err = t.create(at, 0o644); err != nil {
			return nil, err
		}
	}
	if at.node.locked {
		return nil, fsio.ErrLocked
	}
	at.node.locked = true
	at.node.users++
	l := &lock{}
	l.free = sync.OnceValue(func() error {
		t.mu.Lock()
		defer t.mu.Unlock()
		at.node.locked = false
		return t.releaseLocked(at.node)
	})
	return l, nil
}

// lock is what Tree.Lock returns.
type lock struct{ free func() error }

// Close frees the lock.
func (l *lock) Close() error { return l.free() }
