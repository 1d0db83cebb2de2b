package index_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/index"
)

// I-05, I-15: readers beside an appender that truncates, seals, closes and opens anew. Every entry that is
// ever there says by its numbers that it is whole.
func TestI05I15Readers(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		var (
			current atomic.Pointer[index.Index]
			stop    atomic.Bool
			readers sync.WaitGroup
		)
		renew := func(x index.Index, err error) index.Index {
			require.NoError(t, err)
			current.Store(&x)
			return x
		}
		o := index.Options{Layout: index.OffsetLayout, MaxBytes: 16 << 10}
		x := renew(w.open(w.fsys, name, o))
		for i := range uint64(3) {
			readers.Go(func() {
				rnd := rand.New(rand.NewPCG(i, i))
				for !stop.Load() {
					runtime.Gosched()
					x := *current.Load()
					key := rnd.Int64N(20000)
					e, ok := x.Lookup(key)
					if ok && (e.Key > key || !whole(e)) {
						t.Errorf("Lookup(%d) = %v", key, e)
						return
					}
				}
			})
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		last := index.Entry{}
		for range 1500 {
			switch op := rnd.IntN(100); {
			case op < 90:
				last.Key += 1 + rnd.Int64N(20)
				last.Value = 3 * last.Key
				err := x.Append(last)
				if err != nil {
					require.ErrorIs(t, err, index.ErrFull)
					require.NoError(t, x.Truncate(0))
					last = index.Entry{}
				}
			case op < 97:
				require.NoError(t, x.Truncate(rnd.IntN(x.Len()+1)))
				last = end(x)
			case op < 98:
				require.NoError(t, x.Sync())
			default:
				require.NoError(t, x.Seal())
				require.NoError(t, x.Close())
				x = renew(w.open(w.fsys, name, o))
			}
		}
		stop.Store(true)
		readers.Wait()
		require.NoError(t, x.Close())
		assert.Equal(t, 0, x.Len())
	})
}

func whole(e index.Entry) bool { return e.Value == 3*e.Key }

// end is the last entry of x, or zero.
func end(x index.Index) index.Entry {
	if x.Len() == 0 {
		return index.Entry{}
	}
	return x.At(x.Len() - 1)
}

// Once Len has counted an entry, every reader sees it.
func TestPublished(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		x := w.opened(t, index.Options{Layout: index.TimeLayout, MaxBytes: 12 * 2000})
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				for n := 0; n < 2000; {
					n = x.Len()
					if n == 0 {
						continue
					}
					want := index.Entry{Key: 3 * int64(n-1), Value: int64(n - 1)}
					if got := x.At(n - 1); got != want {
						t.Errorf("At(%d) = %v, want %v", n-1, got, want)
						return
					}
					if got, ok := x.Lookup(want.Key); !ok || got != want {
						t.Errorf("Lookup(%d) = %v, %v, want %v", want.Key, got, ok, want)
						return
					}
				}
			})
		}
		for i := range int64(2000) {
			fill(t, x, index.Entry{Key: 3 * i, Value: i})
		}
		readers.Wait()
	})
}

// Sync, Moved and readers beside an appender of aborted transactions.
func TestTxnReaders(t *testing.T) {
	x := openTxn(t, newMem(t), 0)
	var (
		stop    atomic.Bool
		readers sync.WaitGroup
	)
	for range 2 {
		readers.Go(func() {
			for !stop.Load() {
				all, _ := x.Collect(nil, 0, 1<<40)
				for i, txn := range all {
					if txn.FirstOffset != 2*txn.LastOffset || i > 0 && txn.LastOffset <= all[i-1].LastOffset {
						t.Errorf("entry %d is %v", i, txn)
						return
					}
				}
			}
		})
	}
	readers.Go(func() {
		for !stop.Load() {
			if err := x.Sync(); err != nil {
				t.Error(err)
				return
			}
			x.Moved(txnName)
		}
	})
	rnd := rand.New(rand.NewPCG(3, 3))
	last := int64(0)
	for range 2000 {
		last++
		fillTxn(t, x, index.AbortedTxn{FirstOffset: 2 * last, LastOffset: last})
		if rnd.IntN(20) == 0 {
			last = max(0, last-rnd.Int64N(30))
			require.NoError(t, x.Truncate(last+1))
		}
	}
	stop.Store(true)
	readers.Wait()
}
