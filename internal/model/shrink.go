package model

import "slices"

// Shrink takes operations out of a script as long as fails says that what is left still fails, and then makes
// the numbers that are left 0 where it may.
func Shrink(script []byte, fails func(script []byte) bool) []byte {
	for size := ops(script); size > 0; size /= 2 {
		for at := 0; at < ops(script); {
			from, to := headBytes+opBytes*at, min(headBytes+opBytes*(at+size), len(script))
			if shorter := slices.Delete(slices.Clone(script), from, to); fails(shorter) {
				script = shorter
			} else {
				at += size
			}
		}
	}
	for i := range script {
		if script[i] == 0 || i >= headBytes && (i-headBytes)%opBytes == 0 { // a kind is no number
			continue
		}
		simpler := slices.Clone(script)
		if simpler[i] = 0; fails(simpler) {
			script = simpler
		}
	}
	return script
}
