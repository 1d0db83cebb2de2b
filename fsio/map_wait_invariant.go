//go:build invariant

package fsio

import (
	"sync"
	"time"
)

// lockMap waits a second for the Views of a Map to end, and reports whether they did. One that takes longer
// is most likely waiting for its own caller.
func lockMap(mu *sync.RWMutex) bool {
	for range 1000 {
		if mu.TryLock() {
			return true
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // a deadlock is found in real time, and in this build only
	}
	return false
}
