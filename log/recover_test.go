package log_test

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/log"
)

// H1 testLogRecoversToCorrectOffset, H16: a clean open changes no byte.
func TestH1ReopenFindsTheEnd(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 2000
		w.open()
		w.fill(numbers(100)...)
		before := w.l.State()
		want := w.values(0, log.ReadUncommitted)
		require.Len(t, want, 100)
		w.close()
		closed := w.files()

		w.open()
		after := w.l.State()
		assert.Equal(t, before.EndOffset, after.EndOffset)
		assert.Equal(t, len(before.Segments), len(after.Segments))
		assert.EqualValues(t, 100, after.RecoveryPoint)
		assert.Equal(t, want, w.values(0, log.ReadUncommitted))
		w.close()
		sameFiles(t, closed, w.files()) // a clean open and close change nothing

		w.o.Resume = &log.Resume{} // nothing is known: all is recovered
		w.open()
		assert.Equal(t, want, w.values(0, log.ReadUncommitted))
		assert.EqualValues(t, 0, w.l.RecoveryPoint())
		w.close()
		for name, content := range closed {
			if !strings.HasSuffix(name, ".snapshot") {
				assert.Equal(t, content, w.files()[name], "%s is not what it was", name)
			}
		}
	})
}

// A kill keeps every append that returned, and a second open changes nothing.
func TestKillKeepsAppends(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		rnd := rand.New(rand.NewPCG(1, 2))
		w.o.Config.SegmentBytes, w.o.Config.IndexIntervalBytes = 1500, 100
		want := map[int64]string{}
		for range 5 {
			w.open()
			require.Equal(t, want, w.values(0, log.ReadToEnd))
			for _, v := range numbers(1 + rnd.IntN(30)) {
				want[w.append(set(t, rec(v))).BaseOffset] = v
				if rnd.IntN(10) == 0 {
					require.NoError(t, w.l.Sync(w.l.EndOffset()))
				}
			}
			w.kill()
		}
		var recovered []log.Recovery
		w.o.Events.Recovered = func(r log.Recovery) { recovered = append(recovered, r) }
		w.open()
		require.Len(t, recovered, 1)
		require.False(t, recovered[0].Clean)
		if !w.reserves {
			require.Zero(t, recovered[0].CutBytes())
		}
		require.Equal(t, want, w.values(0, log.ReadToEnd))
		require.EqualValues(t, len(want), w.l.RecoveryPoint(), "what was recovered is synced")
		first := w.files()
		w.kill()
		w.open()
		sameFiles(t, first, w.files()) // a second recovery changes nothing
	})
}

// H8 testCorruptLog, S-05: bytes behind the last batch are cut, whatever they are.
func TestH8TornTail(t *testing.T) {
	whole := set(t, rec("torn"))
	for _, row := range []struct {
		name string
		tail []byte
	}{
		{"a byte", []byte{1}},
		{"zeros", make([]byte, 1000)},
		{"half a batch", whole[:len(whole)/2]},
		{"a batch with a wrong checksum", append(append([]byte{}, whole[:len(whole)-1]...), whole[len(whole)-1]^1)},
		{"garbage", []byte(strings.Repeat("garbage", 50))},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.open()
				w.fill(numbers(20)...)
				require.NoError(t, w.l.Sync(10))
				w.kill()
				name := path.Join(w.dir, "00000000000000000000.log")
				good := read(t, w.fs, name)
				write(t, w.fs, name, append(good, row.tail...))
				w.o.Quarantine = aferofs.Mem()
				var got log.Recovery
				w.o.Events.Recovered = func(r log.Recovery) { got = r }
				w.open()
				require.EqualValues(t, 20, w.l.EndOffset())
				if !w.reserves {
					require.EqualValues(t, len(row.tail), got.CutBytes())
					require.Equal(t, good, read(t, w.fs, name)[:w.l.State().Segments[0].Size])
					cut := fsNames(t, w.o.Quarantine, w.dir)
					require.Len(t, cut, 1)
					require.Equal(t, row.tail, read(t, w.o.Quarantine, path.Join(w.dir, cut[0])))
				}
				w.fill("goes on")
				require.Len(t, w.values(0, log.ReadToEnd), 21)
			})
		})
	}
}

