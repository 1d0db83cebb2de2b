package segment_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/segment"
)

// filledBench makes a segment of n batches of records of 1 KiB on the disk.
func filledBench(b *testing.B, n int64, records, valueBytes int) *segment.Segment {
	b.Helper()
	w := world{fs: osFS(b)}
	s := w.open(b, 0, segment.Options{IndexBytes: 10 << 20})
	for i := range n {
		put(b, s, batch(b, i*int64(records), records, valueBytes))
	}
	return s
}

func BenchmarkAppend(b *testing.B) {
	for _, row := range []struct {
		name                string
		records, valueBytes int
	}{{"100Bx1", 1, 100}, {"100Bx100", 100, 100}, {"1KiBx100", 100, 1024}} {
		b.Run(row.name, func(b *testing.B) {
			w := world{fs: osFS(b)}
			bytes := batch(b, 0, row.records, row.valueBytes)
			hs := headers(b, bytes)
			b.SetBytes(int64(len(bytes)))
			b.ReportAllocs()
			s := w.open(b, 0, segment.Options{IndexBytes: 10 << 20})
			for b.Loop() {
				if s.Full(int64(len(bytes)), hs[0].LastOffset) {
					_, err := s.Truncate(0)
					require.NoError(b, err)
					hs = headers(b, bytes)
				}
				_, err := s.Append(bytes, hs)
				require.NoError(b, err)
				hs[0].BaseOffset += int64(row.records)
				hs[0].LastOffset += int64(row.records)
			}
		})
	}
}

func BenchmarkFind(b *testing.B) {
	s := filledBench(b, 20_000, 1, 1024)
	b.ReportAllocs()
	offset := int64(0)
	for b.Loop() {
		_, ok, err := s.Find(offset)
		require.True(b, ok && err == nil)
		offset = (offset + 7919) % 20_000
	}
}

func BenchmarkRead(b *testing.B) {
	s := filledBench(b, 20_000, 1, 1024)
	b.ReportAllocs()
	offset := int64(0)
	for b.Loop() {
		r, ok, err := s.Read(offset, segment.Limits{MaxBytes: 1 << 20})
		require.True(b, ok && err == nil)
		require.NoError(b, r.Close())
		offset = (offset + 7919) % 20_000
	}
}

func BenchmarkRecover(b *testing.B) {
	for _, row := range []struct {
		name                string
		n                   int64
		records, valueBytes int
	}{{"100Bx1", 200_000, 1, 100}, {"1KiBx100", 500, 100, 1024}} {
		b.Run(row.name, func(b *testing.B) {
			s := filledBench(b, row.n, row.records, row.valueBytes)
			b.SetBytes(s.Size())
			b.ReportAllocs()
			for b.Loop() {
				_, err := s.Recover(b.Context(), segment.RecoverOptions{})
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	s := filledBench(b, 500, 100, 1024)
	b.SetBytes(s.Size())
	b.ReportAllocs()
	for b.Loop() {
		r := readAll(b, s)
		n := 0
		for _, err := range r.Records() {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		require.Equal(b, 50_000, n)
		require.NoError(b, r.Close())
	}
}
