//go:build race

package log_test

// raceEnabled says that allocations count the race detector's.
const raceEnabled = true
