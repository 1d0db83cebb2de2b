package segment_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/stratalog/strata/segment"
)

// TestAllocations: what is done for each append and each look-up takes no memory.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("pools lose things on purpose")
	}
	w := world{fs: osFS(t)}
	s := w.open(t, 0, segment.Options{IndexIntervalBytes: 300})
	for i := range int64(100) {
		put(t, s, batch(t, i, 1, 50))
	}
	bytes := batch(t, 100, 1, 50)
	hs := headers(t, bytes)
	offset := int64(0)
	for _, row := range []struct {
		name string
		want float64
		do   func()
	}{
		{"Append", 0, func() {
			_, _ = s.Append(bytes, hs)
			hs[0].BaseOffset++
			hs[0].LastOffset++
		}},
		{"Find", 0, func() {
			_, _, _ = s.Find(offset % 100)
			offset += 37
		}},
		{"Read and Close", 1, func() { // the Slice
			r, _, _ := s.Read(offset%100, segment.Limits{MaxBytes: 4096})
			_ = r.Close()
			offset += 37
		}},
	} {
		assert.LessOrEqual(t, testing.AllocsPerRun(200, row.do), row.want, row.name)
	}
}
