//go:build !linux || portable

package fsio

import (
	"io/fs"
	"os"
	"slices"
	"sync"
)

// process is what this process has locked, where the system's locks do not exclude their own process.
var process struct {
	mu   sync.Mutex
	held []fs.FileInfo
}

// lock is Lock without the wrapping of its errors. What the process holds it does not even open.
func (f *OSFS) lock(name string) (*heldLock, error) {
	process.mu.Lock()
	defer process.mu.Unlock()
	if seen, err := f.look(name); err == nil && holding(seen) >= 0 {
		return nil, ErrLocked
	}
	l, err := f.takeOpened(name)
	if err != nil {
		return nil, err
	}
	info, err := l.file.Stat()
	if err != nil {
		return nil, join(err, l.Close())
	}
	process.held = append(process.held, info)
	l.forget = func() {
		process.mu.Lock()
		defer process.mu.Unlock()
		i := holding(info)
		process.held = slices.Delete(process.held, i, i+1)
	}
	return l, nil
}

// holding is the place of a file among those held, or -1.
func holding(info fs.FileInfo) int {
	return slices.IndexFunc(process.held, func(h fs.FileInfo) bool { return os.SameFile(h, info) })
}
