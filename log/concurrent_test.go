package log_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/log"
)

// L-01 (KAFKA-2477), G46, L-23: readers, and followers that wait for the tail, beside an appender who also
// truncates, one who rolls, one who retains and one who syncs. Whatever a reader gets is whole, below its bound,
// and what was appended at that offset.
func TestReadersBesideWriters(t *testing.T) {
	var sum tally
	appends := 300
	if testing.Short() {
		appends = 100
	}
	for _, b := range backends[:2] {
		t.Run(b.name, func(t *testing.T) {
			w := newWorld(t, b)
			w.o.Config.SegmentBytes, w.o.Config.IndexIntervalBytes = 237, 100
			w.o.Config.DeleteDelay = log.Zero
			w.open()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var writers, others sync.WaitGroup
			waits, records := sum.waits.Load(), sum.records.Load()
			writers.Go(func() {
				appendAndTruncate(t, w, appends, func() bool { return sum.waits.Load() > waits && sum.records.Load() > records })
			})
			for range 2 {
				others.Go(func() { readTail(ctx, t, w.l, &sum) })
				others.Go(func() { followTail(ctx, t, w.l, &sum) })
			}
			others.Go(func() { rollOften(ctx, t, w.l) })
			others.Go(func() { every(ctx, func() { _ = w.l.Sync(w.l.EndOffset()) }) })
			others.Go(func() { every(ctx, func() { keepSmall(t, w.l) }) })
			others.Go(func() { every(ctx, func() { _, _ = w.l.State(), w.l.Stats() }) })
			writers.Wait()
			cancel()
			others.Wait()
			require.NoError(t, w.l.Sync(w.l.EndOffset()))
			end, start := w.l.EndOffset(), w.l.StartOffset()
			require.Len(t, w.values(start, log.ReadToEnd), int(end-start))
			w.close()
			w.open()
			require.Equal(t, end, w.l.EndOffset())
		})
	}
	fmt.Printf("RESULT log reads=%d records=%d waits=%d torn=%d\n", sum.reads.Load(), sum.records.Load(), sum.waits.Load(), sum.torn.Load())
	require.NotZero(t, sum.records.Load())
	require.NotZero(t, sum.waits.Load())
}

// tally counts what readers got.
type tally struct{ reads, records, waits, torn atomic.Int64 }

// every calls do until ctx is done.
func every(ctx context.Context, do func()) {
	for ctx.Err() == nil {
		do()
		runtime.Gosched()
	}
}

// appendAndTruncate appends records whose values tell their offsets, and sometimes goes back a little: n times, and until
// readers have seen enough.
func appendAndTruncate(t *testing.T, w *world, n int, enough func() bool) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for i := 0; i < n || !enough() && !t.Failed(); i++ {
		if i%20 == 0 {
			runtime.Gosched() // who waits comes to read
		}
		end := w.l.EndOffset()
		got, err := w.l.Append(set(t, rec(fmt.Sprint(end)), rec(fmt.Sprint(end+1))))
		if !assert.NoError(t, err) || !assert.Equal(t, end, got.BaseOffset) {
			return
		}
		if rnd.IntN(50) == 0 {
			back := max(end+2-2*rnd.Int64N(3), w.l.StartOffset())
			if _, err := w.l.Truncate(back); !assert.NoError(t, err) {
				return
			}
		}
	}
}

// keepSmall deletes the oldest records.
func keepSmall(t *testing.T, l *log.Log) {
	if before := l.HighWatermark() - 200; before > 0 {
		if _, err := l.DeleteBefore(before); err != nil {
			assert.ErrorIs(t, err, log.ErrOffsetOutOfRange) // a truncation came in between
		}
	}
	_, err := l.Retain(context.Background())
	assert.NoError(t, err)
	_, err = l.Reap(context.Background())
	assert.NoError(t, err)
}

// rollOften rolls after every few records.
func rollOften(ctx context.Context, t *testing.T, l *log.Log) {
	next := int64(0)
	every(ctx, func() {
		if end := l.EndOffset(); end >= next {
			_, err := l.Roll()
			assert.NoError(t, err)
			next = end + 5
		}
	})
}

// readTail reads around the end.
func readTail(ctx context.Context, t *testing.T, l *log.Log, sum *tally) {
	rnd := rand.New(rand.NewPCG(9, 9))
	for ctx.Err() == nil {
		from := max(l.EndOffset()-4+rnd.Int64N(6), 0)
		readAt(t, l, from, log.Isolation(rnd.IntN(3)), sum)
	}
}

