package log_test

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/log"
)

// The producers and their snapshots, as a log is loaded.

// H17 testProducerSnapshotsRecoveryAfterUncleanShutdown: which segments are read to know the producers, where
// snapshots are missing, and which snapshots are there afterwards. H18 testSkipTruncateAndReload…OldMessageFormat: what
// knows no producers reads none.
func TestH17SnapshotsAfterAnUncleanStop(t *testing.T) {
	for _, row := range []struct {
		name   string
		format log.Format
		last   int // snapshots at the bases of so many of the last segments
	}{{"v2", log.FormatV2, 4}, {"v1", log.FormatV1, 2}} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.o.Config.SegmentBytes, w.o.Config.Format = 640, row.format
				w.o.Resume = &log.Resume{}
				w.open()
				for i := range 101 {
					w.append(set(t, rec(fmt.Sprint(i))))
				}
				bases := w.bases()
				n := len(bases)
				require.GreaterOrEqual(t, n, 5)
				w.close()
				point := bases[n-4]
				want := append(slices.Clone(bases[n-row.last:]), 101)
				open := func(point int64) (read, recovered []int64) {
					read = w.readBases(func() {
						w.o.Resume = &log.Resume{RecoveryPoint: point}
						w.o.Events.Recovered = func(r log.Recovery) {
							for _, s := range r.Segments {
								recovered = append(recovered, s.BaseOffset)
							}
						}
						w.open()
					})
					require.ElementsMatch(t, want, w.l.State().Snapshots)
					w.close()
					return read, recovered
				}

				w.removeSnapshotsBelow(bases[n-2])
				read, recovered := open(point)
				require.Equal(t, bases[n-4:], recovered)
				if row.format == log.FormatV2 {
					require.Equal(t, bases, read, "the first snapshot is behind the recovery point")
					w.removeSnapshotsBelow(point)
				} else {
					require.Equal(t, bases[n-4:], read, "the format knows no producers")
					w.remove(".snapshot")
				}
				read, recovered = open(point + 1)
				require.Equal(t, bases[n-4:], recovered)
				require.Equal(t, bases[n-4:], read)
			})
		})
	}
}

// readBases are the base offsets of the segments whose logs are read while do runs.
func (w *world) readBases(do func()) (bases []int64) {
	w.Helper()
	w.intercept(func(op *fsio.Op, do func() error) error {
		var base int64
		if op.Kind == fsio.OpReadAt && path.Ext(op.Path) == ".log" {
			_, err := fmt.Sscanf(path.Base(op.Path), "%020d.log", &base)
			require.NoError(w, err)
			bases = append(bases, base)
		}
		return do()
	})
	defer func() { w.o.FS = w.fs }()
	do()
	slices.Sort(bases)
	return slices.Compact(bases)
}

// removeSnapshotsBelow removes the producer snapshots below offset.
func (w *world) removeSnapshotsBelow(offset int64) {
	w.Helper()
	for _, name := range w.names() {
		if strings.HasSuffix(name, ".snapshot") && name < name20(offset) {
			require.NoError(w, w.fs.Remove(path.Join(w.dir, name)))
		}
	}
}

// H18 testSkipLoadingIfEmptyProducerStateBeforeTruncation: whoever knows no producers reads nothing to find some.
// testSkipTruncateAndReload…NewMessageFormatAndCleanShutdown: neither does a clean stop without snapshots.
func TestH18ProducersAreNotLookedFor(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 640
		w.o.Resume = &log.Resume{}
		w.open()
		w.ticks(40)
		bases := w.bases()
		w.close()
		w.remove(".snapshot")
		w.o.Resume = &log.Resume{Clean: true}
		read := w.readBases(func() { w.open() })
		last := bases[len(bases)-1:]
		require.Equal(t, last, read, "to find the end")
		require.Equal(t, append(slices.Clone(bases[len(bases)-2:]), 40), w.l.State().Snapshots)
		w.close()
		read = w.readBases(func() {
			w.open()
			_, err := w.l.Truncate(bases[2] + 1)
			require.NoError(t, err)
		})
		require.Equal(t, append([]int64{bases[2]}, last...), read)
		require.Equal(t, []int64{bases[2] + 1}, w.l.State().Snapshots)
	})
}

// H19 testRecoverAfterNonMonotonicCoordinatorEpochWrite: what is in the log is not judged.
func TestH19MarkerOfAnOlderCoordinator(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.append(produced(t, 1, 5, 0, true, 1))
		for _, coordinator := range []int32{1, 0} {
			h := codec.NewHeader(2)
			h.BaseOffset, h.LeaderEpoch, h.ProducerID, h.ProducerEpoch = w.l.EndOffset(), 0, 1, 5
			b, err := codec.AppendMarker(nil, h, codec.Marker{CoordinatorEpoch: coordinator}, started)
			require.NoError(t, err)
			w.follow(b)
		}
		w.kill()
		w.open()
		require.EqualValues(t, 3, w.l.EndOffset())
	})
}

