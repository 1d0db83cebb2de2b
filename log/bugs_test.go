package log_test

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"path"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/log"
)

// S-02 (KAFKA-9835): an append that comes while a read looks for its place, and a read that looks while the high watermark
// is below the end, give no byte at or above that.
func TestReadBelowTheHighWatermarkBesideAppends(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Replicated = true
		during := func() {}
		w.intercept(func(op *fsio.Op, do func() error) error {
			if op.Kind == fsio.OpReadAt && strings.HasSuffix(op.Path, ".log") {
				during()
			}
			return do()
		})
		w.open()
		w.fill(numbers(6)...)
		w.l.SetHighWatermark(4)
		appended := 0
		during = func() {
			if appended++; appended < 4 {
				w.fill("meanwhile")
			}
		}
		for offset := range int64(5) {
			appended = 0
			s, err := w.l.Read(offset, 1<<20)
			require.NoError(t, err)
			var got []int64
			for r, err := range s.Records() {
				require.NoError(t, err)
				got = append(got, r.Offset)
			}
			require.NoError(t, s.Close())
			require.Len(t, got, int(4-offset), "read at %d: %v", offset, got)
		}
	})
}

// S-15 (KAFKA-6324, KAFKA-6194): what is gone already is no error of a deletion, and what cannot be removed is tried again
// by the next Open.
func TestDeleteWhatIsGone(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.o.Config.RetainBytes, w.o.Config.DeleteDelay = log.Zero, log.Zero
		refused := ""
		w.intercept(func(op *fsio.Op, do func() error) error {
			if op.Kind == fsio.OpRemove && refused != "" && strings.HasSuffix(op.Path, refused) {
				return syscall.EIO
			}
			return do()
		})
		w.fifteen(started)
		for _, ext := range []string{".timeindex", ".snapshot"} {
			require.NoError(t, w.fs.Remove(path.Join(w.dir, name20(5)+ext)))
		}
		s, err := w.l.Read(2, 1)
		require.NoError(t, err)
		require.Equal(t, 3, w.retain())
		require.Zero(t, w.retain())
		refused = ".index.deleted"
		_, err = w.l.Reap(t.Context())
		require.ErrorIs(t, err, syscall.EIO)
		_, err = w.l.Append(set(t, rec("goes on")))
		require.NoError(t, err)
		for _, err := range s.Records() {
			require.NoError(t, err)
		}
		require.NoError(t, s.Close())
		w.close()
		refused = ""
		w.open()
		for _, name := range w.names() {
			require.NotContains(t, name, ".deleted")
		}
		require.EqualValues(t, 16, w.l.EndOffset())
	})
}

// S-18: a truncation into the middle of a sealed segment, into its first record, to its base, to the start, and of the
// only one, leaves a segment that can be appended to, whenever the process dies.
func TestS18TruncateSealed(t *testing.T) {
	for _, to := range []int64{7, 6, 5, 4, 0} {
		t.Run(fmt.Sprint(to), func(t *testing.T) { killWhileTruncating(t, to) })
	}
}

// killWhileTruncating truncates 15 records, five a segment, to an offset, dies at each step, opens, and appends.
func killWhileTruncating(t *testing.T, to int64) {
	for step := 0; ; step++ {
		w := newWorld(t, backends[0])
		armed, n := false, 0
		var image fsio.FS
		w.intercept(func(op *fsio.Op, do func() error) error {
			if armed && fsio.Mutates.Has(op.Kind) {
				if n == step {
					image = inMemory(t)
					copyTree(t, image, w.fs, w.dir)
				}
				n++
			}
			return do()
		})
		w.fifteen(started)
		require.NoError(t, w.l.Sync(15))
		armed = true
		_, err := w.l.Truncate(to)
		require.NoError(t, err)
		armed = false
		require.Equal(t, to, w.append(set(t, rec("next"))).BaseOffset)
		w.close()
		if image == nil {
			require.Greater(t, step, 5)
			return
		}
		w.fs, w.o.FS = image, image
		w.open()
		end := w.l.EndOffset()
		require.GreaterOrEqual(t, end, to, "step %d", step)
		require.Len(t, w.values(0, log.ReadToEnd), int(end), "step %d", step)
		bases := w.bases()
		require.Equal(t, end, w.append(set(t, rec("next"))).BaseOffset)
		require.LessOrEqual(t, len(w.bases()), len(bases)+1, "step %d", step)
		require.Equal(t, "next", w.first(end).value)
		w.close()
		w.open()
		require.Len(t, w.values(0, log.ReadToEnd), int(end+1), "step %d", step)
		w.close()
	}
}

