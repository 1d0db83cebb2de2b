package log_test

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/log"
)

// fifteen fills a log with 15 records, five a segment, with the given timestamps.
func (w *world) fifteen(ms int64) {
	w.Helper()
	size := int64(len(stamped(w, ms)))
	c := w.o.Config
	c.SegmentBytes = 5 * size
	w.o.Config = c
	w.open()
	for range 15 {
		w.append(stamped(w, ms))
	}
	require.Equal(w, []int64{0, 5, 10}, w.bases())
}

// retain applies retention and returns the number of segments.
func (w *world) retain() int {
	w.Helper()
	d, err := w.l.Retain(w.Context())
	require.NoError(w, err)
	return d.Segments
}

// G56 shouldDeleteSizeBasedSegments, L-29.
func TestG56RetainBySize(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.fifteen(started)
		size := int64(len(stamped(t, started)))
		for _, row := range []struct {
			limit int64
			want  []int64
		}{
			{-1, []int64{0, 5, 10}},
			{15 * size, []int64{0, 5, 10}},
			{10*size + 1, []int64{0, 5, 10}},
			{10 * size, []int64{5, 10}},
			{1, []int64{10}},
			{log.Zero, []int64{15}},
			{log.Zero, []int64{15}},
		} {
			c := w.o.Config
			c.RetainBytes = row.limit
			require.NoError(t, w.l.Configure(c))
			w.retain()
			require.Equal(t, row.want, w.bases(), "limit %d", row.limit)
			require.Equal(t, row.want[0], w.l.StartOffset())
		}
		require.EqualValues(t, 15, w.append(set(t, rec("x"))).BaseOffset)
	})
}

// G57 shouldDeleteTimeBasedSegmentsReadyToBeDeleted, G58, G60.
func TestG57RetainByAge(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.RetainAge = 10 * time.Second
		w.fifteen(started)
		w.clock.Advance(10 * time.Second)
		require.Zero(t, w.retain(), "not older than the age")
		w.clock.Advance(time.Millisecond)
		c := w.o.Config
		c.Cleanup = log.Compact
		require.NoError(t, w.l.Configure(c))
		require.Zero(t, w.retain(), "not a policy that deletes")
		c.Cleanup = log.Compact | log.Delete
		require.NoError(t, w.l.Configure(c))
		require.Equal(t, 3, w.retain())
		require.Equal(t, []int64{15}, w.bases())
		require.Zero(t, w.retain())
	})
}

// G61 testLogDeletionAfterDeleteRecords, G52 testCannotIncrementLogStartOffsetPastHighWatermark: the start moves, and whole segments below it go.
func TestG61DeleteBefore(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.fifteen(started)
		require.NoError(t, w.l.AssignEpoch(1, 7))
		_, err := w.l.DeleteBefore(16)
		require.ErrorIs(t, err, log.ErrOffsetOutOfRange)
		for _, row := range []struct {
			offset int64
			bases  []int64
		}{{1, []int64{0, 5, 10}}, {6, []int64{5, 10}}, {15, []int64{15}}} {
			moved, err := w.l.DeleteBefore(row.offset)
			require.NoError(t, err)
			require.True(t, moved)
			moved, err = w.l.DeleteBefore(row.offset)
			require.NoError(t, err)
			require.False(t, moved)
			require.Equal(t, row.offset, w.l.Epochs()[0].StartOffset)
			_, err = w.l.Read(row.offset-1, 10)
			require.ErrorIs(t, err, log.ErrOffsetOutOfRange)
			w.kill()
			w.open()
			require.Equal(t, row.offset, w.l.StartOffset(), "it is durable")
			if row.offset == 15 {
				c := w.o.Config
				c.RetainBytes = log.Zero
				require.NoError(t, w.l.Configure(c))
			}
			w.retain()
			require.Equal(t, row.bases, w.bases())
		}
	})
}

// G54 testDeleteOldSegments, L-11: what is at or above the high watermark stays.
func TestG54RetainBelowTheHighWatermark(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		w.o.Config.RetainBytes = log.Zero
		w.fifteen(started)
		require.Zero(t, w.retain())
		for _, row := range []struct{ hw, start int64 }{{4, 0}, {5, 5}, {9, 5}, {12, 10}, {15, 15}} {
			at, _ := w.l.SetHighWatermark(row.hw)
			require.Equal(t, row.hw, at)
			w.retain()
			require.Equal(t, row.start, w.l.StartOffset(), "high watermark %d", row.hw)
		}
	})
}

