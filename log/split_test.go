package log_test

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/log"
)

// farthest is the largest offset that a segment at 0 may have.
const farthest int64 = math.MaxInt32

// of is a batch of magic m at offset, of one record a value.
func of(tb testing.TB, m int8, c codec.Compression, offset int64, values ...string) []byte {
	tb.Helper()
	h := codec.NewHeader(m)
	h.BaseOffset, h.Attributes = offset, codec.Attributes(c)
	recs := make([]codec.Record, len(values))
	for i, v := range values {
		recs[i] = codec.Record{Offset: offset + int64(i), Timestamp: started, Value: []byte(v)}
	}
	if m == 0 {
		for i := range recs {
			recs[i].Timestamp = codec.NoTimestamp
		}
	}
	b, err := codec.Kafka().Append(nil, h, recs)
	require.NoError(tb, err)
	return b
}

// raw makes the directory with files in it, as another program has left them.
func (w *world) raw(files map[string][]byte) {
	w.Helper()
	require.NoError(w, w.fs.MkdirAll(w.dir, 0o755))
	for name, content := range files {
		write(w, w.fs, path.Join(w.dir, name), content)
	}
}

// noneLeft sees that the directory has no files on their way.
func (w *world) noneLeft() {
	w.Helper()
	for _, name := range w.names() {
		for _, state := range []string{".cleaned", ".swap", ".deleted"} {
			require.False(w, strings.HasSuffix(name, state), name)
		}
	}
}

// G79 testSplitOnOffsetOverflow, testDegenerateSegmentSplit, …WithOutOfRangeBatchLastOffset, H12
// testRecoveryOfSegmentWithOffsetOverflow: which segments come out. Those with names of operations are
// recorded runs, too.
func TestG79SplitOnOffsetOverflow(t *testing.T) {
	one := func(offsets ...int64) func(t *testing.T) []byte {
		return func(t *testing.T) (all []byte) {
			for _, offset := range offsets {
				all = append(all, of(t, 2, codec.None, offset, fmt.Sprint(offset))...)
			}
			return all
		}
	}
	old := func(m int8, c codec.Compression) func(t *testing.T) []byte {
		return func(t *testing.T) (all []byte) {
			for _, offset := range []int64{2, farthest - 1, farthest + 4, 2*farthest + 40} {
				all = append(all, of(t, m, c, offset, "a", "b")...)
			}
			return all
		}
	}
	for _, row := range []struct {
		name  string
		log   func(t *testing.T) []byte
		bases []int64
	}{
		{"some batches overflow", one(0, 1, farthest-1, farthest, farthest+1, 2*farthest-1), []int64{0, farthest + 1}},
		{"twice", one(0, farthest, farthest+1, 3*farthest), []int64{0, farthest + 1, 3 * farthest}},
		{"all do", one(farthest+1, farthest+2), []int64{farthest + 1}},
		{"the last one does", one(0, farthest+2), []int64{0, farthest + 2}},
		{"the end of the only one does", func(t *testing.T) []byte {
			return of(t, 2, codec.None, farthest-1, "a", "b", "c")
		}, []int64{farthest - 1}},
		{"the first one is not the base", one(3, farthest, farthest+1, farthest+9), []int64{3, farthest + 9}},
		{"magic 0", old(0, codec.None), []int64{2, farthest + 4, 2*farthest + 40}},
		{"magic 0, gzip", old(0, codec.GZIP), []int64{2, farthest + 4, 2*farthest + 40}},
		{"magic 1", old(1, codec.None), []int64{2, farthest + 4, 2*farthest + 40}},
		{"magic 1, gzip", old(1, codec.GZIP), []int64{2, farthest + 4, 2*farthest + 40}},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				all := row.log(t)
				w.raw(map[string][]byte{name20(0) + ".log": all})
				var got log.Recovery
				w.o.Events.Recovered = func(r log.Recovery) { got = r }
				w.open()
				require.Equal(t, row.bases, w.bases())
				require.Equal(t, []log.Split{{BaseOffset: 0, Into: row.bases}}, got.Split)
				require.Zero(t, got.CutBytes())
				want := recordsOf(t, all)
				require.Equal(t, want, w.values(w.l.StartOffset(), log.ReadToEnd))
				for offset, value := range want {
					require.Equal(t, firstRecord{offset, value}, w.first(offset))
				}
				end := w.append(set(t, rec("more"))).BaseOffset
				require.Equal(t, slices.Max(slices.Collect(maps.Keys(want)))+1, end)
				w.clock.Advance(time.Hour)
				_, err := w.l.Reap(t.Context())
				require.NoError(t, err)
				w.noneLeft()
				together := ""
				for _, base := range row.bases {
					together += w.files()[name20(base)+".log"][:w.sizeAt(base)]
				}
				require.Equal(t, string(all), together[:len(all)])
				w.close()
				closed := w.files()
				w.open()
				require.Equal(t, row.bases, w.bases())
				require.Equal(t, end+1, w.l.EndOffset())
				w.close()
				sameFiles(t, withoutSnapshots(closed), withoutSnapshots(w.files()))
			})
		})
	}
}

