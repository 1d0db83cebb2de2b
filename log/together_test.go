package log_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// TestTogether has all calls of a log made at once, and Close in between: what a caller gets is a record as it was
// appended, or an error that says why not. Slices outlive all of it.
func TestTogether(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			if testing.Short() && strings.HasPrefix(b.name, "os") {
				t.Skip("not in short mode")
			}
			w := newWorld(t, b)
			w.o.Replicated = true
			w.o.Handles = segment.NewHandles(segment.HandleOptions{MaxFiles: 3, MaxMaps: 3})
			w.o.Config.SegmentBytes, w.o.Config.IndexBytes, w.o.Config.IndexIntervalBytes = 500, 512, 1
			w.o.Config.DeleteDelay = log.Zero
			x := &together{world: w, l: w.open()}
			var all sync.WaitGroup
			for _, call := range x.calls() {
				all.Go(func() {
					for rnd := rand.New(rand.NewPCG(1, 2)); ; {
						if err := call(rnd); !x.expected(err) {
							return
						}
						runtime.Gosched()
					}
				})
			}
			enough := int64(200)
			if strings.HasPrefix(b.name, "os") {
				enough = 60
			}
			for l := x.l; l.Stats().Appends < enough; {
				runtime.Gosched()
			}
			require.NoError(t, x.l.Close())
			all.Wait()
			for _, s := range x.slices {
				x.look(s)
			}
			stats := w.o.Handles.Stats()
			require.Zero(t, stats.Files+stats.Maps, "%+v", stats)
			w.open()
			x.look(nil)
		})
	}
}

// together is a log that is asked for all at once.
type together struct {
	*world
	l      *log.Log
	mu     sync.Mutex
	slices []*segment.Slice
}

// expected reports whether to go on behind err.
func (x *together) expected(err error) bool {
	for _, class := range []error{nil, log.ErrOffsetOutOfRange, log.ErrOutOfOrderSequence, log.ErrInvalidTxnState, fs.ErrInvalid, context.Canceled} {
		if errors.Is(err, class) {
			return true
		}
	}
	assert.ErrorIs(x, err, log.ErrClosed)
	return false
}

// look reads a slice that is kept, and gives it back.
func (x *together) look(s *segment.Slice) {
	if s == nil {
		for r, err := range x.world.l.RecordsWith(context.Background(), x.world.l.StartOffset(), log.ReadOptions{Isolation: log.ReadToEnd}) {
			require.NoError(x, err)
			x.same(r)
		}
		return
	}
	for r, err := range s.Records() {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			break // truncated since
		}
		if !assert.NoError(x, err) {
			break
		}
		x.same(r)
	}
	_, err := s.WriteTo(io.Discard)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		assert.NoError(x, err)
	}
	assert.NoError(x, s.Close())
}

// same sees that a record is what was appended at its offset.
func (x *together) same(r codec.Record) {
	assert.Contains(x, []string{fmt.Sprint(r.Offset), "p7-0"}, string(r.Value))
}

// calls are all that a log can be asked for.
func (x *together) calls() []func(rnd *rand.Rand) error {
	l := x.l
	near := func(rnd *rand.Rand) int64 { return max(0, l.EndOffset()-10+rnd.Int64N(12)) }
	var appender sync.Mutex // a record tells its offset
	return []func(rnd *rand.Rand) error{
		func(*rand.Rand) error {
			appender.Lock()
			defer appender.Unlock()
			_, err := l.Append(set(x, rec(fmt.Sprint(l.EndOffset()))))
			return err
		},
		func(rnd *rand.Rand) error {
			appender.Lock()
			defer appender.Unlock()
			_, err := l.AppendWith(produced(x, 7, 0, 0, rnd.IntN(2) == 0, 1), log.AppendOptions{LeaderEpoch: 0})
			return err
		},
		func(rnd *rand.Rand) error {
			appender.Lock()
			defer appender.Unlock()
			_, err := l.AppendWith(marker(x, 7, 0, rnd.IntN(2) == 0, 0), log.AppendOptions{Origin: log.FromCoordinator, TxnVersion: log.TxnV1})
			return err
		},
		func(rnd *rand.Rand) error {
			s, err := l.ReadWith(near(rnd), log.ReadOptions{MaxBytes: 1 + rnd.IntN(600), Isolation: log.Isolation(rnd.IntN(3)), Strict: rnd.IntN(2) == 0})
			if err != nil {
				return err
			}
			if rnd.IntN(20) > 0 {
				x.look(s)
				return nil
			}
			x.mu.Lock()
			defer x.mu.Unlock()
			x.slices = append(x.slices, s)
			return nil
		},
		func(rnd *rand.Rand) error {
			ctx, cancel := context.WithCancel(context.Background())
			if rnd.IntN(2) == 0 {
				cancel()
			}
			defer cancel()
			return l.Wait(ctx, near(rnd)-3, log.Isolation(rnd.IntN(3)))
		},
		func(rnd *rand.Rand) error {
			if rnd.IntN(20) > 0 {
				return nil
			}
			appender.Lock()
			defer appender.Unlock()
			_, err := l.Truncate(max(l.StartOffset(), l.EndOffset()-rnd.Int64N(12)))
			return err
		},
		func(rnd *rand.Rand) error {
			_, err := l.DeleteBefore(l.HighWatermark() - 30 - rnd.Int64N(30))
			return err
		},
		func(*rand.Rand) error { _, err := l.Retain(context.Background()); return err },
		func(*rand.Rand) error { _, err := l.Reap(context.Background()); return err },
		func(*rand.Rand) error { return l.Sync(l.EndOffset()) },
		func(rnd *rand.Rand) error {
			if rnd.IntN(20) > 0 {
				return nil
			}
			_, err := l.Roll()
			return err
		},
		func(rnd *rand.Rand) error { _, _, err := l.RaiseHighWatermark(near(rnd)); return err },
		func(rnd *rand.Rand) error {
			l.SetHighWatermark(near(rnd))
			return l.Wait(context.Background(), -1, log.ReadToEnd)
		},
		func(rnd *rand.Rand) error {
			c := x.o.Config
			c.SegmentBytes = 400 + rnd.Int64N(300)
			return l.Configure(c)
		},
		func(*rand.Rand) error { l.ExpireProducers(); return l.TakeSnapshot() },
		func(rnd *rand.Rand) error {
			l.State()
			l.Stats()
			l.Producers()
			l.Epochs()
			l.OffsetForEpoch(0)
			l.EpochForOffset(near(rnd))
			_, err := l.StartVerification(rnd.Int64N(3)+10, 0, 0, false)
			return err
		},
		func(rnd *rand.Rand) error {
			_, _, err := l.OffsetForTime([]int64{-6, -3, -2, -1, started, started + 1}[rnd.IntN(6)])
			return err
		},
		func(rnd *rand.Rand) error { _, err := l.Aborted(l.StartOffset(), near(rnd)); return err },
		func(rnd *rand.Rand) error {
			n := 0
			for r, err := range l.Records(context.Background(), near(rnd)) {
				if errors.Is(err, io.ErrUnexpectedEOF) {
					return nil
				}
				if err != nil {
					return err
				}
				x.same(r)
				if n++; n > 5 {
					break
				}
			}
			return nil
		},
		func(*rand.Rand) error {
			dir := map[bool]string{true: "t-1", false: "t-0"}[l.Dir() == "t-0"]
			err := l.Move(dir)
			x.mu.Lock()
			defer x.mu.Unlock()
			if err == nil {
				x.dir = dir
			}
			return err
		},
	}
}
