package log_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// TestHostileDirectories opens directories in which files are missing, doubled, cut, exchanged, or left over in any
// combination, with what is known before in any state: a log opens, or says why not, takes an append, and is the same
// when it is opened again.
func TestHostileDirectories(t *testing.T) {
	seeds := []uint64{
		3286, 12413, 15293, // the first batch of the active segment is damaged
		13173, // a segment holds batches below its base
	}
	more := uint64(300)
	if testing.Short() {
		more = 80
	}
	for seed := range more {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 5))
			w := newWorld(t, backends[rnd.IntN(2)])
			w.o.Config.SegmentBytes, w.o.Config.IndexBytes, w.o.Config.IndexIntervalBytes = 300, 96, 1
			if rnd.IntN(3) == 0 {
				w.o.Resume = &log.Resume{Clean: rnd.IntN(2) == 0, RecoveryPoint: rnd.Int64N(40), StartOffset: rnd.Int64N(40), HighWatermark: rnd.Int64N(50)}
			}
			w.open()
			for i := range int32(10) {
				w.append(produced(t, int64(i%3), 0, i/3, i%3 == 0, 1))
				w.fill("v", "w")
			}
			w.end(0, 0, false)
			if rnd.IntN(2) == 0 {
				w.close()
			}
			w.kill()
			for range 1 + rnd.IntN(5) {
				w.ravage(rnd)
			}
			l, err := log.Open(t.Context(), w.dir, w.o)
			if err != nil {
				return // it says why
			}
			look(t, l)
			end := l.EndOffset()
			got, err := l.Append(set(t, rec("new")))
			if end < math.MaxInt64 { // there is no offset left
				require.NoError(t, err)
				require.Equal(t, end, got.BaseOffset)
				end++
			}
			look(t, l)
			require.NoError(t, l.Sync(end))
			start := l.StartOffset()
			require.NoError(t, l.Close())
			o := w.o
			if o.Resume != nil {
				o.Resume = &log.Resume{Clean: true, StartOffset: start}
			}
			l, err = log.Open(t.Context(), w.dir, o)
			require.NoError(t, err)
			require.Equal(t, end, l.EndOffset(), "%v", w.names())
			require.Equal(t, start, l.StartOffset())
			look(t, l)
			for _, name := range w.names() {
				_, _, state, ok := segment.ParseFileName(name)
				require.False(t, ok && w.o.Resume == nil && state != segment.Live && state != segment.Deleted, name)
			}
			_, err = l.Truncate(start + (end-start)/2)
			require.NoError(t, err)
			look(t, l)
			require.NoError(t, l.Close())
		})
	}
}

// look asks a log for all it has.
func look(t *testing.T, l *log.Log) {
	t.Helper()
	require.LessOrEqual(t, l.StartOffset(), l.EndOffset())
	n := 0
	for range l.RecordsWith(t.Context(), l.StartOffset(), log.ReadOptions{Isolation: log.ReadToEnd}) {
		if n++; n > 10000 {
			t.Fatal("endless")
		}
	}
	for o := max(l.StartOffset(), l.EndOffset()-60); o <= l.EndOffset() && o >= 0; o++ {
		if s, err := l.ReadWith(o, log.ReadOptions{Isolation: log.ReadCommitted}); err == nil {
			_ = s.Close()
		}
		l.EpochForOffset(o)
	}
	_, _ = l.Aborted(0, 1<<60)
	_, _, _ = l.OffsetForTime(started)
	_, _, _ = l.OffsetForTime(log.MaxTimestamp)
	l.State()
}

// ravage does something to a directory that no log does.
func (w *world) ravage(rnd *rand.Rand) {
	names := w.names()
	if len(names) == 0 {
		return
	}
	name := names[rnd.IntN(len(names))]
	b := read(w, w.fs, path.Join(w.dir, name))
	put := func(name string, b []byte) { write(w, w.fs, path.Join(w.dir, name), b) }
	ext := []string{".log", ".index", ".timeindex", ".txnindex", ".snapshot"}[rnd.IntN(5)]
	any20 := name20([]int64{0, 1, 5, 7, 12, 19, 25, 31, 40, 1 << 31, 1 << 40, 1<<63 - 1}[rnd.IntN(12)])
	noise := make([]byte, rnd.IntN(400))
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	switch rnd.IntN(13) {
	case 0:
		_ = w.fs.Remove(path.Join(w.dir, name))
	case 1:
		put(name, b[:rnd.IntN(len(b)+1)])
	case 2:
		if len(b) > 0 {
			b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
			put(name, b)
		}
	case 3:
		put(name, append(b, noise...))
	case 4:
		put(name, append(b, make([]byte, 5000)...))
	case 5:
		put(any20+ext, noise)
	case 6:
		put(any20+ext, nil)
	case 7:
		put(any20+".log", b)
	case 8:
		put(name+[]string{".swap", ".cleaned", ".deleted", ".tmp"}[rnd.IntN(4)], b)
	case 9:
		_ = w.fs.Rename(path.Join(w.dir, name), path.Join(w.dir, name+[]string{".swap", ".cleaned", ".deleted", ".tmp"}[rnd.IntN(4)]))
	case 10:
		put(any20+ext+[]string{".swap", ".cleaned", ".deleted"}[rnd.IntN(3)], noise)
	case 11:
		put("leader-epoch-checkpoint", []byte("0\n2\n0 0\n7 900\n"))
	case 12:
		put(name, bytes.Repeat([]byte{0xff}, len(b)))
	}
}
