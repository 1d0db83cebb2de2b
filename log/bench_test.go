package log_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// castagnoli is the polynomial of the batches' checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// benchSets are batches as producers send them, so many that they do not stay in the cache.
func benchSets(tb testing.TB, records, valueBytes int) [][]byte {
	tb.Helper()
	rnd := rand.NewChaCha8([32]byte{1})
	recs := make([]codec.Record, records)
	sets := make([][]byte, 48<<20/(records*valueBytes+1)+1)
	for i := range sets {
		for j := range recs {
			value := make([]byte, valueBytes)
			_, _ = rnd.Read(value)
			recs[j] = codec.Record{Offset: int64(j), Timestamp: time.Now().UnixMilli(), Value: value}
		}
		sets[i] = set(tb, recs...)
	}
	return sets
}

// rawLimit writes what an append writes, with the checksum that it verifies, and nothing else. It returns the
// time of a batch.
func rawLimit(b *testing.B, sets [][]byte, n int) time.Duration {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	require.NoError(b, err)
	defer f.Close()
	var pos int64
	began := time.Now()
	for i := range n {
		s := sets[i%len(sets)]
		if crc32.Checksum(s[21:], castagnoli) == 0 {
			b.Fatal("checksum 0")
		}
		_, err := f.WriteAt(s, pos)
		require.NoError(b, err)
		pos += int64(len(s))
	}
	return time.Since(began) / time.Duration(n)
}

// BenchmarkAppend appends as leader, without a sync, and says how near that comes to the bare write and
// checksum of the same bytes in the same run.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []struct{ records, bytes int }{{1, 100}, {100, 100}, {100, 1024}} {
		b.Run(fmt.Sprintf("%dx%d", size.records, size.bytes), func(b *testing.B) {
			sets := benchSets(b, size.records, size.bytes)
			fresh := bytes.Clone(sets[0])
			l, err := log.Open(context.Background(), filepath.Join(b.TempDir(), "t-0"), log.Options{})
			require.NoError(b, err)
			defer l.Close()
			const round = 500
			var mine, raw time.Duration
			rounds := 0
			b.SetBytes(int64(len(sets[0])))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if i%round == 0 {
					b.StopTimer()
					raw += rawLimit(b, sets, round)
					rounds++
					b.StartTimer()
				}
				s := sets[i%len(sets)]
				copy(s[:21], fresh[:8]) // the offset that producers send
				began := time.Now()
				_, err := l.Append(s)
				mine += time.Since(began)
				if err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric(float64(raw)/float64(rounds)/(float64(mine)/float64(i)), "of-raw")
		})
	}
}

// BenchmarkRecords visits all records of a log, and says how near that comes to reading and checking its
// bytes.
func BenchmarkRecords(b *testing.B) {
	sets := benchSets(b, 100, 1024)
	dir := filepath.Join(b.TempDir(), "t-0")
	l, err := log.Open(context.Background(), dir, log.Options{})
	require.NoError(b, err)
	defer l.Close()
	var size int64
	for _, s := range sets {
		got, err := l.Append(s)
		require.NoError(b, err)
		size += got.WrittenBytes
	}
	f, err := os.Open(filepath.Join(dir, "00000000000000000000.log"))
	require.NoError(b, err)
	defer f.Close()
	buf := make([]byte, 1<<20)
	var mine, raw time.Duration
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		n := 0
		for _, err := range l.Records(context.Background(), 0) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		mine += time.Since(began)
		if n != 100*len(sets) {
			b.Fatal(n)
		}
		b.StopTimer()
		began = time.Now()
		for pos := int64(0); pos < size; pos += int64(len(buf)) {
			n, _ := f.ReadAt(buf[:min(int64(len(buf)), size-pos)], pos)
			if crc32.Checksum(buf[:n], castagnoli) == math.MaxUint32 {
				b.Fatal("checksum")
			}
		}
		raw += time.Since(began)
		b.StartTimer()
	}
	b.ReportMetric(float64(raw)/float64(mine), "of-raw")
}
