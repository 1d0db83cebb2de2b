package codec_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// BenchmarkLimits does each work in turn with what limits it, the bare checksum, the copy, the library, and prints
// a table at the end:
//
//	go test -run '^$' -bench Limits -benchtime 1x ./codec
//
// GB/s are of the batches as they are without compression. In each round work and limit have different batches of
// the rotation, so that neither finds in the cache what the other left there. Of the rounds the best counts, since
// what disturbs one only makes it longer.
func BenchmarkLimits(b *testing.B) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "work\tis\tlimit\tratio\twanted\t\t\n")
	for _, f := range figures() {
		b.Run(f.name, func(b *testing.B) {
			t := f.task(b)
			line := ""
			for b.Loop() {
				line = f.measure(b, t)
			}
			b.ReportMetric(0, "ns/op") // of all rounds
			fmt.Fprintln(table, line)
		})
	}
	require.NoError(b, table.Flush())
}

// figure is a line of the table.
type figure struct {
	name   string
	task   func(b *testing.B) task
	unit   unit
	wanted float64 // at least, of the ratio, or where there is no limit of the value
}

// task is a work, and what limits it if there is such a thing.
type task struct {
	work, limit turn
	size        int // in bytes, of a batch
	records     int // in it
}

// turn is a work on the i-th batch.
type turn func(i int)

// unit is how a figure tells the time of a call.
type unit struct {
	name string
	of   func(t task, took time.Duration) float64
	less bool // is better
}

var (
	bytesASecond = unit{name: "GB/s", of: func(t task, took time.Duration) float64 {
		return float64(t.size) / float64(took.Nanoseconds())
	}}
	recordsASecond = unit{name: "Mrecords/s", of: func(t task, took time.Duration) float64 {
		return 1000 * float64(t.records) / float64(took.Nanoseconds())
	}}
	nanoseconds = unit{name: "ns/call", less: true, of: func(_ task, took time.Duration) float64 {
		return float64(took.Nanoseconds())
	}}
)

// measure is the line.
func (f *figure) measure(b *testing.B, t task) string {
	if t.limit == nil {
		work, _ := race(t.work, func(int) {})
		value := f.unit.of(t, work)
		b.ReportMetric(value, f.unit.name)
		return fmt.Sprintf("%s\t%.1f %s\t\t\t%.4g\t%s\t", f.name, value, f.unit.name, f.wanted,
			verdict(value >= f.wanted != f.unit.less))
	}
	work, limit := race(t.work, t.limit)
	ratio := float64(limit) / float64(work)
	b.ReportMetric(f.unit.of(t, work), f.unit.name)
	b.ReportMetric(ratio, "of-limit")
	return fmt.Sprintf("%s\t%.2f %s\t%.2f\t%.2f\t%.2f\t%s\t", f.name, f.unit.of(t, work), f.unit.name,
		f.unit.of(t, limit), ratio, f.wanted, verdict(ratio >= f.wanted))
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "missed"
}

const (
	roundTime = 6 * time.Millisecond // of a work, at least
	rounds    = 31
)

// race does work and limit in turn, and returns the time of a call of each in the best of the rounds.
func race(work, limit turn) (workTook, limitTook time.Duration) {
	calls, at := 1, 0
	run := func(do turn) time.Duration {
		begin := time.Now()
		for range calls {
			do(at)
			at++
		}
		return time.Since(begin)
	}
	for run(work) < roundTime {
		calls *= 2
	}
	workTook, limitTook = run(work), run(limit)
	for range rounds {
		workTook, limitTook = min(workTook, run(work)), min(limitTook, run(limit))
	}
	return workTook / time.Duration(calls), limitTook / time.Duration(calls)
}

// figures are all of them.
func figures() []figure {
	small, large := batchShapes[0], batchShapes[1]
	all := []figure{
		{"verify/100Bx100", verifyTask(small), bytesASecond, 0.9},
		{"verify/1KiBx100", verifyTask(large), bytesASecond, 0.9},
		{"records/100Bx100", recordsTask(small), recordsASecond, 40},
		{"records/1KiBx100", recordsTask(large), bytesASecond, 10},
		{"append/1KiBx100", appendTask(large), bytesASecond, 0.65},
		{"restamp", restampTask(large), nanoseconds, 100},
		{"validate/100Bx100", validateTask(small, false), bytesASecond, 4},
		{"validate/1KiBx100", validateTask(large, true), bytesASecond, 0.8},
	}
	for _, c := range compressors {
		name := "/" + c.Compression().String()
		all = append(all,
			figure{"validate/100Bx100" + name, packedTask(small, c), bytesASecond, 0.9},
			figure{"validate/1KiBx100" + name, packedTask(large, c), bytesASecond, 0.9},
			figure{"decompress" + name, decompressTask(c), bytesASecond, 0.9},
		)
	}
	return all
}

