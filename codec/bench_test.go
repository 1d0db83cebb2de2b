package codec_test

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// rotationBytes of batches are worked on in turn, so that none of them is in the cache when its turn comes.
const rotationBytes = 48 << 20

// textOf is n bytes that compress to about half.
func textOf(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return b
}

// someRecords is count records with values of valueBytes.
func someRecords(count, valueBytes int) []codec.Record {
	r := rand.New(rand.NewPCG(1, uint64(valueBytes)))
	recs := make([]codec.Record, count)
	for i := range recs {
		recs[i] = codec.Record{
			Offset:    int64(i),
			Timestamp: 1700000000000 + int64(i),
			Key:       textOf(r, 8),
			Value:     textOf(r, valueBytes-8),
		}
	}
	return recs
}

// rotation is batches of count records of valueBytes, rotationBytes in all, and the size of one.
func rotation(tb testing.TB, c codec.Codec, compression codec.Compression, count, valueBytes int) ([][]byte, int) {
	tb.Helper()
	h := header(2, func(h *codec.Header) { h.Attributes = codec.Attributes(compression) })
	batch, err := c.Append(nil, h, someRecords(count, valueBytes))
	require.NoError(tb, err)
	all := make([][]byte, max(rotationBytes/len(batch), 1))
	for i := range all {
		all[i] = append([]byte(nil), batch...)
	}
	return all, len(batch)
}

var batchShapes = []struct {
	name              string
	count, valueBytes int
}{{"100Bx100", 100, 100}, {"1KiBx100", 100, 1024}}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// BenchmarkChecksum is the limit of what reads every byte.
func BenchmarkChecksum(b *testing.B) {
	for _, s := range batchShapes {
		b.Run(s.name, func(b *testing.B) {
			all, size := rotation(b, codec.Kafka(), codec.None, s.count, s.valueBytes)
			b.SetBytes(int64(size))
			for i := 0; b.Loop(); i++ {
				crc32.Checksum(all[i%len(all)][21:], castagnoli)
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	c := codec.Kafka()
	for _, s := range batchShapes {
		b.Run(s.name, func(b *testing.B) {
			all, size := rotation(b, c, codec.None, s.count, s.valueBytes)
			b.SetBytes(int64(size))
			for i := 0; b.Loop(); i++ {
				if err := c.Verify(all[i%len(all)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRecords(b *testing.B) {
	c := codec.Kafka()
	for _, s := range batchShapes {
		b.Run(s.name, func(b *testing.B) {
			all, size := rotation(b, c, codec.None, s.count, s.valueBytes)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			total := 0
			for i := 0; b.Loop(); i++ {
				for r, err := range c.Records(all[i%len(all)]) {
					if err != nil {
						b.Fatal(err)
					}
					total += len(r.Value)
				}
			}
			b.ReportMetric(float64(s.count)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	c := codec.Kafka()
	for _, compression := range []codec.Compression{codec.None, codec.LZ4} {
		for _, s := range batchShapes {
			b.Run(compression.String()+"/"+s.name, func(b *testing.B) {
				all, size := rotation(b, c, compression, s.count, s.valueBytes)
				rules := codec.Rules{Magic: 2, Now: 1700000000000, MaxAge: -1, MaxAhead: 3600000, FromClient: true}
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					batch := all[i%len(all)]
					clear(batch[:8]) // the base offset of the last time
					if _, err := codec.Validate(c, nil, batch, rules); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkCopy is the limit of encoding: the bytes copied, and their checksum.
func BenchmarkCopy(b *testing.B) {
	all, size := rotation(b, codec.Kafka(), codec.None, 100, 1024)
	dst := make([]byte, size)
	b.SetBytes(int64(size))
	for i := 0; b.Loop(); i++ {
		copy(dst, all[i%len(all)])
		crc32.Checksum(dst[21:], castagnoli)
	}
}

func BenchmarkAppend(b *testing.B) {
	c := codec.Kafka()
	_, size := rotation(b, c, codec.None, 100, 1024)
	sets := make([][]codec.Record, rotationBytes/size)
	for i := range sets {
		sets[i] = someRecords(100, 1024)
	}
	dst := make([]byte, 0, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := c.Append(dst, codec.NewHeader(2), sets[i%len(sets)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRestamp(b *testing.B) {
	c := codec.Kafka()
	all, _ := rotation(b, c, codec.None, 100, 1024)
	h, err := c.Header(all[0])
	require.NoError(b, err)
	for i := int64(0); b.Loop(); i++ {
		s := codec.Stamp{LastOffset: h.LastOffset + i, LeaderEpoch: 1, MaxTimestamp: h.MaxTimestamp}
		if err := c.Restamp(all[i%int64(len(all))], s); err != nil {
			b.Fatal(err)
		}
	}
}