func fsNames(t *testing.T, fsys fsio.FS, dir string) []string {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Behind a cut above the recovery point nothing stays; damage below it stays, and is reported.
func TestRecoveryPointDecides(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 400
		w.open()
		w.fill(numbers(30)...)
		bases := w.bases()
		require.Greater(t, len(bases), 4)
		want := w.values(0, log.ReadToEnd)
		w.kill()
		flip(t, w.fs, path.Join(w.dir, name20(bases[2])+".log"), 70)
		kept := w.fs

		w.o.Resume = &log.Resume{RecoveryPoint: bases[1]}
		w.fs = aferofs.Mem()
		copyTree(t, w.fs, kept, w.dir)
		w.o.FS = w.fs
		var got log.Recovery
		w.o.Events.Recovered = func(r log.Recovery) { got = r }
		w.open()
		require.Equal(t, bases[2], w.l.EndOffset())
		require.Len(t, got.Dropped, len(bases)-3)
		require.Equal(t, bases[:3], w.bases())
		w.close()

		w.fs, w.o.FS = kept, kept
		w.o.Resume = &log.Resume{RecoveryPoint: 30}
		var damage []log.Damage
		w.o.Events.Damaged = func(d log.Damage) { damage = append(damage, d) }
		w.open()
		require.EqualValues(t, 30, w.l.EndOffset())
		require.Equal(t, bases, w.bases())
		seen := 0
		for r, err := range w.l.Records(context.Background(), 0) {
			if err != nil {
				require.ErrorIs(t, err, codec.ErrCorrupt)
				continue
			}
			require.Equal(t, want[r.Offset], string(r.Value))
			seen++
		}
		require.Equal(t, len(want)-1, seen, "one batch is lost, and nothing else")
		require.Len(t, damage, 1)
		require.Contains(t, damage[0].Path, name20(bases[2]))
	})
}

// flip changes a byte of a file.
func flip(t *testing.T, fsys fsio.FS, name string, at int) {
	t.Helper()
	b := read(t, fsys, name)
	b[at] ^= 0xff
	write(t, fsys, name, b)
}

// name20 is how a base offset begins a file's name.
func name20(base int64) string {
	s := "00000000000000000000"
	n := []byte(s)
	for i := len(n) - 1; base > 0; i-- {
		n[i] = byte('0' + base%10)
		base /= 10
	}
	return string(n)
}

// H2 testIndexRebuild, H4 testCorruptIndexRebuild, H5 testBogusIndexSegmentsAreRemoved, H27, I-02.
func TestH2IndexesAreRepaired(t *testing.T) {
	for _, row := range []struct {
		name   string
		damage func(t *testing.T, w *world, file string)
	}{
		{"removed", func(t *testing.T, w *world, file string) { require.NoError(t, w.fs.Remove(file)) }},
		{"text", func(t *testing.T, w *world, file string) { write(t, w.fs, file, []byte("  ")) }},
		{"zeros", func(t *testing.T, w *world, file string) { write(t, w.fs, file, make([]byte, 24)) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.o.Config.SegmentBytes, w.o.Config.IndexIntervalBytes = 500, log.Zero
				w.open()
				w.fill(numbers(40)...)
				want := w.values(0, log.ReadToEnd)
				bases := w.bases()
				w.close()
				closed := w.files()
				for _, name := range w.names() {
					if strings.HasSuffix(name, ".index") || row.name != "removed" && strings.HasSuffix(name, ".timeindex") {
						row.damage(t, w, path.Join(w.dir, name))
					}
				}
				write(t, w.fs, path.Join(w.dir, name20(5000)+".index"), nil)
				w.o.Resume = &log.Resume{}
				w.open()
				require.Equal(t, bases, w.bases())
				for offset, value := range want {
					require.Equal(t, firstRecord{offset, value}, w.first(offset))
				}
				require.False(t, w.exists(name20(5000)+".index"))
				w.close()
				for name, content := range w.files() {
					if strings.Contains(name, "index") {
						require.Equal(t, closed[name], content, name)
					}
				}
			})
		})
	}
}