// withoutSnapshots are the files that are no producer snapshots: of those an open removes the strays.
func withoutSnapshots(files map[string]string) map[string]string {
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasSuffix(name, ".snapshot") })
	return files
}

// sizeAt is the size of the segment at base.
func (w *world) sizeAt(base int64) int64 {
	for _, s := range w.l.State().Segments {
		if s.BaseOffset == base {
			return s.Size
		}
	}
	return -1
}

// recordsOf are the values of the records in batches, by offset.
func recordsOf(t *testing.T, batches []byte) map[int64]string {
	t.Helper()
	values := map[int64]string{}
	for b, err := range codec.Batches(codec.Kafka(), batches) {
		require.NoError(t, err)
		for r, err := range codec.Kafka().Records(b.Bytes) {
			require.NoError(t, err)
			values[r.Offset] = string(r.Value)
		}
	}
	return values
}

// H13 testRecoveryAfterCrashDuringSplitPhase1 to 5: what a crash in a split leaves is finished or begun anew.
// In one run the first batch has the base offset of the old segment, in the other the new one has a name of
// its own; there a broker keeps the old segment beside the new ones in phase 3.
func TestH13CrashWhileSplitting(t *testing.T) {
	for _, first := range []int64{0, 3} {
		for phase, row := range []struct{ old, low, high string }{
			{".log", ".log.cleaned", ".log.cleaned"},
			{".log", ".log.cleaned", ".log.swap"},
			{".log", ".log.swap", ".log.swap"},
			{".log.deleted", ".log.swap", ".log.swap"},
			{".log.deleted", ".log", ".log.swap"},
		} {
			t.Run(fmt.Sprintf("phase %d, first batch at %d", phase+1, first), func(t *testing.T) {
				onEach(t, func(t *testing.T, w *world) {
					second := first + farthest + 1
					low := append(at(t, first, 0, "a"), at(t, first+1, 0, "b")...)
					high := append(at(t, second, 0, "c"), at(t, second+1, 0, "d")...)
					all := append(slices.Clone(low), high...)
					files := map[string][]byte{
						name20(0) + row.old: all, name20(first) + row.low: low, name20(second) + row.high: high,
					}
					for _, ext := range []string{".index", ".timeindex"} {
						files[name20(first)+strings.Replace(row.low, ".log", ext, 1)] = nil
						files[name20(second)+strings.Replace(row.high, ".log", ext, 1)] = nil
					}
					if row.old == ".log" {
						files[name20(0)+".index"] = nil
					}
					w.raw(files)
					want := recordsOf(t, all)

					w.o.ReadOnly = true
					w.open()
					if phase > 1 && phase < 4 { // in phase 5 as much as its segment tells
						require.Equal(t, []int64{first, second}, w.bases(), "one who looks sees the new")
					}
					require.Equal(t, want, w.values(w.l.StartOffset(), log.ReadToEnd))
					w.close()
					w.o.ReadOnly = false

					w.open()
					require.Equal(t, []int64{first, second}, w.bases())
					require.Equal(t, want, w.values(first, log.ReadToEnd))
					w.clock.Advance(time.Hour)
					_, err := w.l.Reap(t.Context())
					require.NoError(t, err)
					w.noneLeft()
				})
			})
		}
	}
}

