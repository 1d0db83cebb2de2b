package index_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

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

// BenchmarkLookup compares Lookup with a binary search of the same bytes.
func BenchmarkLookup(b *testing.B) {
	for _, place := range []string{"end", "anywhere"} {
		keys := lookups(place == "end")
		b.Run(place, func(b *testing.B) {
			data := benchBytes()
			b.Run("bare", func(b *testing.B) {
				found := 0
				for i := 0; b.Loop(); i++ {
					found += bareSearch(data, uint32(keys[i%len(keys)]))
				}
				require.NotZero(b, found)
			})
			for _, part := range []struct {
				name string
				open index.OpenFunc
			}{{"mmap", index.OpenMmap}, {"file", index.OpenFile}} {
				b.Run(part.name, func(b *testing.B) {
					fsys := newOS(b)
					write(b, fsys, name, data)
					x, err := part.open(fsys, name, index.Options{Layout: index.OffsetLayout, Sealed: true})
					require.NoError(b, err)
					b.ReportAllocs()
					for i := 0; b.Loop(); i++ {
						if _, ok := x.Lookup(keys[i%len(keys)]); !ok {
							b.Fatal("not found")
						}
					}
					require.NoError(b, x.Close())
				})
			}
		})
	}
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