// S-19 (KAFKA-10432): epoch 0 is an epoch, also where recovery reads it from the batches; formats without one have none.
func TestS19RecoverEpochZero(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.open()
		for i, epoch := range []int32{0, 0, 1, 3} {
			_, err := w.l.AppendAssigned(at(t, int64(i), epoch, "v"), epoch)
			require.NoError(t, err)
		}
		want := []log.Epoch{{Epoch: 0, StartOffset: 0}, {Epoch: 1, StartOffset: 2}, {Epoch: 3, StartOffset: 3}}
		require.Equal(t, want, w.l.Epochs())
		w.kill()
		require.NoError(t, w.fs.Remove(path.Join(w.dir, "leader-epoch-checkpoint")))
		w.open()
		require.Equal(t, want, w.l.Epochs())
		h := codec.NewHeader(1)
		h.BaseOffset = 4
		w.close()
		require.NoError(t, w.fs.Remove(path.Join(w.dir, "leader-epoch-checkpoint")))
		name := path.Join(w.dir, name20(0)+".log")
		write(t, w.fs, name, append(read(t, w.fs, name), batch(t, h, rec("old"))...))
		w.open()
		require.EqualValues(t, 5, w.l.EndOffset())
		require.NotContains(t, fmt.Sprint(w.l.Epochs()), "-1")
	})
}

// S-20, L-23: an empty segment holds no record, not even one at its base: DeleteBefore and Retain leave it, and no append
// beside them is lost, or gets an offset twice.
func TestS20RetainBesideAppends(t *testing.T) {
	for _, b := range backends[:2] {
		t.Run(b.name, func(t *testing.T) {
			w := newWorld(t, b)
			w.o.Config.DeleteDelay = log.Zero
			w.open()
			w.fill("a")
			_, err := w.l.Roll()
			require.NoError(t, err)
			moved, err := w.l.DeleteBefore(1)
			require.NoError(t, err)
			require.True(t, moved)
			require.Equal(t, 1, w.retain())
			require.Zero(t, w.retain())
			require.Equal(t, []int64{1}, w.bases())
			require.EqualValues(t, 1, w.l.StartOffset())

			const appends = 60
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var others sync.WaitGroup
			others.Go(func() {
				every(ctx, func() {
					_, _ = w.l.DeleteBefore(w.l.HighWatermark())
					_, err := w.l.Retain(ctx)
					assert.True(t, err == nil || ctx.Err() != nil, "%v", err)
				})
			})
			others.Go(func() { rollOften(ctx, t, w.l) })
			for i := range int64(appends) {
				got, err := w.l.Append(set(t, rec(fmt.Sprint(i))))
				require.NoError(t, err)
				require.Equal(t, 1+i, got.BaseOffset)
				runtime.Gosched()
			}
			cancel()
			others.Wait()
			require.EqualValues(t, 1+appends, w.l.EndOffset())
			start := w.l.StartOffset()
			for offset, value := range w.values(start, log.ReadToEnd) {
				require.Equal(t, fmt.Sprint(offset-1), value)
			}
		})
	}
}

// L-08 (KAFKA-7401): a compaction that was complete, below a start that lies in it, is finished, and the start stays.
func TestL08SwapBelowTheStart(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.fifteen(started)
		moved, err := w.l.DeleteBefore(7)
		require.NoError(t, err)
		require.True(t, moved)
		w.kill()
		first, second := read(t, w.fs, path.Join(w.dir, name20(0)+".log")), read(t, w.fs, path.Join(w.dir, name20(5)+".log"))
		size := len(first) / 5
		swap := append(append([]byte{}, first[:size]...), second[2*size:]...) // 0, 7, 8, 9
		write(t, w.fs, path.Join(w.dir, name20(0)+".log.swap"), swap)
		w.open()
		require.EqualValues(t, 7, w.l.StartOffset())
		require.EqualValues(t, 15, w.l.EndOffset())
		require.Equal(t, []int64{0, 10}, w.bases())
		_, err = w.l.Read(6, 100)
		require.ErrorIs(t, err, log.ErrOffsetOutOfRange)
		require.Len(t, w.values(7, log.ReadToEnd), 8)
		for _, name := range w.names() {
			require.NotContains(t, name, ".swap")
		}
		_, err = w.l.DeleteBefore(10)
		require.NoError(t, err)
		require.Equal(t, 1, w.retain())
		require.Equal(t, []int64{10}, w.bases())
	})
}