// txnLog is a log of transactions whose offsets overflow a segment at 0, and what a broker finds aborted in
// it, once it has split it.
func txnLog(tb testing.TB) (all []byte, aborted []index.AbortedTxn) {
	tb.Helper()
	data := func(offset, id int64, sequence int32, txn bool, values ...string) {
		h := codec.NewHeader(2)
		h.BaseOffset, h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.LeaderEpoch = offset, id, 0, sequence, 0
		if txn {
			h.Attributes |= codec.TransactionalBit
		}
		recs := make([]codec.Record, len(values))
		for i, v := range values {
			recs[i] = codec.Record{Offset: offset + int64(i), Timestamp: started, Value: []byte(v)}
		}
		all = append(all, batch(tb, h, recs...)...)
	}
	end := func(offset, id int64, commit bool) {
		h := codec.NewHeader(2)
		h.BaseOffset, h.ProducerID, h.ProducerEpoch, h.LeaderEpoch = offset, id, 0, 0
		var err error
		all, err = codec.AppendMarker(all, h, codec.Marker{Commit: commit}, started)
		require.NoError(tb, err)
	}
	data(0, 1, 0, true, "aborted")
	data(1, 2, 0, true, "aborted")
	data(2, 9, 0, false, "plain")
	end(5, 1, false)
	data(farthest+1, 1, 1, true, "committed", "too")
	end(farthest+5, 2, false)
	data(farthest+6, 3, 0, true, "aborted")
	end(farthest+7, 1, true)
	data(3*farthest, 4, 0, false, "plain")
	end(3*farthest+1, 3, false)
	return all, []index.AbortedTxn{
		{ProducerID: 1, FirstOffset: 0, LastOffset: 5, StableOffset: 1},
		{ProducerID: 2, FirstOffset: 1, LastOffset: farthest + 5, StableOffset: farthest + 1},
		{ProducerID: 3, FirstOffset: farthest + 6, LastOffset: 3*farthest + 1, StableOffset: 3*farthest + 2},
	}
}

// committed are the records of txnLog that count.
var committed = map[int64]string{2: "plain", farthest + 1: "committed", farthest + 2: "too", 3 * farthest: "plain"}

// A split keeps transactions and producers: the aborted ones are those that Kafka 4.4 finds in the same
// directory after an unclean stop. After a clean one it loses those of all new segments but the first.
func TestSplitTransactions(t *testing.T) {
	for _, row := range []struct {
		name   string
		resume *log.Resume
		index  bool // there is one
	}{
		{"nothing is known", &log.Resume{}, true},
		{"its own manager", nil, true},
		{"the index is missing", &log.Resume{}, false},
		{"a clean stop, and the index is missing", &log.Resume{Clean: true, RecoveryPoint: 3*farthest + 2}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				all, aborted := txnLog(t)
				files := map[string][]byte{name20(0) + ".log": all}
				if row.index {
					files[name20(0)+".index"] = nil
				}
				w.raw(files)
				w.o.Resume = row.resume
				w.open()
				require.Equal(t, []int64{0, farthest + 1, 3 * farthest}, w.bases())
				got, err := w.l.Aborted(0, w.l.EndOffset())
				require.NoError(t, err)
				require.Equal(t, aborted, got)
				require.Equal(t, committed, w.values(0, log.ReadCommitted))
				if row.resume == nil || !row.resume.Clean { // else, without a snapshot, Kafka knows no producer
					producers := w.l.Producers()
					require.Len(t, producers, 5)
					for i, last := range []int64{farthest + 2, 1, farthest + 6, 3 * farthest, 2} {
						assert.Equal(t, last, producers[i].LastOffset(), "producer %d", producers[i].ID)
						assert.EqualValues(t, codec.NoOffset, producers[i].TxnFirstOffset)
					}
				}
				w.close()
				w.o.Resume = &log.Resume{}
				closed := w.files()
				w.open() // recovery finds the same indexes
				w.close()
				for name, content := range w.files() {
					if strings.Contains(name, "index") {
						assert.Equal(t, closed[name], content, name)
					}
				}
			})
		})
	}
}

