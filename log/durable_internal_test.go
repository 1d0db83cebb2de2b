package log

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Sync that waited for a truncation wants what it was called for: others may have appended up to there since, and
// after nil the recovery point is there.
func TestSyncBehindATruncation(t *testing.T) {
	var s syncer
	s.init(0)
	s.hold()
	mine := make(chan bool)
	go func() {
		ok, err := s.enter(100, false, func() error { return nil })
		mine <- ok && err == nil
	}()
	for s.wanted() < 100 { // then it waits
		runtime.Gosched()
	}
	s.lower(50)
	require.EqualValues(t, 50, s.wanted())
	s.release()
	require.True(t, <-mine)
	require.EqualValues(t, 100, s.wanted())
	s.release()
}
