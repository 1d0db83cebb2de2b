package conformance

import "testing"

// SchedulerRows are the rows of TestScheduler.
func SchedulerRows() []Row { return rowsOf(schedulerRows) }

// TryScheduler runs the row of that name on what newS makes.
func TryScheduler(tb testing.TB, name string, newS NewScheduler) Outcome {
	tb.Helper()
	s, pass := newS(tb)
	return tryRow(schedulerRows, name, schedule{s, pass})
}
