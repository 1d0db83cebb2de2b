package log_test

import (
	"path"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// A crash that took the end of a segment that was rolled and not synced, and left the next one, leaves no
// hole: what is there is a prefix of what was appended.
func TestRolledSegmentLostItsEnd(t *testing.T) {
	for _, synced := range []bool{false, true} {
		onEach(t, func(t *testing.T, w *world) {
			w.o.Config.SegmentBytes = 300
			w.open()
			w.fill(numbers(9)...)
			bases := w.bases()
			require.Len(t, bases, 3)
			if synced {
				require.NoError(t, w.l.Sync(bases[1]))
			}
			sizes := w.l.State().Segments
			w.kill()
			lost := 1 // the segment that is one batch shorter
			name := path.Join(w.dir, name20(bases[lost])+".log")
			batch := sizes[lost].Size / (bases[lost+1] - bases[lost])
			write(t, w.fs, name, read(t, w.fs, name)[:sizes[lost].Size-batch])
			var got log.Recovery
			w.o.Events.Recovered = func(r log.Recovery) { got = r }
			w.open()
			require.Equal(t, bases[2]-1, w.l.EndOffset())
			require.Len(t, got.Dropped, 1)
			require.Len(t, w.values(0, log.ReadToEnd), int(bases[2]-1))
			w.fill("goes on")
			w.kill()
			w.open()
			require.Equal(t, bases[2], w.l.EndOffset())
			require.Equal(t, "goes on", w.first(bases[2]-1).value)
		})
	}
}

// A clean mark is believed only where the end and the size are those of the directory: what Kafka, or
// somebody else, wrote in between is verified.
func TestCleanMarkIsCompared(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		w.fill("a", "b")
		w.close()
		mark := read(t, w.fs, path.Join(w.dir, "strata.checkpoint"))
		w.open()
		require.True(t, w.l.RecoveryPoint() == 2)
		w.fill("c")
		w.close()
		write(t, w.fs, path.Join(w.dir, "strata.checkpoint"), mark) // a crash brings the old mark back
		flip(t, w.fs, path.Join(w.dir, name20(0)+".log"), int(int64(len(set(t, rec("a"))))*2+66))
		w.open()
		require.EqualValues(t, 2, w.l.EndOffset())
		require.Len(t, w.values(0, log.ReadToEnd), 2)
		w.close()
		for _, broken := range [][]byte{nil, []byte("strataCP"), make([]byte, 1024)} {
			write(t, w.fs, path.Join(w.dir, "strata.checkpoint"), broken)
			w.open()
			require.EqualValues(t, 2, w.l.EndOffset(), "a lost checkpoint costs time, not records")
			w.close()
		}
	})
}

// A segment that ends in damage, as a clean stop that was none leaves it, does not hold a reader up.
func TestRecordsBehindADamagedEnd(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 300
		w.open()
		w.fill(numbers(9)...)
		segments := w.l.State().Segments
		require.Len(t, segments, 3)
		w.close()
		for _, s := range segments[1:] {
			name := path.Join(w.dir, name20(s.BaseOffset)+".log")
			write(t, w.fs, name, read(t, w.fs, name)[:s.Size-3])
		}
		w.o.Resume = &log.Resume{Clean: true, RecoveryPoint: 9}
		w.open()
		require.GreaterOrEqual(t, w.l.EndOffset(), int64(8))
		values, damaged := 0, 0
		for _, err := range w.l.Records(t.Context(), 0) {
			if err == nil {
				values++
			} else {
				damaged++
			}
			require.Less(t, damaged, 10, "a reader goes round in a circle")
		}
		require.Equal(t, 7, values)
		end := w.l.EndOffset()
		require.Equal(t, end, w.append(set(t, rec("goes on"))).BaseOffset)
		require.Equal(t, "goes on", w.first(end).value)
	})
}

