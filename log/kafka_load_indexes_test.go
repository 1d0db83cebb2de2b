package log_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/log"
)

// The indexes, as a log is loaded.

// H2 testIndexRebuild, H4 testCorruptIndexRebuild: indexes that are missing or text are built anew, as they were.
// H27 testTimeIndexMissing: also after a clean stop, where an offset index is missing. A time index that is
// missing beside a good offset index is made empty, as in Kafka, and its segment has no times any more.
func TestH2IndexesAreBuiltAnew(t *testing.T) {
	text := func(t *testing.T, w *world) {
		for _, name := range w.names() {
			if strings.HasSuffix(name, ".index") || strings.HasSuffix(name, ".timeindex") {
				write(t, w.fs, path.Join(w.dir, name), []byte("  "))
			}
		}
	}
	for _, row := range []struct {
		name   string
		clean  bool
		damage func(t *testing.T, w *world)
		same   bool // as before
	}{
		{"H2 both removed", false, func(_ *testing.T, w *world) { w.remove(".index", ".timeindex") }, true},
		{"H4 text", false, text, true},
		{"H27 both removed, clean", true, func(_ *testing.T, w *world) { w.remove(".index", ".timeindex") }, true},
		{"H27 offset indexes removed, clean", true, func(_ *testing.T, w *world) { w.remove(".index") }, true},
		{"H27 time indexes removed, clean", true, func(_ *testing.T, w *world) { w.remove(".timeindex") }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.o.Config.SegmentBytes, w.o.Config.IndexIntervalBytes = 3000, 1
				w.o.Resume = &log.Resume{}
				w.open()
				w.ticks(200)
				w.close()
				closed := w.files()
				row.damage(t, w)
				w.o.Resume = &log.Resume{Clean: row.clean}
				w.open()
				w.findTicks(200, row.same)
				_, times := w.entries()
				require.Equal(t, row.same, slices.Max(times[:len(times)-1]) > 0)
				w.close()
				for name, content := range w.files() {
					if strings.HasSuffix(name, ".index") || strings.HasSuffix(name, ".timeindex") && row.same {
						require.Equal(t, closed[name], content, name)
					}
				}
			})
		})
	}
}

// H3 testRebuildTimeIndexForOldMessages: messages of magic 0 have no timestamps, and give no entries.
func TestH3TimeIndexOfOldMessages(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes, w.o.Config.IndexIntervalBytes, w.o.Config.Format = 200, 1, log.FormatV0
		w.open()
		w.ticks(50)
		require.Greater(t, len(w.bases()), 5)
		w.close()
		w.remove(".timeindex")
		w.o.Resume = &log.Resume{}
		w.open()
		offsets, times := w.entries()
		for i := range times[:len(times)-1] {
			require.Positive(t, offsets[i])
			require.Zero(t, times[i])
		}
		w.close()
		for name, content := range w.files() {
			if strings.HasSuffix(name, ".timeindex") {
				require.Empty(t, content, name)
			}
		}
	})
}

// H5 testBogusIndexSegmentsAreRemoved: indexes without a log.
func TestH5IndexesWithoutALog(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		require.NoError(t, w.fs.MkdirAll(w.dir, 0o755))
		for _, base := range []int64{0, 5} {
			write(t, w.fs, path.Join(w.dir, name20(base)+".index"), nil)
			write(t, w.fs, path.Join(w.dir, name20(base)+".timeindex"), nil)
		}
		w.o.Config.SegmentBytes, w.o.Config.IndexIntervalBytes = 200, 1
		w.open()
		for _, ext := range []string{".index", ".timeindex"} {
			require.NotEmpty(t, w.files()[name20(0)+ext], "space is reserved")
			require.False(t, w.exists(name20(5)+ext))
		}
		w.ticks(10)
		w.findTicks(10, true)
	})
}