// H20 testLoadProducersAfterDeleteRecordsMidSegment, testLoadProducersAfterDeleteRecordsOnSegment: producers
// whose records were deleted are known until the log is loaded without a snapshot of them.
func TestH20ProducersAfterDeletion(t *testing.T) {
	for _, row := range []struct {
		name     string
		roll     bool
		reloaded []int64
	}{{"mid segment", false, []int64{1, 2}}, {"on segment", true, []int64{2}}} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				ids := func() (ids []int64) {
					for _, p := range w.l.Producers() {
						ids = append(ids, p.ID)
					}
					return ids
				}
				w.open()
				w.append(produced(t, 1, 0, 0, false, 1))
				if row.roll {
					_, err := w.l.Roll()
					require.NoError(t, err)
				}
				w.append(produced(t, 2, 0, 0, false, 1))
				require.Equal(t, []int64{1, 2}, ids())
				_, err := w.l.DeleteBefore(1)
				require.NoError(t, err)
				if row.roll {
					_, err = w.l.Retain(t.Context())
					require.NoError(t, err)
					require.Equal(t, []int64{1}, w.bases())
				}
				require.Equal(t, []int64{1, 2}, ids())
				w.close()
				w.o.Resume = &log.Resume{StartOffset: 1}
				w.open()
				require.Equal(t, row.reloaded, ids())
			})
		})
	}
}

// H21 testLoadingLogKeepsLargestStrayProducerStateSnapshot.
func TestH21StraySnapshots(t *testing.T) {
	for _, clean := range []bool{false, true} {
		t.Run(fmt.Sprintf("clean %v", clean), func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.o.Resume = &log.Resume{}
				w.open()
				for i := range int32(4) {
					w.append(produced(t, 1, 0, i, false, 1))
					if i < 2 {
						_, err := w.l.Roll()
						require.NoError(t, err)
					}
				}
				w.close()
				require.Equal(t, []int64{0, 1, 2}, basesOf(w.names(), ".log"))
				require.Equal(t, []int64{1, 2, 4}, basesOf(w.names(), ".snapshot"))
				write(t, w.fs, path.Join(w.dir, name20(3)+".snapshot"), nil)
				w.o.Resume = &log.Resume{Clean: clean}
				w.open()
				require.Equal(t, []int64{1, 2, 4}, w.l.State().Snapshots)
				require.Equal(t, []int64{1, 2, 4}, basesOf(w.names(), ".snapshot"))
			})
		})
	}
}

// basesOf are the offsets of the names that have an ending, as ls sorts them.
func basesOf(names []string, ending string) (bases []int64) {
	for _, name := range names {
		if number, ok := strings.CutSuffix(name, ending); ok && len(number) == 20 {
			var base int64
			_, _ = fmt.Sscanf(number, "%020d", &base)
			bases = append(bases, base)
		}
	}
	return bases
}

// H25 testCorruptedLogRecoveryDoesNotDeleteProducerStateSnapshotsPostRecovery: what a recovery removes later are
// not the files that were made since under the same names.
func TestH25RemovalsSpareNewSnapshots(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.DeleteDelay = time.Minute
		w.o.Scheduler = w.clock
		w.o.Resume = &log.Resume{}
		w.open()
		roll := func() {
			t.Helper()
			w.append(produced(t, 1, 0, int32(w.l.EndOffset()), false, 1))
			_, err := w.l.Roll()
			require.NoError(t, err)
		}
		for range 9 {
			roll()
		}
		require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}, w.l.State().Snapshots)
		_, err := w.l.DeleteBefore(4)
		require.NoError(t, err)
		w.kill()
		w.spoil(1)
		w.o.Resume = &log.Resume{StartOffset: 4}
		w.open()
		require.Equal(t, []int64{4}, w.bases())
		require.EqualValues(t, 4, w.l.EndOffset())
		for _, snapshots := range [][]int64{w.l.State().Snapshots, basesOf(w.names(), ".snapshot")} {
			for _, offset := range []int64{1, 2, 3, 4} {
				require.NotContains(t, snapshots, offset)
			}
		}
		for range 5 {
			_, err := w.l.AppendAssigned(at(t, w.l.EndOffset(), 0, "v"), math.MaxInt32)
			require.NoError(t, err)
			_, err = w.l.Roll()
			require.NoError(t, err)
		}
		require.Equal(t, []int64{5, 6, 7, 8, 9}, w.l.State().Snapshots)
		w.clock.Advance(time.Minute)
		assert.Equal(t, []int64{5, 6, 7, 8, 9}, basesOf(w.names(), ".snapshot"))
		for _, name := range w.names() {
			assert.NotContains(t, name, ".deleted")
		}
	})
}

// H15 testFullTransactionIndexRecovery, testRecoverOnlyLastSegment, H14 testRecoverLastSegmentWithNoSnapshots: what
// was aborted is found again in all segments, or in the last, from snapshots of the producers, or without.
func TestH15TransactionIndexIsRecovered(t *testing.T) {
	for _, row := range []struct {
		name      string
		last      bool // only the last segment is recovered
		snapshots bool
	}{
		{"H15 all segments", false, true},
		{"H15 the last segment", true, true},
		{"H14 the last segment, without snapshots", true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.o.Config.SegmentBytes = 950
				w.o.Resume = &log.Resume{}
				w.open()
				w.interleave()
				bases := w.bases()
				last := bases[len(bases)-1]
				require.Len(t, bases, 3)
				require.LessOrEqual(t, last, int64(74))
				w.kill()
				txn := name20(last) + ".txnindex"
				require.True(t, w.exists(txn))
				if row.last {
					w.remove(txn)
					w.o.Resume.RecoveryPoint = last
				} else {
					w.remove(".txnindex")
				}
				if !row.snapshots {
					w.remove(".snapshot")
				}
				w.open()
				all, err := w.l.Aborted(0, 100)
				require.NoError(t, err)
				require.Equal(t, aborted, all)
			})
		})
	}
}
