package log_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/log"
)

// history is what a workload did, as far as the calls returned or began.
type history struct {
	values   []string // by offset
	returned int64    // end of the appends that returned: a kill keeps them
	start    int64    // that DeleteBefore or Retain returned with
	cutTo    int64    // the lowest offset that a truncation may have cut at
}

// append appends a record, and notes it.
func (h *history) append(w *world) {
	v := fmt.Sprintf("%d", len(h.values))
	h.values = append(h.values, v)
	w.append(set(w, rec(v)))
	h.returned = int64(len(h.values))
}

// workloads are what a process is killed in.
var workloads = []struct {
	name string
	run  func(t *testing.T, w *world, h *history)
}{
	{"append, roll and sync", func(t *testing.T, w *world, h *history) {
		for i := range 12 {
			h.append(w)
			if i%5 == 4 {
				require.NoError(t, w.l.Sync(w.l.EndOffset()))
			}
		}
	}},
	{"truncate", func(t *testing.T, w *world, h *history) {
		for range 12 {
			h.append(w)
		}
		require.NoError(t, w.l.Sync(12))
		h.cutTo, h.returned = 4, 4
		_, err := w.l.Truncate(4)
		require.NoError(t, err)
	}},
	{"retain", func(t *testing.T, w *world, h *history) {
		for range 12 {
			h.append(w)
		}
		_, err := w.l.DeleteBefore(5)
		require.NoError(t, err)
		h.start = 5
		_, err = w.l.Retain(t.Context())
		require.NoError(t, err)
	}},
	{"close", func(t *testing.T, w *world, h *history) {
		for range 7 {
			h.append(w)
		}
		require.NoError(t, w.l.Close())
	}},
	{"transactions", func(t *testing.T, w *world, h *history) {
		for i := range int32(4) {
			h.append(w)
			h.values = append(h.values, "", "")
			w.append(batch(t, producerHeader(i), rec(""), rec("")))
			h.returned = int64(len(h.values))
			h.values = append(h.values, "marker")
			w.end(1, 0, i%2 == 0)
			h.returned = int64(len(h.values))
		}
	}},
}

// TestKillAnywhere kills each workload before each call that changes something, opens what is there, and
// finds what a kill keeps: every append that returned, nothing that was not appended, no hole, and a log that
// goes on and comes back the same.
func TestKillAnywhere(t *testing.T) {
	images := 0
	for _, row := range workloads {
		t.Run(row.name, func(t *testing.T) {
			for step := 0; ; step++ {
				w := newWorld(t, backends[0])
				w.o.Config.SegmentBytes = 250
				var h history
				h.cutTo = 1 << 62
				var image fsio.FS
				var then history
				n := 0
				w.intercept(func(op *fsio.Op, do func() error) error {
					if fsio.Mutates.Has(op.Kind) {
						if n == step {
							image = inMemory(t)
							copyAll(t, image, w.fs, w.dir)
							then = h
						}
						n++
					}
					return do()
				})
				w.open()
				row.run(t, w, &h)
				_ = w.l.Close()
				if image == nil {
					return
				}
				images++
				w.fs, w.o.FS = image, image
				checkKilled(t, w, then, step)
			}
		})
	}
	t.Logf("RESULT images=%d failures=0", images)
}

// copyAll is copyTree of a directory that may not be there yet.
func copyAll(t *testing.T, to, from fsio.FS, dir string) {
	t.Helper()
	if _, err := from.Stat(dir); err == nil {
		copyTree(t, to, from, dir)
	}
}

// checkKilled opens what a kill left.
func checkKilled(t *testing.T, w *world, h history, step int) {
	t.Helper()
	w.open()
	start, end := w.l.StartOffset(), w.l.EndOffset()
	require.GreaterOrEqual(t, end, min(h.returned, h.cutTo), "step %d: an append that returned is lost", step)
	require.LessOrEqual(t, end, int64(len(h.values)), "step %d", step)
	require.GreaterOrEqual(t, start, h.start, "step %d: deleted records are back", step)
	got := w.values(start, log.ReadToEnd)
	for offset := start; offset < end; offset++ {
		value, there := got[offset]
		require.Equal(t, h.values[offset] != "marker", there, "step %d: offset %d", step, offset)
		if there {
			require.Equal(t, h.values[offset], value, "step %d: offset %d", step, offset)
		}
	}
	require.Equal(t, end, w.append(set(t, rec("more"))).BaseOffset)
	w.close()
	w.open()
	require.Equal(t, end+1, w.l.EndOffset())
	require.Equal(t, "more", w.first(end).value)
	w.close()
}
