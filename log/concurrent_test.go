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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/log"
)

// L-01 (KAFKA-2477), G46, L-23: readers beside an appender that rolls, one who truncates, one who retains and
// one who syncs. Whatever a reader gets is whole, below its bound, and what was appended at that offset.
func TestReadersBesideWriters(t *testing.T) {
	for _, b := range backends[:2] {
		t.Run(b.name, func(t *testing.T) {
			w := newWorld(t, b)
			w.o.Config.SegmentBytes, w.o.Config.IndexIntervalBytes = 237, 100
			w.o.Config.DeleteDelay = log.Zero
			w.open()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var writers, others sync.WaitGroup
			writers.Go(func() { appendAndTruncate(t, w, 300) })
			for range 2 {
				others.Go(func() { readTail(ctx, t, w.l) })
			}
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
}

// every calls do until ctx is done.
func every(ctx context.Context, do func()) {
	for ctx.Err() == nil {
		do()
		runtime.Gosched()
	}
}

// appendAndTruncate appends records whose values tell their offsets, and sometimes goes back a little.
func appendAndTruncate(t *testing.T, w *world, n int) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for range n {
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

// readTail reads around the end.
func readTail(ctx context.Context, t *testing.T, l *log.Log) {
	rnd := rand.New(rand.NewPCG(9, 9))
	for ctx.Err() == nil {
		from := max(l.EndOffset()-4+rnd.Int64N(6), 0)
		s, err := l.ReadWith(from, log.ReadOptions{MaxBytes: 300, Isolation: log.Isolation(rnd.IntN(3))})
		if err != nil {
			assert.ErrorIs(t, err, log.ErrOffsetOutOfRange)
			continue
		}
		for r, err := range s.Records() {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				break // truncated meanwhile
			}
			if !assert.NoError(t, err) || !assert.Equal(t, fmt.Sprint(r.Offset), string(r.Value)) {
				return
			}
		}
		assert.NoError(t, s.Close())
	}
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
