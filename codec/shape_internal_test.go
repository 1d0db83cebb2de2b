package codec

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/varint"
)

// TestQuickShape holds the quick way against the slow one, on records and on what damage makes of them: where the
// quick one has an answer, it is the slow one's.
func TestQuickShape(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sizes := []int{-1, 0, 1, 2, 60, 63, 64, 100, 8190, 8192, 9000}
	quick := 0
	for range 100_000 {
		b := someRecord(r, sizes)
		for range r.IntN(3) {
			b[r.IntN(min(len(b), 20))] ^= byte(1 << r.IntN(8))
		}
		b = b[:len(b)-r.IntN(2)*r.IntN(len(b))]
		end, timestamp, offset, key, keyBytes, value, valueBytes := quickShape(b)
		if end == 0 {
			continue
		}
		quick++
		var s shape
		require.NoError(t, s.slow(b), "%x", b[:min(len(b), 20)])
		s.headers = 0
		require.Equal(t, s, shape{
			end: end, timestamp: timestamp, offset: offset,
			key: key, keyBytes: keyBytes, value: value, valueBytes: valueBytes,
		}, "%x", b[:min(len(b), 20)])
	}
	require.Greater(t, quick, 10_000)
}

// someRecord is a record with parts of some of the sizes, and bytes behind it.
func someRecord(r *rand.Rand, sizes []int) []byte {
	body := []byte{0}
	body = varint.Append(body, int64(r.IntN(1<<r.IntN(20)))-100)
	body = varint.Append(body, int64(r.IntN(1<<r.IntN(20))))
	for range 2 {
		n := sizes[r.IntN(len(sizes))]
		body = append(varint.Append(body, int64(n)), make([]byte, max(n, 0))...)
	}
	body = append(body, 0)
	return append(append(varint.Append(nil, int64(len(body))), body...), make([]byte, r.IntN(20))...)
}