// G63 testAsyncDelete, G69 testRemoveAndDeleteSegmentsAsync, testDeleteSegmentFilesAsync: files get .deleted at once, and go later; slices that readers have stay good.
func TestG63ReapLater(t *testing.T) {
	for _, scheduled := range []bool{false, true} {
		t.Run(fmt.Sprintf("scheduled %v", scheduled), func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.o.Config.RetainBytes, w.o.Config.DeleteDelay = log.Zero, time.Second
				if scheduled {
					w.o.Scheduler = w.clock
				}
				var gone []log.Deleted
				w.o.Events.Deleted = func(d log.Deleted) { gone = append(gone, d) }
				w.fifteen(started)
				s, err := w.l.Read(3, 10)
				require.NoError(t, err)
				defer s.Close()
				require.Equal(t, 3, w.retain())
				name := name20(5) + ".log"
				require.False(t, w.exists(name))
				require.True(t, w.exists(name+".deleted"))
				require.True(t, w.exists(name20(5)+".snapshot.deleted"))
				d, err := w.l.Reap(t.Context())
				require.NoError(t, err)
				require.Zero(t, d.Segments)
				require.Equal(t, w.clock.Now().Add(time.Second), d.Next)
				w.clock.Advance(time.Second)
				if !scheduled {
					d, err = w.l.Reap(t.Context())
					require.NoError(t, err)
					require.Equal(t, 3, d.Segments)
				}
				require.False(t, w.exists(name+".deleted"))
				require.False(t, w.exists(name20(5)+".snapshot.deleted"))
				require.Len(t, gone, 2)
				require.False(t, gone[0].Gone)
				require.True(t, gone[1].Gone)
				n := 0
				for _, err := range s.Records() {
					require.NoError(t, err)
					n++
				}
				require.Equal(t, 1, n)
			})
		})
	}
}

// Reap removes all that is due, also behind what is due later, since DeleteDelay was shortened, and behind what
// cannot be removed; that it tries again.
func TestReapAllThatIsDue(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.RetainBytes, w.o.Config.DeleteDelay = log.Zero, time.Hour
		var refused string
		w.intercept(func(op *fsio.Op, do func() error) error {
			if op.Kind == fsio.OpRemove && op.Path == refused {
				return syscall.EIO
			}
			return do()
		})
		w.o.Replicated = true
		w.fifteen(started)
		gone := func(base int64) bool { return !w.exists(name20(base) + ".log.deleted") }
		w.l.SetHighWatermark(5)
		require.Equal(t, 1, w.retain())
		c := w.o.Config
		c.DeleteDelay = time.Second
		require.NoError(t, w.l.Configure(c))
		w.l.SetHighWatermark(15)
		require.Equal(t, 2, w.retain())
		d, err := w.l.Reap(t.Context())
		require.NoError(t, err)
		require.Equal(t, w.clock.Now().Add(time.Second), d.Next)

		w.clock.Advance(time.Second)
		refused = path.Join(w.dir, name20(5)+".log.deleted")
		d, err = w.l.Reap(t.Context())
		require.ErrorIs(t, err, syscall.EIO)
		require.Equal(t, 1, d.Segments)
		require.Equal(t, []bool{false, false, true}, []bool{gone(0), gone(5), gone(10)})
		refused = ""
		d, err = w.l.Reap(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, d.Segments)
		require.Equal(t, []bool{false, true}, []bool{gone(0), gone(5)})
		require.Equal(t, w.clock.Now().Add(time.Hour-time.Second), d.Next)
	})
}

// Retention of segments without timestamps goes by when their files were written.
func TestRetainByModTime(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.RetainAge = time.Hour
		w.fifteen(-1)
		first := "t-0/" + name20(0) + ".log"
		require.NoError(t, w.fs.Chtimes(first, time.UnixMilli(started-3_600_001)))
		for _, name := range []string{name20(5), name20(10)} {
			require.NoError(t, w.fs.Chtimes("t-0/"+name+".log", time.UnixMilli(started)))
		}
		require.Equal(t, 1, w.retain())
		require.Equal(t, []int64{5, 10}, w.bases())
	})
}

