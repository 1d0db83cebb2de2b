package log_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// crowdOf is the number of active producers that speed is promised for.
const crowdOf = 100_000

// crowd is a log to which that many producers append in turn, batches of so many records of 100 bytes.
type crowd struct {
	*log.Log
	batch    []byte
	records  int32
	producer int64
	sequence int32
}

// openCrowd opens a log with its producers, or, without any, one for batches without.
func openCrowd(b *testing.B, dir string, records int, with bool) *crowd {
	b.Helper()
	l, err := log.Open(context.Background(), dir, log.Options{})
	require.NoError(b, err)
	recs := make([]codec.Record, records)
	for i := range recs {
		recs[i] = codec.Record{Timestamp: time.Now().UnixMilli(), Value: make([]byte, 100)}
	}
	c := &crowd{Log: l, batch: set(b, recs...), records: int32(records), producer: -1}
	if with {
		c.producer = 0
		c.appendAll(b, crowdOf)
	}
	return c
}

// appendAll appends n batches.
func (c *crowd) appendAll(b *testing.B, n int) {
	for range n {
		c.append(b)
	}
}

// append appends the next producer's next batch.
func (c *crowd) append(b *testing.B) {
	const id, epoch, sequence, crc, covered = 43, 51, 53, 17, 21 // where they are in a batch
	clear(c.batch[:8])                                           // the base offset that the append before gave it
	if c.producer >= 0 {
		binary.BigEndian.PutUint64(c.batch[id:], uint64(c.producer))
		binary.BigEndian.PutUint16(c.batch[epoch:], 0)
		binary.BigEndian.PutUint32(c.batch[sequence:], uint32(c.sequence))
		if c.producer++; c.producer == crowdOf {
			c.producer, c.sequence = 0, c.sequence+c.records
		}
	}
	binary.BigEndian.PutUint32(c.batch[crc:], crc32.Checksum(c.batch[covered:], castagnoli))
	if _, err := c.Append(c.batch); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkProducers says what 100,000 active producers cost: an append compared with one to a log without
// any, in turn; a snapshot written, and loaded by an Open; and the heap that a producer takes.
func BenchmarkProducers(b *testing.B) {
	for _, records := range []int{1, 100} {
		b.Run(fmt.Sprintf("%dx100", records), func(b *testing.B) { benchProducers(b, records) })
	}
}

func benchProducers(b *testing.B, records int) {
	dir := b.TempDir()
	none := openCrowd(b, filepath.Join(dir, "none-0"), records, false)
	before := heapBytes()
	many := openCrowd(b, filepath.Join(dir, "many-0"), records, true)
	heap := float64(heapBytes()-before) / crowdOf
	const turn = 1000
	var with, without, write, load time.Duration
	rounds := 0
	for b.Loop() {
		for range crowdOf / turn {
			with += timed(func() { many.appendAll(b, turn) })
			without += timed(func() { none.appendAll(b, turn) })
		}
		write += timed(func() { require.NoError(b, many.TakeSnapshot()) })
		require.NoError(b, many.Close())
		load += timed(func() {
			var err error
			many.Log, err = log.Open(context.Background(), filepath.Join(dir, "many-0"), log.Options{})
			require.NoError(b, err)
		})
		require.Len(b, many.Producers(), crowdOf)
		rounds++
	}
	b.ReportMetric(float64(with)/float64(without), "of-none")
	b.ReportMetric(float64(write.Milliseconds())/float64(rounds), "ms/snapshot")
	b.ReportMetric(float64(load.Milliseconds())/float64(rounds), "ms/open")
	b.ReportMetric(heap, "B/producer")
	require.NoError(b, errors.Join(none.Close(), many.Close()))
}

// timed is how long do takes.
func timed(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

// heapBytes is what is in use.
func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