// H7 testOpenDeletesObsoleteFiles, O5.
func TestH7LeftoversGo(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.fill("a")
		w.close()
		for _, name := range []string{
			name20(7) + ".log.deleted", name20(7) + ".snapshot.deleted", name20(3) + ".log.cleaned", name20(3) + ".index.cleaned",
			name20(4) + ".log.swap", "leader-epoch-checkpoint.tmp", "partition.metadata.tmp",
		} {
			write(t, w.fs, path.Join(w.dir, name), []byte("x"))
		}
		write(t, w.fs, path.Join(w.dir, "notes.txt"), []byte("somebody's"))
		var got log.Recovery
		w.o.Events.Recovered = func(r log.Recovery) { got = r }
		w.open()
		require.Len(t, got.Removed, 7)
		require.Equal(t, []int64{3, 4}, got.Undone)
		for _, name := range w.names() {
			require.NotContains(t, name, ".deleted")
			require.NotContains(t, name, ".cleaned")
			require.NotContains(t, name, ".swap")
			require.NotContains(t, name, ".tmp")
		}
		require.True(t, w.exists("notes.txt"))
	})
}

// H13: a compaction whose files are complete is finished, in each stage of its renames.
func TestH13SwapIsFinished(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 400
		w.open()
		w.fill(numbers(20)...)
		bases := w.bases()
		w.close()
		// What replaces the first two segments is the first batch of each.
		first, second := read(t, w.fs, path.Join(w.dir, name20(0)+".log")), read(t, w.fs, path.Join(w.dir, name20(bases[1])+".log"))
		size := 0
		for b := range codec.Batches(codec.Kafka(), first) {
			size = b.Size
			break
		}
		swap := append(append([]byte{}, first[:size]...), second...)
		write(t, w.fs, path.Join(w.dir, name20(0)+".log.swap"), swap)
		write(t, w.fs, path.Join(w.dir, name20(0)+".timeindex.swap"), nil)

		w.o.ReadOnly = true
		before := w.files()
		w.open()
		require.Equal(t, append([]int64{0}, bases[2:]...), w.bases(), "one who looks sees the new")
		w.close()
		sameFiles(t, before, w.files())
		w.o.ReadOnly = false

		var got log.Recovery
		w.o.Events.Recovered = func(r log.Recovery) { got = r }
		w.open()
		require.Equal(t, []int64{0}, got.Finished)
		require.Equal(t, append([]int64{0}, bases[2:]...), w.bases())
		values := w.values(0, log.ReadToEnd)
		require.Equal(t, "value 0", values[0])
		require.NotContains(t, values, int64(1))
		require.Contains(t, values, bases[1])
	})
}

// H24 testLogEndLessThanStartAfterReopen.
func TestH24EndBelowStart(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.fill(numbers(5)...)
		w.close()
		w.o.Resume = &log.Resume{StartOffset: 9}
		w.open()
		require.EqualValues(t, 9, w.l.StartOffset())
		require.EqualValues(t, 9, w.l.EndOffset())
		require.Equal(t, []int64{9}, w.bases())
		require.Empty(t, w.l.Epochs())
		require.EqualValues(t, 9, w.append(set(t, rec("x"))).BaseOffset)
	})
}

// H23 testLogRecoversForLeaderEpoch.
func TestH23EpochsAreRecovered(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		for i, epoch := range []int32{1, 2, 2, 3} {
			_, err := w.l.AppendAssigned(at(t, int64(i), epoch, "v"), epoch)
			require.NoError(t, err)
		}
		want := []log.Epoch{{Epoch: 1, StartOffset: 0}, {Epoch: 2, StartOffset: 1}, {Epoch: 3, StartOffset: 3}}
		require.Equal(t, want, w.l.Epochs())
		w.kill()
		write(t, w.fs, path.Join(w.dir, "leader-epoch-checkpoint"), nil)
		w.open()
		require.Equal(t, want, w.l.Epochs())
	})
}

