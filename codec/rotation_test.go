package codec_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// rotationBytes of batches are worked on in turn, so that none of them is in the cache when its turn comes.
const rotationBytes = 48 << 20

// textOf is n bytes of what services log, which compress as such things do.
func textOf(r *rand.Rand, n int) []byte {
	actions := []string{"view", "click", "purchase", "search", "login"}
	var b []byte
	for len(b) < n {
		b = fmt.Appendf(b, `{"user":"u-%d","action":"%s","page":"/products/%d","ms":%d,"ok":true,"trace":"%08x"}`,
			r.IntN(100_000), actions[r.IntN(len(actions))], r.IntN(10_000), r.IntN(1000), r.Uint32())
	}
	return bytes.Clone(b[:n]) // in no more memory than it is
}

// batchShape is a batch of count records of valueBytes in key and value.
type batchShape struct{ count, valueBytes int }

var batchShapes = []batchShape{{100, 100}, {100, 1024}}

// someRecords are those of a batch.
func someRecords(s batchShape) []codec.Record {
	r := rand.New(rand.NewPCG(1, uint64(s.valueBytes)))
	recs := make([]codec.Record, s.count)
	for i := range recs {
		recs[i] = codec.Record{
			Offset:    int64(i),
			Timestamp: 1700000000000 + int64(i),
			Key:       textOf(r, 8),
			Value:     textOf(r, s.valueBytes-8),
		}
	}
	return recs
}

// rotation is batches of the shape s, rotationBytes in all, and the size of one.
func rotation(tb testing.TB, c codec.Codec, compression codec.Compression, s batchShape) ([][]byte, int) {
	tb.Helper()
	batch, err := c.Append(nil, compressed(2, compression), someRecords(s))
	require.NoError(tb, err)
	all := make([][]byte, rotationBytes/len(batch))
	for i := range all {
		all[i] = bytes.Clone(batch)
	}
	return all, len(batch)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
