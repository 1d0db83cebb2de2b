package log_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/log"
)

// The tests here, and in the files beside, are scenarios of Kafka's LogLoaderTest.

// remove removes files of the log that have one of the endings.
func (w *world) remove(endings ...string) {
	w.Helper()
	for _, name := range w.names() {
		if slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(name, e) }) {
			require.NoError(w, w.fs.Remove(path.Join(w.dir, name)))
		}
	}
}

// entries are the numbers of entries in the offset indexes and in the time indexes.
func (w *world) entries() (offset, time []int) {
	for _, s := range w.l.State().Segments {
		offset, time = append(offset, s.IndexEntries), append(time, s.TimeIndexEntries)
	}
	return offset, time
}

// ticks appends so many records, each in a batch of its own and 10 ms after the one before.
func (w *world) ticks(n int) {
	w.Helper()
	for i := range int64(n) {
		w.append(stamped(w, started+10*i))
	}
}

// findTicks finds each of the n records by its offset, and by its time where times tells to.
func (w *world) findTicks(n int, times bool) {
	w.Helper()
	for i := range int64(n) {
		require.Equal(w, i, w.first(i).offset)
		if !times {
			continue
		}
		f, ok, err := w.l.OffsetForTime(started + 10*i)
		require.NoError(w, err)
		require.True(w, ok)
		require.Equal(w, i, f.Offset, "the time of %d", i)
	}
	_, ok, err := w.l.OffsetForTime(started + 10*int64(n))
	require.NoError(w, err)
	require.False(w, ok)
}

// H6 testReopenThenTruncate.
func TestH6ReopenThenTruncate(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes, w.o.Config.IndexIntervalBytes = int64(5*len(stamped(t, started))), 10000
		w.open()
		w.ticks(100)
		w.close()
		w.open()
		_, err := w.l.Truncate(3)
		require.NoError(t, err)
		require.Equal(t, []int64{0}, w.bases())
		require.EqualValues(t, 3, w.l.EndOffset())
	})
}

// H9 testCleanShutdownFile: behind a clean stop nothing is recovered, wherever the recovery point is.
func TestH9CleanStop(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes, w.o.Config.IndexIntervalBytes = 1000, 1
		w.o.Resume = &log.Resume{}
		w.open()
		w.ticks(100)
		w.close()
		flip(t, w.fs, path.Join(w.dir, name20(0)+".log"), 70)
		before := w.files()
		w.o.Events.Recovered = func(r log.Recovery) { t.Errorf("recovered: %+v", r) }
		w.o.Events.Damaged = func(d log.Damage) { t.Errorf("damaged: %+v", d) }
		w.o.Resume = &log.Resume{Clean: true, RecoveryPoint: 0}
		w.open()
		require.EqualValues(t, 100, w.l.EndOffset())
		require.EqualValues(t, 100, w.l.RecoveryPoint())
		w.close()
		sameFiles(t, before, w.files())
	})
}

// H11 testLeaderEpochCacheClearedAfterStaticMessageFormatDowngrade: formats without leader epochs have none.
func TestH11OldFormatForgetsEpochs(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		_, err := w.l.AppendWith(set(t, rec("v")), log.AppendOptions{LeaderEpoch: 5})
		require.NoError(t, err)
		require.Equal(t, []log.Epoch{{Epoch: 5, StartOffset: 0}}, w.l.Epochs())
		w.close()
		require.Equal(t, "0\n1\n5 0\n", w.files()["leader-epoch-checkpoint"])
		w.o.Config.Format = log.FormatV1
		w.open()
		require.Empty(t, w.l.Epochs())
		w.append(set(t, rec("v")))
		require.Empty(t, w.l.Epochs())
		w.close()
		require.NotContains(t, w.files()["leader-epoch-checkpoint"], "5 0")
	})
}

// H24 testLogEndLessThanStartAfterReopen: damage below the start takes all that was behind it, and the log begins
// anew at its start.
func TestH24DamageBelowTheStart(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Resume = &log.Resume{}
		w.open()
		for range 5 {
			w.fill("v")
			_, err := w.l.Roll()
			require.NoError(t, err)
		}
		require.Len(t, w.bases(), 6)
		_, err := w.l.DeleteBefore(4)
		require.NoError(t, err)
		w.kill()
		w.spoil(1)
		w.o.Resume = &log.Resume{StartOffset: 4}
		w.open()
		require.Equal(t, []int64{4}, w.bases())
		require.EqualValues(t, 4, w.l.StartOffset())
		require.EqualValues(t, 4, w.l.EndOffset())
	})
}

// spoil overwrites the log of the segment at base with text.
func (w *world) spoil(base int64) {
	w.Helper()
	name := path.Join(w.dir, name20(base)+".log")
	content := read(w, w.fs, name)
	copy(content, "corrupted")
	write(w, w.fs, name, content)
}

// H26 testRecoverWithEmptyActiveSegment: the active segment has no indexes yet, as a broker leaves it that was
// killed behind a roll.
func TestH26EmptyActiveSegment(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes, w.o.Config.IndexIntervalBytes = 1000, 1
		w.o.Resume = &log.Resume{}
		w.open()
		w.ticks(100)
		_, err := w.l.Roll()
		require.NoError(t, err)
		require.NoError(t, w.l.Sync(100))
		w.kill()
		w.remove(name20(100)+".index", name20(100)+".timeindex")
		w.o.Resume = &log.Resume{RecoveryPoint: 100}
		w.open()
		require.EqualValues(t, 100, w.l.RecoveryPoint())
		require.EqualValues(t, 100, w.l.EndOffset())
		require.True(t, w.exists(name20(100)+".index"))
		require.True(t, w.exists(name20(100)+".timeindex"))
		offsets, times := w.entries()
		require.Zero(t, offsets[len(offsets)-1])
		require.Zero(t, times[len(times)-1])
		w.findTicks(100, true)
	})
}

// H29 testLogLoaderWithInconsistentSegments, H30 of Kafka 0.10: a log that a compaction made of two segments, without
// an index, takes the place of both; with a .cleaned one at the same offset or below, it was not complete.
func TestH29Swaps(t *testing.T) {
	for _, cleaned := range []bool{false, true} {
		t.Run(fmt.Sprintf("cleaned %v", cleaned), func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.o.Config.SegmentBytes, w.o.Config.IndexIntervalBytes = 400, 1
				w.open()
				w.ticks(20)
				bases := w.bases()
				w.close()
				name := func(i int) string { return path.Join(w.dir, name20(bases[i])) }
				both := append(read(t, w.fs, name(1)+".log"), read(t, w.fs, name(2)+".log")...)
				write(t, w.fs, name(1)+".log.swap", both)
				var got log.Recovery
				w.o.Events.Recovered = func(r log.Recovery) { got = r }
				if cleaned {
					write(t, w.fs, name(0)+".log.cleaned", both)
					w.open()
					require.Equal(t, []int64{0, bases[1]}, got.Undone)
					require.Equal(t, bases, w.bases())
				} else {
					w.open()
					require.Equal(t, []int64{bases[1]}, got.Finished)
					require.Equal(t, slices.Delete(slices.Clone(bases), 2, 3), w.bases())
					offsets, _ := w.entries()
					require.EqualValues(t, bases[3]-bases[1]-1, offsets[1], "all but the first have an entry")
				}
				w.findTicks(20, true)
				for _, name := range w.names() {
					require.NotContains(t, name, ".swap")
					require.NotContains(t, name, ".cleaned")
				}
			})
		})
	}
}
