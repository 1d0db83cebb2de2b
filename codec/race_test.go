//go:build race

package codec_test

// raceEnabled says that pools lose things on purpose.
const raceEnabled = true
