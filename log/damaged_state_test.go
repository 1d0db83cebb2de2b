package log_test

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/log"
)

// damages are a file cut at every byte and with every bit flipped.
func damages(whole []byte, each func(name string, content []byte)) {
	for size := range whole {
		each(fmt.Sprintf("cut at %d", size), whole[:size])
	}
	for bit := range len(whole) * 8 {
		flipped := bytes.Clone(whole)
		flipped[bit/8] ^= 1 << (bit % 8)
		each(fmt.Sprintf("bit %d flipped", bit), flipped)
	}
}

// damaged opens the log on copies of its directory in which one file is damaged, after a clean stop and after one of which
// nothing is known, and calls look with each.
func (w *world) damaged(file string, look func(name string, content []byte, at *world)) {
	w.Helper()
	whole := read(w, w.fs, path.Join(w.dir, file))
	for _, resume := range []log.Resume{{Clean: true}, {}} {
		damages(whole, func(name string, content []byte) {
			at := *w
			at.fs = aferofs.Mem()
			copyTree(w, at.fs, w.fs, w.dir)
			write(w, at.fs, path.Join(w.dir, file), content)
			at.o.FS, at.o.Resume = at.fs, &resume
			look(fmt.Sprintf("clean %v: %s", resume.Clean, name), content, &at)
		})
	}
}

// TestDamagedSnapshot loads a log whose newest producer snapshot is damaged: it is found out, and the producers are made
// of the snapshot before it and the batches.
func TestDamagedSnapshot(t *testing.T) {
	w := newWorld(t, backends[0])
	w.open()
	w.append(produced(t, 1, 0, 0, false, 2))
	_, err := w.l.Roll()
	require.NoError(t, err)
	w.append(produced(t, 1, 0, 2, false, 1))
	w.append(produced(t, 2, 7, 0, true, 2))
	want, end := lastOfAll(w.l.Producers()), w.l.EndOffset()
	require.Len(t, want, 2)
	w.close()
	w.damaged(name20(end)+".snapshot", func(name string, _ []byte, w *world) {
		w.open()
		require.ElementsMatch(t, want, lastOfAll(w.l.Producers()), name)
		require.EqualValues(t, 3, w.l.StableOffset(), name)
		_, err := w.l.Append(produced(t, 1, 0, 4, false, 1))
		require.ErrorIs(t, err, log.ErrOutOfOrderSequence, name)
		w.close()
	})
}

// TestDamagedEpochs loads a log whose file of leader epochs is damaged. Where that can be seen they are made of the
// batches, which Recovered tells, and otherwise, since no checksum is in it, Verify tells.
func TestDamagedEpochs(t *testing.T) {
	w := newWorld(t, backends[0])
	w.open()
	for i, epoch := range []int32{0, 0, 3, 3, 4} {
		_, err := w.l.AppendAssigned(at(t, int64(i), epoch, "v"), epoch)
		require.NoError(t, err)
	}
	_, err := w.l.Roll()
	require.NoError(t, err)
	want := []log.Epoch{{Epoch: 0, StartOffset: 0}, {Epoch: 3, StartOffset: 2}, {Epoch: 4, StartOffset: 4}}
	require.Equal(t, want, w.l.Epochs())
	w.close()
	seen := 0
	w.damaged("leader-epoch-checkpoint", func(name string, content []byte, w *world) {
		var told log.Recovery
		w.o.Events.Recovered = func(r log.Recovery) { told = r }
		found := verifyAll(t, w.fs, w.dir, log.VerifyOptions{Resume: w.o.Resume})
		w.open()
		got := w.l.Epochs()
		w.close()
		if told.Epochs {
			seen++
			require.Equal(t, want, got, name)
			require.Equal(t, "0\n3\n0 0\n3 2\n4 4\n", w.files()["leader-epoch-checkpoint"], name)
			return
		}
		for i := range got {
			require.Less(t, got[i].StartOffset, int64(5), name)
			require.True(t, i == 0 || got[i].Epoch > got[i-1].Epoch && got[i].StartOffset > got[i-1].StartOffset, "%s: %v", name, got)
		}
		right := slices.Equal(want, got)
		if !w.o.Resume.Clean && len(got) > 0 { // nobody knows whether records were deleted up to there since the checkpoint
			right = slices.Equal(epochsFrom(want, got[0].StartOffset), got)
		}
		if !right {
			require.NotEmpty(t, briefs(found, log.SeverityWarning), "%s: %q is taken for %v, and nobody tells", name, content, got)
		}
	})
	require.Greater(t, seen, 200)
}