// A segment between others is split, with several workers as with one. What a snapshot of the old one tells
// is not used for the new.
func TestSplitBetweenOthers(t *testing.T) {
	var want map[string]string
	for _, workers := range []int{1, 4} {
		w := newWorld(t, backends[0])
		w.raw(map[string][]byte{
			name20(0) + ".log":          append(at(t, 0, 0, "a"), at(t, 4, 1, "b")...),
			name20(10) + ".log":         slices.Concat(at(t, 100, 1, "c"), at(t, farthest, 1, "d"), at(t, farthest+101, 2, "e"), at(t, 3*farthest, 2, "f")),
			name20(10) + ".snapshot":    emptySnapshot,
			name20(4*farthest) + ".log": at(t, 4*farthest, 3, "g"),
			name20(0) + ".index":        nil, name20(10) + ".index": nil, name20(4*farthest) + ".index": nil,
		})
		w.o.Resume, w.o.RecoverWorkers = &log.Resume{}, workers
		w.open()
		require.Equal(t, []int64{0, 100, farthest + 101, 3 * farthest, 4 * farthest}, w.bases())
		require.Len(t, w.values(0, log.ReadToEnd), 7)
		require.Equal(t, []log.Epoch{{Epoch: 0, StartOffset: 0}, {Epoch: 1, StartOffset: 4}, {Epoch: 2, StartOffset: farthest + 101}, {Epoch: 3, StartOffset: 4 * farthest}}, w.l.Epochs())
		require.True(t, w.exists(name20(10)+".snapshot.deleted"))
		w.close()
		got := w.files()
		if want == nil {
			want = got
		}
		sameFiles(t, want, got)
	}
}

// emptySnapshot is a producer snapshot without producers, of a broker.
var emptySnapshot = []byte{0, 1, 0x48, 0x67, 0x4b, 0xc7, 0, 0, 0, 0}

// A base offset has no checksum. One that is too far, and that later batches take back, is damage, also for
// who would split; and a log that this package has written and that nobody has closed has none.
func TestFlippedOffsetIsNotSplit(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		all := slices.Concat(at(t, 0, 0, "a"), at(t, 1, 0, "b"), at(t, 2, 0, "c"))
		all[len(all)/3] ^= 1 // the highest byte of the offset 1
		w.raw(map[string][]byte{name20(0) + ".log": all, name20(0) + ".index": nil})
		w.o.Resume = &log.Resume{}
		w.open()
		require.Equal(t, []int64{0}, w.bases())
		require.EqualValues(t, 1, w.l.EndOffset())
	})
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.fill("a", "b", "c")
		size := w.l.State().Segments[0].Size
		w.kill()
		flip(t, w.fs, path.Join(w.dir, name20(0)+".log"), int(size/3*2+3))
		w.open()
		require.Equal(t, []int64{0}, w.bases())
		require.EqualValues(t, 2, w.l.EndOffset())
	})
}

