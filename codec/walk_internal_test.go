package codec

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/varint"
)

// TestWalk holds the walk over records against reading one after the other the slow way: on usual records, on
// unusual ones between them, and on what damage makes of them.
func TestWalk(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	good, mixed := 0, 0
	for range 4000 {
		section, count := someSection(r)
		for range r.IntN(4) / 2 {
			section[r.IntN(len(section))] ^= byte(1 << r.IntN(8))
		}
		section = section[:len(section)-r.IntN(8)/7*r.IntN(len(section))]
		h := Header{Count: count, BaseTimestamp: 1000}
		want, ok := walkSlowly(&h, section)
		got := newWalk(&h, section)
		if got.all() != ok {
			require.Fail(t, "all()", "want %v of %d records in %x", ok, count, section)
		}
		if !ok {
			continue
		}
		require.Equal(t, want, got)
		good++
		if count > 100 {
			mixed++
		}
	}
	require.Greater(t, good, 1000)
	require.Greater(t, mixed, 200)
}

// someSection is records with the offsets 0, 1, 2…, most of them usual.
func someSection(r *rand.Rand) (section []byte, count int) {
	sizes := []int{-1, 0, 1, 7, 63, 64}
	if r.IntN(8) == 0 {
		sizes = append(sizes, -2, 8191, 8192)
	}
	for range 1 + r.IntN(150) {
		body := []byte{byte(r.IntN(256))}
		body = varint.Append(body, int64(r.IntN(1<<r.IntN(16)))-100)
		body = varint.Append(body, int64(count))
		for range 2 {
			n := sizes[r.IntN(len(sizes))]
			body = append(varint.Append(body, int64(n)), make([]byte, max(n, 0))...)
		}
		if r.IntN(50) == 0 {
			body = append(body, 2, 2, 'h', 1) // a header
		} else {
			body = append(body, 0)
		}
		section = append(varint.Append(section, int64(len(body))), body...)
		count++
	}
	return section, count
}

// walkSlowly is what a walk knows at its end.
func walkSlowly(h *Header, section []byte) (w walk, ok bool) {
	w = newWalk(h, section)
	var times []int64
	for i := range h.Count {
		var s shape
		if s.slow(w.rest) != nil || s.offset != int64(i) {
			return walk{}, false
		}
		w.rest = w.rest[s.end:]
		w.nullKey = w.nullKey || s.keyBytes == -1
		times = append(times, h.BaseTimestamp+s.timestamp)
	}
	w.i, w.oldest, w.newest = w.n, slices.Min(times), slices.Max(times)
	return w, len(w.rest) == 0
}
