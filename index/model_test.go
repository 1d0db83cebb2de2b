package index_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/index"
)

var (
	modelSeed  = flag.Uint64("model.seed", 1, "seed of the first random script")
	modelCount = flag.Uint64("model.count", 25, "number of random scripts for each composition")
)

// model is an Index as a slice.
type model struct {
	o       index.Options
	entries []index.Entry
	sealed  bool
}

// append is Append by the words of the contract.
func (m *model) append(e index.Entry) error {
	n := len(m.entries)
	offset, other := e.Key, e.Value
	if m.o.Layout == index.TimeLayout {
		offset, other = e.Value, 0
	}
	switch {
	case int64(n) >= m.o.MaxBytes/int64(m.o.Layout.EntryBytes()):
		return index.ErrFull
	case n > 0 && (e.Key <= m.entries[n-1].Key || e.Value < m.entries[n-1].Value):
		return index.ErrOrder
	case offset < m.o.Base || offset-m.o.Base > math.MaxInt32 || other < 0 || other > math.MaxInt32:
		return index.ErrRange
	}
	m.entries = append(m.entries, e)
	return nil
}

// lookup is Lookup by trying all entries from the end.
func (m *model) lookup(key int64) index.Entry {
	for _, e := range slices.Backward(m.entries) {
		if e.Key <= key {
			return e
		}
	}
	return none
}

// next is an entry that may or may not come behind those of m.
func (m *model) next(rnd *rand.Rand) index.Entry {
	e := index.Entry{Key: m.o.Base, Value: m.o.Base}
	if n := len(m.entries); n > 0 {
		e = m.entries[n-1]
	}
	switch rnd.IntN(40) {
	case 0:
		e.Key = rnd.Int64() - rnd.Int64()
	case 1:
		e.Value = rnd.Int64() - rnd.Int64()
	case 2:
		e.Key += 1 << 31
	default:
		e.Key += rnd.Int64N(9)
		e.Value += rnd.Int64N(90)
	}
	return e
}

// TestModel runs random scripts on every composition and on a slice: all answers must be the same.
func TestModel(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		for seed := *modelSeed; seed < *modelSeed+*modelCount; seed++ {
			if !runScript(t, w, seed) {
				t.Fatalf("repeat it by -model.seed=%d -model.count=1", seed)
			}
			require.NoError(t, w.fsys.Remove(name))
		}
	})
}

func runScript(t *testing.T, w world, seed uint64) bool {
	rnd := rand.New(rand.NewPCG(seed, 0))
	m := &model{o: index.Options{Layout: index.OffsetLayout, Base: rnd.Int64N(1 << 40), MaxBytes: 12 + rnd.Int64N(4000)}}
	if rnd.IntN(2) == 0 {
		m.o.Layout = index.TimeLayout
	}
	x, err := w.open(w.fsys, name, m.o)
	require.NoError(t, err)
	defer func() { assert.NoError(t, x.Close()) }()
	for range 400 {
		switch op := rnd.IntN(100); {
		case op < 75:
			e := m.next(rnd)
			err := x.Append(e)
			if m.sealed {
				require.Error(t, err)
			} else if want := m.append(e); !assert.ErrorIs(t, err, want, "Append(%v)", e) {
				return false
			}
		case op < 78:
			n := rnd.IntN(len(m.entries) + 1)
			require.NoError(t, x.Truncate(n))
			m.entries = m.entries[:n]
		case op < 79:
			require.NoError(t, x.Sync())
		case op < 80:
			require.NoError(t, x.Seal())
			m.sealed = true
		case op < 82:
			require.NoError(t, x.Close())
			m.o.Check, m.o.Sealed = rnd.IntN(2) == 0, rnd.IntN(4) == 0
			m.sealed = m.o.Sealed
			x, err = w.open(w.fsys, name, m.o)
			require.NoError(t, err)
		default:
			if !sameAnswers(t, rnd, x, m) {
				return false
			}
		}
	}
	return assert.Equal(t, append([]index.Entry{}, m.entries...), all(x))
}

// sameAnswers asks x and m the same questions.
func sameAnswers(t *testing.T, rnd *rand.Rand, x index.Index, m *model) bool {
	n := len(m.entries)
	if !assert.Equal(t, n, x.Len()) || n == 0 {
		return n == 0
	}
	i := rnd.IntN(n)
	e := m.entries[i]
	key, value := e.Key+rnd.Int64N(5)-2, e.Value+rnd.Int64N(5)-2
	return assert.Equal(t, e, x.At(i)) &&
		assert.Equal(t, m.lookup(key), look(x, key), "Lookup(%d)", key) &&
		assert.Equal(t, sort.Search(n, func(i int) bool { return m.entries[i].Key >= key }), index.CountBelow(x, key)) &&
		assert.Equal(t, sort.Search(n, func(i int) bool { return m.entries[i].Value >= value }), index.CountBelowValue(x, value))
}
