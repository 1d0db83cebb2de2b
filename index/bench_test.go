package index_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// benchEntries fill Kafka's 10 MiB.
const benchEntries = 10 << 20 / 8

// lookups are keys to look up: near the end, where most are, or anywhere.
func lookups(hot bool) []int64 {
	rnd := rand.New(rand.NewPCG(1, 1))
	keys := make([]int64, 4096)
	for i := range keys {
		if hot {
			keys[i] = 3 * (benchEntries - rnd.Int64N(1000))
		} else {
			keys[i] = 3 * rnd.Int64N(benchEntries)
		}
	}
	return keys
}

// BenchmarkLookup looks up keys, and says how much longer that takes than a bare binary search for the same
// keys in the same bytes, where they lie: in a mapping, or in memory. The two are measured in turn.
func BenchmarkLookup(b *testing.B) {
	data := benchBytes()
	for _, place := range []string{"end", "anywhere"} {
		keys := lookups(place == "end")
		b.Run(place+"/mmap", func(b *testing.B) {
			fsys := newOS(b)
			write(b, fsys, name, data)
			file, err := fsys.OpenFile(name, os.O_RDONLY, 0)
			require.NoError(b, err)
			m, err := file.Map(int64(len(data)), fsio.ReadOnly)
			require.NoError(b, err)
			benchLookup(b, fsys, index.OpenMmap, keys, func(search func(data []byte)) {
				require.NoError(b, m.View(0, m.Len(), fsio.ViewFunc(func(data []byte) error {
					search(data)
					return nil
				})))
			})
			require.NoError(b, errors.Join(m.Close(), file.Close()))
		})
		b.Run(place+"/file", func(b *testing.B) {
			fsys := newOS(b)
			write(b, fsys, name, data)
			benchLookup(b, fsys, index.OpenFile, keys, func(search func(data []byte)) { search(data) })
		})
	}
}

// benchLookup measures. view hands out the bytes for the bare search.
func benchLookup(b *testing.B, fsys fsio.FS, open index.OpenFunc, keys []int64, view func(search func(data []byte))) {
	x, err := open(fsys, name, index.Options{Layout: index.OffsetLayout, Sealed: true})
	require.NoError(b, err)
	var bare, mine time.Duration
	rounds := 0
	for b.Loop() {
		found := 0
		view(func(data []byte) {
			began := time.Now()
			for _, key := range keys {
				found += bareSearch(data, uint32(key))
			}
			bare += time.Since(began)
		})
		began := time.Now()
		for _, key := range keys {
			e, ok := x.Lookup(key)
			if !ok {
				b.Fatal("not found")
			}
			found -= int(e.Value)
		}
		mine += time.Since(began)
		if found != 0 {
			b.Fatal("other entries")
		}
		rounds++
	}
	n := float64(rounds * len(keys))
	b.ReportMetric(float64(bare)/n, "ns/bare")
	b.ReportMetric(float64(mine)/n, "ns/lookup")
	b.ReportMetric(float64(mine-bare)/n, "ns/over")
	require.NoError(b, x.Close())
}

func benchBytes() []byte {
	data := make([]byte, 8*benchEntries)
	for i := range benchEntries {
		binary.BigEndian.PutUint32(data[8*i:], uint32(3*i))
		binary.BigEndian.PutUint32(data[8*i+4:], uint32(100*i))
	}
	return data
}

// bareSearch is what a look-up cannot do without: the warm section and the search.
func bareSearch(data []byte, key uint32) int {
	low, high := 0, len(data)/8-1
	if warm := high - 1024; binary.BigEndian.Uint32(data[8*warm:]) <= key {
		low = warm
	} else {
		high = warm - 1
	}
	for low < high {
		middle := int(uint(low+high+1) >> 1)
		if binary.BigEndian.Uint32(data[8*middle:]) <= key {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return int(binary.BigEndian.Uint32(data[8*low+4:]))
}

func BenchmarkAppend(b *testing.B) {
	for _, part := range []struct {
		name string
		open index.OpenFunc
	}{{"mmap", index.OpenMmap}, {"file", index.OpenFile}} {
		b.Run(part.name, func(b *testing.B) {
			x, err := part.open(newOS(b), name, index.Options{Layout: index.OffsetLayout})
			require.NoError(b, err)
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				if i%benchEntries == 0 {
					require.NoError(b, x.Truncate(0))
				}
				if err := x.Append(index.Entry{Key: i % benchEntries, Value: i % benchEntries}); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, x.Close())
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, check := range []string{"last", "every"} {
		b.Run(check, func(b *testing.B) {
			fsys := newOS(b)
			write(b, fsys, name, benchBytes())
			for b.Loop() {
				x, err := index.OpenMmap(fsys, name, index.Options{Layout: index.OffsetLayout, Sealed: true, Check: check == "every"})
				require.NoError(b, err)
				require.NoError(b, x.Close())
			}
		})
	}
}
