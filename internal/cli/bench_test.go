package cli

import (
	"os"
	"testing"
)

// TestWorks does each work on a small scale: it has to measure both sides, and to leave nothing behind. What it
// measures is no matter of a test.
func TestWorks(t *testing.T) {
	for _, w := range works {
		t.Run(w.name, func(t *testing.T) {
			dir := t.TempDir()
			w.amount >>= 10
			line, err := w.measure(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if line.Name != w.name || line.Value <= 0 || line.Limit <= 0 || line.Ratio != line.Value/line.Limit {
				t.Errorf("measure() = %+v, want rates above 0 and their ratio", line)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