// The base offset of a segment's last batch has no checksum and no neighbour behind it. A flipped bit in it costs
// the batch, and no later segment.
func TestFlippedOffsetAtTheEndOfASegment(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.SegmentBytes = 400
		w.open()
		w.fill(numbers(20)...)
		bases := w.bases()
		st := w.l.State().Segments[0]
		w.close()
		want := map[int64]string{}
		for i, v := range numbers(20) {
			want[int64(i)] = v
		}
		delete(want, bases[1]-1)
		name := path.Join(w.dir, name20(0)+".log")
		flip(t, w.fs, name, int(st.Size)/int(bases[1])*int(bases[1]-1)+2)
		var told []log.Damage
		w.o.Events.Damaged = func(d log.Damage) { told = append(told, d) }
		w.open()
		got, damaged := map[int64]string{}, 0
		for r, err := range w.l.Records(t.Context(), 0) {
			if err != nil {
				require.ErrorIs(t, err, segment.ErrOffsets)
				require.Len(t, told, 1)
				require.Equal(t, err, told[0].Err)
				require.EqualValues(t, bases[1]-1, told[0].FirstOffset)
				require.EqualValues(t, st.Size/bases[1], told[0].Size)
				damaged++
				continue
			}
			got[r.Offset] = string(r.Value)
		}
		require.Equal(t, 1, damaged)
		require.Equal(t, want, got)
	})
}

// A directory that has the name of a file of a segment is nobody's leftover: as Kafka, which cannot open it as a file,
// Open and Roll fail where they need the name, and leave it alone.
func TestDirectoryNamedAsAFile(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, ext := range []string{".log", ".index", ".timeindex", ".txnindex"} {
			w.dir = "t-" + ext[1:]
			name := path.Join(w.dir, name20(0)+ext)
			require.NoError(t, w.fs.MkdirAll(name, 0o755))
			_, err := log.Open(t.Context(), w.dir, w.o)
			require.ErrorIs(t, err, syscall.EISDIR, ext)
			info, err := w.fs.Stat(name)
			require.NoError(t, err)
			require.True(t, info.IsDir())
		}
		w.dir = "t-0"
		w.open()
		w.fill("a", "b")
		for _, ext := range []string{".log.deleted", ".log.cleaned", ".index.swap", ".snapshot"} {
			require.NoError(t, w.fs.MkdirAll(path.Join(w.dir, name20(9)+ext), 0o755))
		}
		name := path.Join(w.dir, name20(2)+".log")
		require.NoError(t, w.fs.MkdirAll(name, 0o755))
		_, err := w.l.Roll()
		require.ErrorIs(t, err, log.ErrReadOnly)
		require.ErrorIs(t, err, syscall.EISDIR)
		w.kill()
		w.open() // what is in nobody's way does not matter
		require.Len(t, w.values(0, log.ReadToEnd), 2)
		for _, name := range []string{name20(2) + ".log", name20(9) + ".log.deleted", name20(9) + ".log.cleaned", name20(9) + ".index.swap", name20(9) + ".snapshot"} {
			require.True(t, w.exists(name), name)
		}
	})
}

// After a failed write nothing more is written: a Close leaves every file as it is, as Kafka's does where a
// directory has failed. What indexes and message sets have reserved, the next Open gives back.
func TestCloseAfterFailureWritesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var changed []string
		failing := false
		w.intercept(func(op *fsio.Op, do func() error) error {
			if failing && fsio.Mutates.Has(op.Kind) {
				changed = append(changed, op.Kind.String()+" "+op.Path)
			}
			return do()
		})
		w.o.Config.SegmentBytes, w.o.Config.RetainBytes = 300, log.Zero
		w.open()
		w.fill(numbers(9)...)
		_, err := w.l.Retain(t.Context())
		require.NoError(t, err)
		w.fill("a", "b")
		before := w.files()
		failing = true
		w.l.Fail(syscall.EIO)
		require.ErrorIs(t, w.l.Close(), syscall.EIO)
		require.Empty(t, changed)
		sameFiles(t, before, w.files())
		failing = false
		w.open()
		require.EqualValues(t, 11, w.l.EndOffset())
		w.close()
	})
}

// A log that is deleted, and segments that are, give nothing back: their files go.
func TestDeletedFilesAreNotTrimmed(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var cut []string
		w.intercept(func(op *fsio.Op, do func() error) error {
			if op.Kind == fsio.OpTruncate {
				cut = append(cut, op.Path)
			}
			return do()
		})
		w.open()
		w.fill("a")
		require.NoError(t, w.l.Reset(5, 5)) // deletes the active segment
		deleted := path.Join(w.dir, name20(0)+".index.deleted")
		size := len(read(t, w.fs, deleted))
		w.close()
		require.Len(t, read(t, w.fs, deleted), size)
		w.open()
		w.fill("b")
		cut = nil
		require.NoError(t, w.l.Delete(t.Context()))
		require.Empty(t, cut)
	})
}