// A replica does not make up its leader epochs, as in Kafka 4.4 (recovery-damage, seed 77315883): it is refused, and
// nothing is changed. Who only looks at it sees those of the batches.
func TestDamagedEpochsOfAReplica(t *testing.T) {
	w := newWorld(t, backends[0])
	w.o.Replicated, w.o.Resume = true, &log.Resume{}
	w.open()
	for i, epoch := range []int32{0, 3} {
		_, err := w.l.AppendAssigned(at(t, int64(i), epoch, "v"), epoch)
		require.NoError(t, err)
	}
	w.kill()
	file := path.Join(w.dir, "leader-epoch-checkpoint")
	write(t, w.fs, file, []byte("0\n3\n0 0\n"))
	write(t, w.fs, path.Join(w.dir, name20(5)+".log.cleaned"), nil)
	before := w.files()
	_, err := log.Open(t.Context(), w.dir, w.o)
	where, ok := errors.AsType[*fsio.PosError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, file, where.Path)
	require.Equal(t, before, w.files())

	w.o.ReadOnly = true
	w.open()
	require.Equal(t, []log.Epoch{{Epoch: 0, StartOffset: 0}, {Epoch: 3, StartOffset: 1}}, w.l.Epochs())
	w.close()
	w.o.ReadOnly = false
	require.NoError(t, w.fs.Remove(file))
	w.open()
	require.EqualValues(t, 2, w.l.EndOffset())
}

// epochsFrom are epochs of a log whose records below start were deleted.
func epochsFrom(epochs []log.Epoch, start int64) []log.Epoch {
	n := 0
	for n < len(epochs) && epochs[n].StartOffset <= start {
		n++
	}
	left := slices.Clone(epochs[max(n-1, 0):])
	if n > 0 {
		left[0].StartOffset = start
	}
	return left
}

// An epoch file that there was no room for is written with the next append, though that is of an epoch that is
// known: what comes behind a crash must not find the epochs of batches that were truncated.
func TestEpochsWithoutRoom(t *testing.T) {
	for _, later := range []bool{false, true} {
		t.Run(fmt.Sprint("scheduler ", later), func(t *testing.T) {
			w := newWorld(t, backends[0])
			full := false
			w.intercept(func(op *fsio.Op, do func() error) error {
				if full && op.Kind == fsio.OpWriteAt && strings.HasPrefix(path.Base(op.Path), "leader-epoch") {
					return syscall.ENOSPC
				}
				return do()
			})
			if later {
				w.o.Scheduler = w.clock
			}
			l := w.open()
			in := func(epoch int32) error {
				_, err := l.AppendWith(set(t, rec("v")), log.AppendOptions{LeaderEpoch: epoch})
				return err
			}
			require.NoError(t, errors.Join(in(0), in(0), in(0), in(1)))
			full = true
			_, err := l.Truncate(2)
			if !later {
				require.ErrorIs(t, err, syscall.ENOSPC)
			}
			w.clock.Advance(0)
			require.ErrorIs(t, in(0), syscall.ENOSPC)
			require.EqualValues(t, 2, l.EndOffset())
			full = false
			require.NoError(t, errors.Join(in(0), in(0), in(0)))
			w.kill()
			l = w.open()
			require.EqualValues(t, 5, l.EndOffset())
			require.Equal(t, []log.Epoch{{}}, l.Epochs())
		})
	}
}

// An index below the start that a power cut has damaged after a clean stop, for which nobody syncs it any more, costs
// nobody his transaction: its segment is read anew, which takes all snapshots of producers.
func TestDamageBelowTheStartKeepsProducers(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		l := w.open()
		w.append(produced(t, 1, 0, 0, true, 1))
		w.end(1, 0, false)
		_, err := l.Roll()
		require.NoError(t, err)
		w.append(produced(t, 2, 0, 0, true, 1))
		_, err = l.DeleteBefore(2)
		require.NoError(t, err)
		require.EqualValues(t, 2, l.StableOffset())
		w.close()
		write(t, w.fs, path.Join(w.dir, name20(0)+".txnindex"), make([]byte, 33))
		l = w.open()
		require.EqualValues(t, 2, l.StableOffset())
		require.Empty(t, w.values(2, log.ReadCommitted))
		got, err := l.Append(produced(t, 2, 0, 0, true, 1))
		require.NoError(t, err)
		require.True(t, got.Duplicate)
	})
}
