package conformance

import (
	"testing"
	"time"
)

// SchedulerRows are the rows of TestScheduler.
func SchedulerRows() (rows []Row) {
	for _, r := range schedulerRows {
		rows = append(rows, Row{Name: r.name, Rule: r.rule})
	}
	return rows
}

// TryScheduler runs the row of that name, and returns what it found wrong.
func TryScheduler(tb testing.TB, name string, newS NewScheduler, limit time.Duration) (failures []string) {
	tb.Helper()
	for _, r := range schedulerRows {
		if r.name == name {
			s, pass := newS(tb)
			failures = r.try(schedule{s, pass}, limit).failures
		}
	}
	return failures
}
