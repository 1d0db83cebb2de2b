package producer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/producer"
)

// TestManyProducersInAnAppend: a follower's fetch has batches of many producers, in any order, several of each.
// Appends of one producer come before and behind it.
func TestManyProducersInAnAppend(t *testing.T) {
	s := fresh(t)
	offset := int64(0)
	feed := func(producers, rounds int) {
		t.Helper()
		var batches []producer.Batch
		for round := range rounds {
			for i := range producers {
				id := int64((i*7 + round) % producers)
				seq := int32(0)
				if p, ok := s.Producer(id); ok {
					seq = p.LastSequence() + 1
				}
				batches = append(batches, data(id, 0, seq+int32(round), offset))
				offset++
			}
		}
		must(t, s, follower, batches...)
	}
	feed(1, 3)
	feed(23, 3)
	feed(1, 2)
	feed(9, 2)
	require.Equal(t, 23, s.Len())
	for id, want := range map[int64]int32{0: 9, 1: 4, 8: 4, 9: 2, 22: 2} {
		p, ok := s.Producer(id)
		require.True(t, ok)
		require.Equal(t, want, p.LastSequence(), "producer %d", id)
		require.Equal(t, codec.NoOffset, p.TxnFirstOffset)
	}
}