// L-18 (KAFKA-15391, KAFKA-13403): files that go since the log is deleted are no failure of what runs beside.
func TestL18DeleteBesideCalls(t *testing.T) {
	for range 5 {
		w := newWorld(t, backends[0])
		w.o.Events.Failed = func(err error) { t.Error(err) }
		w.o.Config.SegmentBytes = 200
		l := w.open()
		w.fill(numbers(10)...)
		var all sync.WaitGroup
		began := make(chan struct{}, 3)
		loop := func(do func() error) {
			all.Go(func() {
				began <- struct{}{}
				for {
					if err := do(); err != nil {
						assert.ErrorIs(t, err, log.ErrClosed)
						return
					}
				}
			})
		}
		loop(func() error { _ = l.State(); return l.Sync(l.EndOffset()) })
		loop(func() error { _, err := l.Retain(context.Background()); return err })
		loop(func() error { _, err := l.Append(set(t, rec("v"))); return err })
		for range 3 {
			<-began
		}
		assert.NoError(t, l.Delete(t.Context()))
		all.Wait()
		_, err := w.fs.Stat(w.dir)
		require.ErrorIs(t, err, fs.ErrNotExist)
		w.l = nil
	}
}

// L-35: space that is reserved does not pile up where the process dies again and again.
func TestL35ReservedSpaceIsBounded(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const reserved = 64 << 10
		w.o.Config.SegmentBytes, w.o.Config.IndexBytes, w.o.Config.Preallocate = reserved, 4096, true
		for i := range int64(8) {
			w.open()
			require.Equal(t, i, w.l.EndOffset())
			w.fill("v")
			if i%3 == 2 {
				_, err := w.l.Roll()
				require.NoError(t, err)
			}
			w.kill()
		}
		w.open()
		require.Len(t, w.values(0, log.ReadToEnd), 8)
		size := 0
		for _, b := range w.files() {
			size += len(b)
		}
		require.LessOrEqual(t, size, reserved+2*4096+4096)
	})
}

// G-12: an Open that fails at any call frees everything, the lock too, and the next one succeeds.
func TestG12OpenFailsAnywhere(t *testing.T) {
	for _, clean := range []bool{true, false} {
		t.Run(fmt.Sprintf("clean %v", clean), func(t *testing.T) {
			w := newWorld(t, backends[0])
			w.fifteen(started)
			w.append(produced(t, 1, 0, 0, true, 2))
			want := w.values(0, log.ReadToEnd)
			if clean {
				w.close()
			} else {
				w.kill()
			}
			whole := w.fs
			for n := 0; ; n++ {
				w.fs = inMemory(t)
				copyTree(t, w.fs, whole, w.dir)
				i, open, opened := 0, 0, false
				w.intercept(func(op *fsio.Op, do func() error) error {
					if !opened {
						i++
					}
					if !opened && i == n+1 && !fsio.Closes.Has(op.Kind) {
						return syscall.EIO
					}
					err := do()
					switch {
					case err != nil:
					case op.Kind == fsio.OpOpen || op.Kind == fsio.OpCreate || op.Kind == fsio.OpLock || op.Kind == fsio.OpMap:
						open++
					case fsio.Closes.Has(op.Kind):
						open--
					}
					return err
				})
				l, err := log.Open(t.Context(), w.dir, w.o)
				opened = true
				if err == nil {
					require.NoError(t, l.Close())
				} else {
					require.ErrorIs(t, err, syscall.EIO)
				}
				require.Zero(t, open, "call %d", n)
				w.o.FS = w.fs
				w.open()
				require.Equal(t, want, w.values(0, log.ReadToEnd), "call %d", n)
				w.close()
				if i <= n {
					return
				}
			}
		})
	}
}