// Recovery on several goroutines gives what it gives on one.
func TestRecoverWorkers(t *testing.T) {
	w := newWorld(t, backends[0])
	w.o.Config.SegmentBytes = 600
	w.open()
	for i := range 60 {
		switch {
		case i%20 == 7:
			w.append(produced(t, int64(i), 0, 0, true, 2))
		case i%20 == 15:
			w.end(int64(i)-8, 0, i < 30)
		default:
			_, err := w.l.AppendWith(set(t, rec("v")), log.AppendOptions{LeaderEpoch: int32(i / 10)})
			require.NoError(t, err)
		}
	}
	bases := w.bases()
	w.kill()
	flip(t, w.fs, path.Join(w.dir, name20(bases[len(bases)-3])+".log"), 200)
	kept := w.fs
	var want map[string]string
	for _, workers := range []int{1, 4} {
		w.fs = aferofs.Mem()
		copyTree(t, w.fs, kept, w.dir)
		w.o.FS, w.o.RecoverWorkers, w.o.Resume = w.fs, workers, &log.Resume{}
		w.open()
		w.close()
		got := w.files()
		for name := range got {
			if strings.HasSuffix(name, "index.deleted") {
				delete(got, name) // who verifies ahead cuts it to its entries, too
			}
		}
		if want == nil {
			want = got
		}
		sameFiles(t, want, got)
	}
}

// sameFiles compares the files of two directories, and names those that differ.
func sameFiles(t *testing.T, want, got map[string]string) {
	t.Helper()
	for name, content := range want {
		if mine, ok := got[name]; !ok || mine != content {
			t.Errorf("%s: %d bytes, want %d; there: %v", name, len(mine), len(content), ok)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s should not be there", name)
		}
	}
}

// A read that fails refuses to open, and cuts nothing.
func TestUnreadableDiskRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.fill(numbers(10)...)
		w.kill()
		before := w.files()
		w.intercept(func(op *fsio.Op, do func() error) error {
			if op.Kind == fsio.OpReadAt && path.Ext(op.Path) == ".log" {
				return syscall.EIO
			}
			return do()
		})
		_, err := log.Open(t.Context(), w.dir, w.o)
		require.ErrorIs(t, err, syscall.EIO)
		require.Equal(t, before["00000000000000000000.log"], w.files()["00000000000000000000.log"])
		w.o.FS = w.fs
		w.open()
		require.EqualValues(t, 10, w.l.EndOffset())
	})
}

// ReadOnly takes no lock, writes nothing, and reads what recovery would keep.
func TestReadOnly(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 500
		l := w.open()
		w.fill(numbers(20)...)
		before := w.files()
		o := w.o
		o.ReadOnly = true
		look, err := log.Open(t.Context(), w.dir, o)
		require.NoError(t, err, "while another has it")
		require.EqualValues(t, 20, look.EndOffset())
		require.NoError(t, look.Close())
		sameFiles(t, before, w.files())
		_, err = log.Open(t.Context(), w.dir, w.o)
		require.ErrorIs(t, err, fsio.ErrLocked)

		w.kill()
		_ = l
		name := path.Join(w.dir, name20(0)+".log")
		b := read(t, w.fs, name)
		write(t, w.fs, name, b[:len(b)-5])
		torn := w.files()
		var changed []string
		o.FS = fsio.Intercept(w.fs, func(op *fsio.Op, do func() error) error {
			if fsio.Mutates.Has(op.Kind) || op.Kind == fsio.OpLock {
				changed = append(changed, op.Kind.String()+" "+op.Path)
			}
			return do()
		})
		look, err = log.Open(t.Context(), w.dir, o)
		require.NoError(t, err)
		w.l = look
		end := look.EndOffset()
		require.Less(t, end, int64(20))
		require.Len(t, w.values(0, log.ReadToEnd), int(end))
		_, err = look.Append(set(t, rec("x")))
		require.ErrorIs(t, err, log.ErrReadOnly)
		require.NoError(t, look.Close())
		require.Empty(t, changed)
		sameFiles(t, torn, w.files())
		_, err = log.Open(t.Context(), "no-such", o)
		require.ErrorIs(t, err, fs.ErrNotExist)
	})
}

// A name that is empty is a setting that was forgotten, and does not stand for the working directory.
func TestOpenNoName(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := log.Open(t.Context(), "", log.Options{})
	require.ErrorIs(t, err, fs.ErrInvalid)
	there, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, there)
}

