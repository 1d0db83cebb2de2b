package producer

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTable compares a table with a map, while it grows, is changed, and shrinks.
func TestTable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	table, model := newTable(0), map[int64]int64{}
	compare := func() {
		t.Helper()
		got := map[int64]int64{}
		for e := range table.all() {
			got[e.id] = e.lastTimestamp
			require.Same(t, e, table.get(e.id))
		}
		require.Equal(t, model, got)
		require.Equal(t, len(model), table.n)
	}
	for round := range 20 {
		for range 200 {
			id, value := rnd.Int64N(2000)-1000, rnd.Int64()
			table.put(&entry{id: id, lastTimestamp: value})
			model[id] = value
		}
		compare()
		for range 200 {
			id := rnd.Int64N(4000) - 2000
			_, known := model[id]
			require.Equal(t, known, table.get(id) != nil, "producer %d", id)
		}
		if round%5 == 4 {
			old := func(_, value int64) bool { return value%3 > 0 }
			maps.DeleteFunc(model, old)
			table.keep(func(e *entry) bool { return !old(e.id, e.lastTimestamp) })
			compare()
		}
	}
	table.keep(func(*entry) bool { return false })
	require.Zero(t, table.n)
	require.Nil(t, table.get(slices.Collect(maps.Keys(model))[0]))
}

// TestTableTag: a slot with the tag of a producer is another's where the id of its entry says so.
func TestTableTag(t *testing.T) {
	table := newTable(100)
	table.put(&entry{id: 1})
	s, tag := table.find(1000)
	require.Zero(t, s.number)
	*s = slot{1, tag}
	require.Nil(t, table.get(1000))
	require.Equal(t, int64(1), table.get(1).id)
}