// Calls that make no sense have the error that others like them have, and change nothing.
func TestWrongCalls(t *testing.T) {
	w := newWorld(t, backends[0])
	w.o.Config.SegmentBytes, w.o.Config.MessageBytes = 400, 500
	w.open()
	w.fill(numbers(6)...)
	_, err := w.l.DeleteBefore(2)
	require.NoError(t, err)
	got, err := w.l.AppendRecords()
	require.NoError(t, err)
	require.EqualValues(t, 2, got.StartOffset)
	l, before := w.l, w.files()
	appendWith := func(set []byte, o log.AppendOptions) func() error {
		return func() error { _, err := l.AppendWith(set, o); return err }
	}
	assigned := func(set []byte) func() error {
		return func() error { _, err := l.AppendAssigned(set, 0); return err }
	}
	read := func(o log.ReadOptions, offset int64) func() error {
		return func() error { _, err := l.ReadWith(offset, o); return err }
	}
	for name, row := range map[string]struct {
		call func() error
		want error
	}{
		"read below the start":    {read(log.ReadOptions{}, 1), log.ErrOffsetOutOfRange},
		"read above the end":      {read(log.ReadOptions{}, 7), log.ErrOffsetOutOfRange},
		"read at a negative":      {read(log.ReadOptions{}, math.MinInt64), log.ErrOffsetOutOfRange},
		"read negative bytes":     {read(log.ReadOptions{MaxBytes: -1}, 3), fs.ErrInvalid},
		"read with no isolation":  {read(log.ReadOptions{Isolation: 9}, 3), fs.ErrInvalid},
		"wait with no isolation":  {func() error { return l.Wait(t.Context(), 3, 9) }, fs.ErrInvalid},
		"append by nobody":        {appendWith(set(t, rec("v")), log.AppendOptions{Origin: 9}), fs.ErrInvalid},
		"append without epoch":    {appendWith(set(t, rec("v")), log.AppendOptions{LeaderEpoch: -1}), log.ErrInvalidRecord},
		"append too large":        {appendWith(set(t, rec(strings.Repeat("v", 450))), log.AppendOptions{}), log.ErrRecordTooLarge},
		"append more than fits":   {appendWith(set(t, rec(strings.Repeat("v", 400))), log.AppendOptions{}), log.ErrBatchTooLarge},
		"append two batches":      {appendWith(append(set(t, rec("v")), set(t, rec("v"))...), log.AppendOptions{}), log.ErrInvalidRecord},
		"a marker of a client":    {appendWith(marker(t, 1, 0, true, 0), log.AppendOptions{TxnVersion: log.TxnV1}), log.ErrInvalidRecord},
		"a marker of no version":  {appendWith(marker(t, 1, 0, true, 0), log.AppendOptions{Origin: log.FromCoordinator}), fs.ErrInvalid},
		"follow below the end":    {assigned(at(t, 4, 0, "v")), log.ErrUnexpectedOffset},
		"follow out of order":     {assigned(append(at(t, 9, 0, "v"), at(t, 8, 0, "v")...)), log.ErrOffsetOrder},
		"follow twice":            {assigned(append(at(t, 9, 0, "v"), at(t, 9, 0, "v")...)), log.ErrOffsetOrder},
		"follow to the last":      {assigned(at(t, math.MaxInt64, 0, "v")), log.ErrInvalidRecord},
		"truncate to a negative":  {func() error { _, err := l.Truncate(-1); return err }, fs.ErrInvalid},
		"reset below its start":   {func() error { return l.Reset(3, 4) }, fs.ErrInvalid},
		"delete above the end":    {func() error { _, err := l.DeleteBefore(7); return err }, log.ErrOffsetOutOfRange},
		"a negative epoch":        {func() error { return l.AssignEpoch(-1, 3) }, fs.ErrInvalid},
		"an epoch at a negative":  {func() error { return l.AssignEpoch(1, -3) }, fs.ErrInvalid},
		"raise above the end":     {func() error { _, _, err := l.RaiseHighWatermark(7); return err }, fs.ErrInvalid},
		"move outside":            {func() error { return l.Move("../x") }, fsio.ErrBadName},
		"move to where nobody is": {func() error { return l.Move("none/x") }, fs.ErrNotExist},
		"configure nonsense":      {func() error { return l.Configure(log.Config{SegmentBytes: 5}) }, fs.ErrInvalid},
	} {
		require.ErrorIs(t, row.call(), row.want, name)
		require.EqualValues(t, 6, l.EndOffset(), name)
		require.EqualValues(t, 2, l.StartOffset(), name)
	}
	after := w.files()
	for name := range before {
		if strings.HasSuffix(name, ".log") {
			require.Equal(t, before[name], after[name], name)
		}
	}
	require.EqualValues(t, 6, w.append(set(t, rec("goes on"))).BaseOffset)
}