// checksumTurn is the limit of what reads every byte.
func checksumTurn(batches [][]byte) turn {
	return func(i int) { crc32.Checksum(batches[i%len(batches)][attributesAt:], castagnoli) }
}

func verifyTask(s batchShape) func(b *testing.B) task {
	return func(b *testing.B) task {
		c := codec.Kafka()
		batches, size := rotation(b, c, codec.None, s)
		return task{size: size, limit: checksumTurn(batches), work: func(i int) {
			must(b, c.Verify(batches[i%len(batches)]))
		}}
	}
}

func recordsTask(s batchShape) func(b *testing.B) task {
	return func(b *testing.B) task {
		c := codec.Kafka()
		batches, size := rotation(b, c, codec.None, s)
		total := 0
		return task{size: size, records: s.count, work: func(i int) {
			for r, err := range c.Records(batches[i%len(batches)]) {
				must(b, err)
				total += len(r.Value)
			}
		}}
	}
}

// appendTask encodes; its limit is the bytes copied, and their checksum.
func appendTask(s batchShape) func(b *testing.B) task {
	return func(b *testing.B) task {
		c := codec.Kafka()
		batches, size := rotation(b, c, codec.None, s)
		sets := make([][]codec.Record, len(batches))
		for i := range sets {
			sets[i] = someRecords(s)
		}
		dst := make([]byte, size)
		return task{
			size: size,
			work: func(i int) {
				_, err := c.Append(dst[:0], codec.NewHeader(2), sets[i%len(sets)])
				must(b, err)
			},
			limit: func(i int) {
				copy(dst, batches[i%len(batches)])
				crc32.Checksum(dst[attributesAt:], castagnoli)
			},
		}
	}
}

func restampTask(s batchShape) func(b *testing.B) task {
	return func(b *testing.B) task {
		c := codec.Kafka()
		batches, size := rotation(b, c, codec.None, s)
		h, err := c.Header(batches[0])
		require.NoError(b, err)
		return task{size: size, work: func(i int) {
			stamp := codec.Stamp{LastOffset: h.LastOffset + int64(i), LeaderEpoch: 1, MaxTimestamp: h.MaxTimestamp}
			must(b, c.Restamp(batches[i%len(batches)], stamp))
		}}
	}
}

// validateTask validates and assigns as leader, limited by the checksum if that is asked for.
func validateTask(s batchShape, limited bool) func(b *testing.B) task {
	return func(b *testing.B) task {
		batches, size := rotation(b, codec.Kafka(), codec.None, s)
		t := task{size: size, work: validateTurn(b, batches)}
		if limited {
			t.limit = checksumTurn(batches)
		}
		return t
	}
}

// packedTask validates and assigns what is compressed; its limit is the library, which unpacks the records.
func packedTask(s batchShape, c codec.Compressor) func(b *testing.B) task {
	return func(b *testing.B) task {
		batches, _ := rotation(b, codec.Kafka(), c.Compression(), s)
		plain, err := c.Decompress(nil, batches[0][recordsAt:], 1<<30)
		require.NoError(b, err)
		room := make([]byte, len(plain), len(plain)+64)
		alone := libraries(b)[c.Compression()]
		return task{size: recordsAt + len(plain), work: validateTurn(b, batches), limit: func(i int) {
			alone(room, batches[i%len(batches)][recordsAt:])
		}}
	}
}

func validateTurn(b *testing.B, batches [][]byte) turn {
	c := codec.Kafka()
	rules := codec.Rules{Magic: 2, Now: 1700000000000, MaxAge: -1, MaxAhead: 3600000, FromClient: true}
	return func(i int) {
		batch := batches[i%len(batches)]
		clear(batch[:sizeAt]) // the base offset of the last time
		_, err := codec.Validate(c, nil, batch, rules)
		must(b, err)
	}
}

func decompressTask(c codec.Compressor) func(b *testing.B) task {
	return func(b *testing.B) task {
		plain := shapes()["words 98304"]
		packed := pack(b, c, plain)
		copies := make([][]byte, rotationBytes/len(packed))
		for i := range copies {
			copies[i] = bytes.Clone(packed)
		}
		room := make([]byte, len(plain), len(plain)+64)
		alone := libraries(b)[c.Compression()]
		return task{
			size: len(plain),
			work: func(i int) {
				_, err := c.Decompress(room[:0], copies[i%len(copies)], len(plain))
				must(b, err)
			},
			limit: func(i int) { alone(room, copies[i%len(copies)]) },
		}
	}
}

// must fails the benchmark with err, at no cost where there is none.
func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}
