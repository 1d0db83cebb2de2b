package producer_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/internal/producer"
)

// many is the number of producers that speed is promised for.
const many = 100_000

// crowd is a State of many producers, each with five batches.
func crowd(tb testing.TB) *producer.State {
	tb.Helper()
	s := fresh(tb)
	for seq := range int32(5) {
		for id := range int64(many) {
			if _, err := s.Replay(nil, at(1<<60, data(id, 0, seq, int64(seq)*many+id))); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return s
}

// TestBytesOfProducer bounds the heap that a producer takes.
func TestBytesOfProducer(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	s := crowd(t)
	got := (heap() - before) / many
	require.Equal(t, many, s.Len())
	if got > 300 {
		t.Errorf("a producer takes %d bytes of heap, want at most 300", got)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, row := range []struct {
		name string
		n    int
	}{{"1", 1}, {"100000", many}} {
		b.Run(row.name, func(b *testing.B) {
			s := crowd(b)
			seq, id, offset := int32(5), int64(0), int64(5*many)
			b.ReportAllocs()
			for b.Loop() {
				a := s.Analyze(client)
				if _, _, err := a.Add(data(id, 0, seq, offset)); err != nil {
					b.Fatal(err)
				}
				a.Commit()
				offset++
				if id++; id == int64(row.n) {
					id, seq = 0, seq+1
				}
			}
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s := crowd(b)
	for b.Loop() {
		s.SetEnd(s.End() + 1)
		if _, err := s.TakeSnapshot(false); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	fsys := memory(b)
	s := open(b, fsys)
	for id := range int64(many) {
		must(b, s, follower, txn(at(1<<60, data(id*7919%many, 0, 0, id))))
	}
	_, err := s.TakeSnapshot(true)
	require.NoError(b, err)
	for b.Loop() {
		require.NoError(b, open(b, fsys).Reload(0, many, 0))
	}
}