// Run does what a log needs now and then.
func TestRun(t *testing.T) {
	w := newWorld(t, backends[0])
	w.o.Config.RetainAge, w.o.Config.FlushAge, w.o.Config.ProducerAge = time.Minute, time.Second, time.Hour
	w.fifteen(started)
	w.append(produced(t, 4, 0, 0, false, 1))
	cancel := w.l.Run(w.clock)
	require.EqualValues(t, 0, w.l.RecoveryPoint())
	w.clock.Advance(time.Second)
	assert.EqualValues(t, 16, w.l.RecoveryPoint())
	w.clock.Advance(5 * time.Minute)
	assert.Equal(t, []int64{16}, w.bases())
	w.clock.Advance(2 * time.Minute)
	for _, name := range w.names() {
		assert.NotContains(t, name, ".deleted")
	}
	assert.Len(t, w.l.Producers(), 1)
	w.clock.Advance(time.Hour)
	assert.Empty(t, w.l.Producers())
	cancel()
	_, ok := w.clock.Next()
	assert.False(t, ok)
}

// G66: what a log remembers of producers outlives their segments, and expires by itself.
func TestG66ProducersOutliveSegments(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.RetainBytes = log.Zero
		w.open()
		w.append(produced(t, 1, 0, 0, false, 1))
		w.append(produced(t, 2, 0, 0, true, 1))
		w.retain()
		require.EqualValues(t, 2, w.l.StartOffset())
		require.Len(t, w.l.Producers(), 2)
		w.clock.Advance(24*time.Hour - time.Millisecond)
		require.Zero(t, w.l.ExpireProducers())
		w.clock.Advance(time.Millisecond)
		require.Equal(t, 1, w.l.ExpireProducers())
		require.EqualValues(t, 2, w.l.Producers()[0].ID, "the one with an open transaction stays")
	})
}

// G55 testCannotDeleteSegmentsAtOrAboveHighWatermark, testSegmentDeletionWithHighWatermarkInitialization, G54
// testDeleteOldSegments: at each high watermark, what is left, in segments and in epochs.
func TestG55RetainAtEachHighWatermark(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const old = started - 1000
		w.o.Replicated = true
		w.o.Config.SegmentBytes = 5 * int64(len(stamped(t, old)))
		w.o.Config.RetainAge = 999 * time.Millisecond
		w.open()
		for range 100 {
			w.append(stamped(t, old))
		}
		require.NoError(t, w.l.AssignEpoch(0, 40))
		require.NoError(t, w.l.AssignEpoch(1, 90))
		require.Zero(t, w.retain(), "nothing is replicated")
		for hw := range int64(101) {
			w.l.SetHighWatermark(hw)
			w.retain()
			bases := w.bases()
			require.Equal(t, bases[0], w.l.StartOffset())
			require.LessOrEqual(t, bases[0], hw)
			for _, base := range bases[1:] {
				require.Greater(t, base, hw)
			}
		}
		require.Equal(t, []int64{100}, w.bases())
		require.Equal(t, []log.Epoch{{Epoch: 1, StartOffset: 100}}, w.l.Epochs())
		require.NoError(t, w.l.Delete(t.Context()))
		_, err := w.fs.Stat(w.dir)
		require.ErrorIs(t, err, fs.ErrNotExist)
		w.l = nil
	})
}

// G59 testRetentionIdempotency: what a moved start lets go makes way for what is too old, in one call.
func TestG59RetainTwice(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.RetainAge = 900 * time.Millisecond
		w.open()
		for _, ms := range []int64{100, 0, 100} {
			w.append(stamped(t, started+ms))
			_, err := w.l.Roll()
			require.NoError(t, err)
		}
		w.clock.Advance(901 * time.Millisecond)
		_, err := w.l.DeleteBefore(1)
		require.NoError(t, err)
		require.Equal(t, 2, w.retain())
		require.Zero(t, w.retain())
	})
}

// G64 testBackgroundDeletionWithIOException: a directory that cannot be deleted is a storage error, of which
// whoever has the directory is told.
func TestG64DeleteFails(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var told []error
		w.o.Events.Failed = func(err error) { told = append(told, err) }
		w.open()
		w.fill("a")
		require.NoError(t, w.fs.Rename(w.dir, "elsewhere"))
		write(t, w.fs, w.dir, nil)
		err := w.l.Delete(t.Context())
		require.ErrorIs(t, err, log.ErrReadOnly)
		require.EqualValues(t, 56, log.Code(err))
		require.Len(t, told, 1)
		w.l = nil
	})
}

