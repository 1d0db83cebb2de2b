package scheduler_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/stratalog/strata/scheduler"
)

func TestWithin(t *testing.T) {
	for _, row := range []struct {
		name        string
		limit, runs time.Duration
		ended       bool
		lasts       time.Duration
	}{
		{"in time", 3 * ms, ms, true, ms},
		{"too long", 3 * ms, 5 * ms, false, 3 * ms},
		{"no limit", 0, time.Hour, true, time.Hour},
		{"less than none", -1, time.Hour, true, time.Hour},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, done := time.Now(), false
				ended := scheduler.Within(row.limit, func() {
					time.Sleep(row.runs)
					done = true
				})
				assert.Equal(t, row.lasts, time.Since(start))
				assert.Equal(t, row.ended, ended)
				assert.True(t, !ended || done)
				time.Sleep(time.Hour) // who was left behind ends, too
			})
		})
	}
}

// A test's FailNow ends the goroutine that it is called on.
func TestWithinGoexit(t *testing.T) {
	assert.True(t, scheduler.Within(0, runtime.Goexit))
	assert.True(t, scheduler.Within(time.Hour, runtime.Goexit))
}
