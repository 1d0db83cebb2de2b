package bufpool_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/bufpool"
)

func TestGetIsEmpty(t *testing.T) {
	for range 100 {
		b := bufpool.Get()
		require.Empty(t, b.B)
		b.B = append(b.B, "something"...)
		bufpool.Put(b)
	}
}

func TestGiantsAreDropped(t *testing.T) {
	b := bufpool.Get()
	b.B = make([]byte, 0, 64<<20)
	bufpool.Put(b)
	require.Zero(t, cap(b.B))
}

func TestAllocations(t *testing.T) {
	allocs := testing.AllocsPerRun(100, func() {
		b := bufpool.Get()
		b.B = append(b.B, "something"...)
		bufpool.Put(b)
	})
	require.Less(t, allocs, 1.0)
}