// G69 testRemoveAndDeleteSegmentsSync, testDeleteSegmentFilesSync: without delay, files go as soon as they are
// marked.
func TestG69ReapAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.RetainBytes, w.o.Config.DeleteDelay = log.Zero, log.Zero
		w.o.Scheduler = w.clock
		w.fifteen(started)
		require.Equal(t, 3, w.retain())
		w.clock.Advance(0)
		require.Empty(t, slices.DeleteFunc(w.names(), func(name string) bool {
			return !strings.Contains(name, ".deleted") && !strings.HasPrefix(name, name20(0))
		}))
	})
}

// G58 shouldDeleteStartOffsetBreachedSegmentsWhenPolicyDoesNotIncludeDelete.
func TestG58StartOfACompactedLog(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.RetainBytes = log.Zero
		w.fifteen(started)
		c := w.o.Config
		c.Cleanup = log.Compact
		require.NoError(t, w.l.Configure(c))
		_, err := w.l.DeleteBefore(5)
		require.NoError(t, err)
		require.Equal(t, 1, w.retain())
		require.Equal(t, []int64{5, 10}, w.bases())
	})
}

// G60 testThatGarbageCollectingSegmentsDoesntChangeOffset.
func TestG60RetainKeepsTheEnd(t *testing.T) {
	for _, messages := range []int64{0, 1, 25} {
		onEach(t, func(t *testing.T, w *world) {
			w.o.Config.RetainAge = log.Zero
			w.o.Config.SegmentBytes = 5 * int64(len(stamped(t, started)))
			w.open()
			for range messages {
				w.append(stamped(t, started))
			}
			w.clock.Advance(time.Second)
			w.retain()
			require.Equal(t, messages, w.l.EndOffset())
			require.Equal(t, []int64{messages}, w.bases())
			require.Zero(t, w.retain(), "the second time")
			require.Equal(t, messages, w.append(set(t, rec("goes on"))).BaseOffset)
		})
	}
}

// G66 testRetentionDeletesProducerStateSnapshots, testLogStartOffsetMovementDeletesSnapshots: a snapshot goes with its
// segment.
func TestG66SnapshotsGoWithTheirSegments(t *testing.T) {
	for _, row := range []struct {
		name  string
		age   time.Duration // retention; 0: the start moves
		empty bool          // the active segment is empty
	}{{"retention", log.Zero, false}, {"retention of an empty active segment", log.Zero, true}, {"start", 0, false}} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.o.Config.RetainAge = row.age
				w.open()
				for i := range int32(3) {
					if i > 0 {
						_, err := w.l.Roll()
						require.NoError(t, err)
					}
					w.append(produced(t, 1, 0, i, false, 1))
				}
				if row.empty {
					_, err := w.l.Roll()
					require.NoError(t, err)
				}
				require.Subset(t, w.l.State().Snapshots, []int64{1, 2})
				want := int64(3)
				if row.age == 0 {
					want = 2
					_, err := w.l.DeleteBefore(2)
					require.NoError(t, err)
				}
				w.clock.Advance(time.Second)
				w.retain()
				require.Equal(t, want, w.l.StartOffset())
				require.Equal(t, []int64{want}, w.l.State().Snapshots)
				require.Len(t, w.l.Producers(), 1, "it stays")
			})
		})
	}
}

// G67 shouldTruncateLeaderEpochsWhenDeletingSegments, shouldUpdateOffsetForLeaderEpochsWhenDeletingSegments.
func TestG67EpochsBehindRetention(t *testing.T) {
	for _, row := range []struct {
		second int64 // where epoch 1 begins
		want   []log.Epoch
	}{
		{5, []log.Epoch{{Epoch: 1, StartOffset: 5}, {Epoch: 2, StartOffset: 10}}},
		{7, []log.Epoch{{Epoch: 0, StartOffset: 5}, {Epoch: 1, StartOffset: 7}, {Epoch: 2, StartOffset: 10}}},
	} {
		onEach(t, func(t *testing.T, w *world) {
			size := int64(len(stamped(t, started)))
			w.o.Config.RetainBytes = 10 * size
			w.o.Config.SegmentBytes = 5 * size
			w.open()
			for i := range int64(15) {
				epoch := int32(0)
				if i >= row.second {
					epoch = 1
				}
				if i >= 10 {
					epoch = 2
				}
				_, err := w.l.AppendWith(stamped(t, started), log.AppendOptions{LeaderEpoch: epoch})
				require.NoError(t, err)
			}
			require.Len(t, w.l.Epochs(), 3)
			require.Equal(t, 1, w.retain())
			require.Equal(t, row.want, w.l.Epochs())
		})
	}
}