// followTail waits for the next record, and reads it, unless it is truncated again.
func followTail(ctx context.Context, t *testing.T, l *log.Log, sum *tally) {
	rnd := rand.New(rand.NewPCG(8, 8))
	for {
		from, isolation := l.EndOffset(), log.Isolation(rnd.IntN(3))
		if err := l.Wait(ctx, from, isolation); err != nil {
			assert.ErrorIs(t, err, context.Canceled)
			return
		}
		sum.waits.Add(1)
		readAt(t, l, from, isolation, sum)
	}
}

// readAt reads from an offset on.
func readAt(t *testing.T, l *log.Log, from int64, i log.Isolation, sum *tally) {
	s, err := l.ReadWith(from, log.ReadOptions{MaxBytes: 300, Isolation: i})
	if err != nil {
		assert.ErrorIs(t, err, log.ErrOffsetOutOfRange)
		return
	}
	sum.reads.Add(1)
	for r, err := range s.Records() {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			break // truncated meanwhile
		}
		if !assert.NoError(t, err) || !assert.Equal(t, fmt.Sprint(r.Offset), string(r.Value)) {
			sum.torn.Add(1)
			break
		}
		sum.records.Add(1)
	}
	assert.NoError(t, s.Close())
}

// Concurrent appenders get offsets without gaps, each its own.
func TestConcurrentAppends(t *testing.T) {
	for _, format := range []log.Format{log.FormatV2, log.FormatV1} {
		w := newWorld(t, backends[0])
		w.o.Config.SegmentBytes, w.o.Config.Format = 2000, format
		w.open()
		var all sync.WaitGroup
		var mu sync.Mutex
		want := map[int64]string{}
		for g := range 4 {
			all.Go(func() {
				for i := range 100 {
					value := fmt.Sprintf("%d of %d", i, g)
					got, err := w.l.Append(set(t, rec(value)))
					if !assert.NoError(t, err) {
						return
					}
					mu.Lock()
					want[got.BaseOffset] = value
					mu.Unlock()
				}
			})
		}
		all.Wait()
		require.Len(t, want, 400)
		require.Equal(t, want, w.values(0, log.ReadToEnd))
	}
}

// Close beside everything else ends everything else with ErrClosed.
func TestCloseBesideCalls(t *testing.T) {
	w := newWorld(t, backends[0])
	l := w.open()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for {
				_, err := l.Append(set(t, rec("v")))
				if err == nil {
					err = l.Sync(l.EndOffset())
				}
				if err != nil {
					assert.ErrorIs(t, err, log.ErrClosed)
					return
				}
			}
		})
		all.Go(func() {
			for {
				s, err := l.Read(l.StartOffset(), 100)
				if err != nil {
					assert.True(t, errors.Is(err, log.ErrClosed) || errors.Is(err, fs.ErrClosed), "%v", err)
					return
				}
				assert.NoError(t, s.Close())
			}
		})
	}
	for l.EndOffset() < 100 {
		runtime.Gosched()
	}
	end := l.EndOffset()
	w.close()
	all.Wait()
	w.open()
	require.GreaterOrEqual(t, w.l.EndOffset(), end)
	require.Len(t, w.values(0, log.ReadToEnd), int(w.l.EndOffset()))
}

// G47 testReadCommittedWithConcurrentHighWatermarkUpdates: of a transaction that is aborted afterwards no reader of
// committed records sees anything, however the high watermark moves meanwhile.
func TestG47ReadCommittedBesideTheHighWatermark(t *testing.T) {
	for _, b := range backends[:2] {
		t.Run(b.name, func(t *testing.T) {
			const last = 50
			w := newWorld(t, b)
			w.o.Replicated = true
			w.open()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var mover sync.WaitGroup
			mover.Go(func() { every(ctx, func() { w.l.SetHighWatermark(w.l.EndOffset()) }) })
			for sequence := int32(0); w.l.EndOffset() < last; sequence++ {
				end := w.l.EndOffset()
				w.append(produced(t, 15, 0, sequence, true, 1))
				s, err := w.l.ReadWith(end, log.ReadOptions{Isolation: log.ReadCommitted})
				require.NoError(t, err)
				require.Zero(t, s.Len(), "read at %d", end)
				require.NoError(t, s.Close())
				w.end(15, 0, false)
			}
			cancel()
			mover.Wait()
		})
	}
}
