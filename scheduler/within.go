package scheduler

import "time"

// Within calls fn on a goroutine of its own, waits until it has ended, and returns true; or false, where it has
// not ended after limit. It is left behind then: nothing ends a goroutine from outside.
//
//   - A limit of 0 or less is none.
//   - runtime.Goexit in fn ends fn only. A panic of fn is not recovered.
//   - What fn had written may be read where Within returned true, and not where it returned false.
//
// It is for those who must report that something hangs, which no Clock can tell: the time is the system's.
func Within(limit time.Duration, fn func()) bool {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fn()
	}()
	if limit <= 0 {
		<-ended
		return true
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}
