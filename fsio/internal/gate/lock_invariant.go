//go:build invariant

package gate

import (
	"sync"
	"time"
)

// Lock waits a second for the Views of a Map to end, who hold mu for reading, and reports whether they did.
// One that takes longer is most likely waiting for its own caller.
func Lock(mu *sync.RWMutex) bool {
	for range 1000 {
		if mu.TryLock() {
			return true
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // a deadlock is found in real time, and in this build only
	}
	return false
}
