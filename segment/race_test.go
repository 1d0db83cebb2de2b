//go:build race

package segment_test

// raceEnabled says that pools lose things on purpose.
const raceEnabled = true