// Open makes the directory of a path, and closes what it opened.
func TestOpenPath(t *testing.T) {
	dir := path.Join(t.TempDir(), "some", "data", "orders-0")
	l, err := log.Open(t.Context(), dir, log.Options{})
	require.NoError(t, err)
	_, err = l.AppendRecords(rec("x"))
	require.NoError(t, err)
	_, err = log.Open(t.Context(), dir, log.Options{})
	require.ErrorIs(t, err, fsio.ErrLocked)
	require.NoError(t, l.Close())
	_, err = os.Stat(path.Join(dir, "00000000000000000000.log"))
	require.NoError(t, err)
	l, err = log.Open(t.Context(), dir, log.Options{})
	require.NoError(t, err)
	require.EqualValues(t, 1, l.EndOffset())
	require.NoError(t, l.Close())
	_, err = log.Open(t.Context(), dir, log.Options{Config: log.Config{SegmentBytes: 1, GzipLevel: 77}, RecoverWorkers: -1})
	require.ErrorContains(t, err, "segment.bytes")
	require.ErrorContains(t, err, "compression.gzip.level")
	require.ErrorContains(t, err, "RecoverWorkers")
}

// G89: producers come back by their snapshots, and by the batches where those are gone.
func TestProducersComeBack(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 400
		w.open()
		for i := range int32(12) {
			w.append(produced(t, 1, 0, i, false, 1))
		}
		w.kill()
		w.dropSnapshots()
		w.open()
		require.Len(t, w.l.Producers(), 1)
		require.EqualValues(t, 11, w.l.Producers()[0].LastSequence())
		require.True(t, w.append(produced(t, 1, 0, 11, false, 1)).Duplicate)
		_, err := w.l.Append(produced(t, 1, 0, 20, false, 1))
		require.ErrorIs(t, err, log.ErrOutOfOrderSequence)
		w.close()
		w.open()
		require.EqualValues(t, 12, w.append(produced(t, 1, 0, 12, false, 1)).BaseOffset)
	})
}

// Trace 163: the indexes of a segment that recovery drops stay as long as they are.
func TestDroppedIndexesKeepTheirSize(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Resume = &log.Resume{Clean: true}
		w.open()
		w.fill("a")
		_, err := w.l.Roll()
		require.NoError(t, err)
		w.fill("b", "c")
		w.close()
		flip(t, w.fs, w.dir+"/"+name20(0)+".log", 65)
		w.o.Resume = &log.Resume{}
		w.open()
		require.EqualValues(t, 0, w.l.EndOffset())
		for name, want := range map[string]int{".index.deleted": 0, ".timeindex.deleted": 12} {
			require.Len(t, w.files()[name20(1)+name], want, name)
		}
	})
}

// A follower takes batches of one append that overlap, as long as their last offsets rise, and recovery keeps
// them, as in Kafka (truncate, seed 15142; traces epochs-18, epochs-19, truncate-20).
func TestRecoverOverlappingBatches(t *testing.T) {
	type span struct{ base, n int64 }
	for _, row := range []struct {
		name  string
		spans []span
		end   int64
	}{
		{"no gap", []span{{0, 3}, {1, 4}, {3, 9}}, 12},
		{"behind a gap", []span{{1, 3}, {2, 4}, {6, 1}, {7, 5}}, 12},
		{"behind a gap with room for it", []span{{0, 3}, {7, 4}, {8, 4}}, 12},
	} {
		t.Run(row.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.o.Resume = &log.Resume{}
				w.open()
				var all []byte
				for _, b := range row.spans {
					h := codec.NewHeader(2)
					h.BaseOffset, h.LeaderEpoch = b.base, 0
					recs := make([]codec.Record, b.n)
					for i := range recs {
						recs[i] = codec.Record{Offset: b.base + int64(i), Timestamp: started, Value: []byte("v")}
					}
					all = append(all, batch(t, h, recs...)...)
				}
				_, err := w.l.AppendAssigned(all, 0)
				require.NoError(t, err)
				w.kill()
				w.open()
				require.Equal(t, row.end, w.l.EndOffset())
				require.Len(t, w.files()[name20(0)+".log"][:len(all)], len(all))
			})
		})
	}
}

// G68 testLogReinitializeAfterManualDelete: an empty directory begins where the checkpoint says.
func TestG68EmptyDirectory(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Resume = &log.Resume{StartOffset: 500}
		w.open()
		require.EqualValues(t, 500, w.l.StartOffset())
		require.EqualValues(t, 500, w.l.EndOffset())
		require.EqualValues(t, 500, w.append(set(t, rec("a"))).BaseOffset)
	})
}