// Damage does not keep a segment from being split. Below the recovery point it costs its batch; above, and
// at a torn end, recovery cuts.
func TestSplitDamaged(t *testing.T) {
	batches := func(t *testing.T) (all []byte, pos []int) {
		for _, offset := range []int64{0, 1, farthest + 1, farthest + 2, 3 * farthest} {
			pos = append(pos, len(all))
			all = append(all, at(t, offset, 0, fmt.Sprint(offset))...)
		}
		return all, append(pos, len(all))
	}
	everything := []int64{0, 1, farthest + 1, farthest + 2, 3 * farthest}
	for _, row := range []struct {
		name   string
		point  int64
		damage func(all []byte, pos []int) []byte
		lost   []int64
		bases  []int64
	}{
		{"torn end", 0, func(all []byte, _ []int) []byte { return all[:len(all)-5] }, everything[4:], []int64{0, farthest + 1}},
		{"zeros at the end", 0, func(all []byte, _ []int) []byte { return append(all, make([]byte, 200)...) }, nil, []int64{0, farthest + 1, 3 * farthest}},
		{"behind the overflow", 0, func(all []byte, pos []int) []byte { all[pos[3]+65] ^= 1; return all }, everything[3:], []int64{0, farthest + 1}},
		{"before the overflow, synced", 3 * farthest, func(all []byte, pos []int) []byte { all[pos[1]+65] ^= 1; return all }, everything[1:2], []int64{0, farthest + 1, 3 * farthest}},
		{"a header before the overflow, synced", 3 * farthest, func(all []byte, pos []int) []byte { all[pos[1]+9] ^= 1; return all }, everything[1:2], []int64{0, farthest + 1, 3 * farthest}},
		{"a header behind the overflow, synced", 3 * farthest, func(all []byte, pos []int) []byte { all[pos[3]+9] ^= 1; return all }, everything[3:4], []int64{0, farthest + 1, 3 * farthest}},
		{"the first header, synced", 3 * farthest, func(all []byte, pos []int) []byte { all[pos[0]+9] ^= 1; return all }, everything[:1], []int64{0, farthest + 1, 3 * farthest}},
		{"an offset before the overflow, synced", 3 * farthest, func(all []byte, pos []int) []byte { all[pos[1]+1] ^= 1; return all }, everything[1:2], []int64{0, farthest + 1, 3 * farthest}},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				all, pos := batches(t)
				w.raw(map[string][]byte{name20(0) + ".log": row.damage(all, pos), name20(0) + ".index": nil})
				w.o.Resume = &log.Resume{RecoveryPoint: row.point}
				damaged := 0
				w.o.Events.Damaged = func(log.Damage) { damaged++ }
				w.open()
				require.Equal(t, row.bases, w.bases())
				if strings.Contains(row.name, "header") { // of bytes below the recovery point readers tell
					require.Equal(t, 1, damaged)
				}
				var got []int64
				for r, err := range w.l.RecordsWith(t.Context(), 0, log.ReadOptions{Isolation: log.ReadToEnd}) {
					if err == nil {
						got = append(got, r.Offset)
					}
				}
				var want []int64
				for _, offset := range everything {
					if !slices.Contains(row.lost, offset) {
						want = append(want, offset)
					}
				}
				require.Equal(t, want, got)
			})
		})
	}
}

// A split that has no room, or meets any other failure, opens no log and loses nothing; the next one is done.
func TestSplitFails(t *testing.T) {
	for step := 0; ; step++ {
		w := newWorld(t, backends[0])
		all, aborted := txnLog(t)
		w.raw(map[string][]byte{name20(0) + ".log": all, name20(0) + ".index": nil})
		n, failed := 0, ""
		w.intercept(func(op *fsio.Op, do func() error) error {
			if fsio.Mutates.Has(op.Kind) {
				if n++; n == step+1 {
					failed = op.Kind.String() + " " + op.Path
					return syscall.EIO
				}
			}
			return do()
		})
		l, err := log.Open(t.Context(), w.dir, w.o)
		if err == nil {
			w.l = l
		}
		if failed == "" {
			require.Greater(t, step, 50)
			return
		}
		if err == nil {
			_ = l.Close()
		}
		w.o.FS = w.fs
		w.open()
		require.Equal(t, []int64{0, farthest + 1, 3 * farthest}, w.bases(), failed)
		got, err := w.l.Aborted(0, w.l.EndOffset())
		require.NoError(t, err)
		require.Equal(t, aborted, got, failed)
		require.Equal(t, committed, w.values(0, log.ReadCommitted), failed)
		w.close()
	}
}
