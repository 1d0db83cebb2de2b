package segment_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

func TestFileNames(t *testing.T) {
	for _, row := range []struct {
		name      string
		base      int64
		extension string
		state     segment.State
	}{
		{"00000000000000000000.log", 0, segment.LogExt, segment.Live},
		{"00000000000000000042.index", 42, segment.IndexExt, segment.Live},
		{"00000000000000000042.timeindex.cleaned", 42, segment.TimeIndexExt, segment.Cleaned},
		{"00000000000000000042.txnindex.swap", 42, segment.TxnIndexExt, segment.Swap},
		{"00000000000000000042.log.deleted", 42, segment.LogExt, segment.Deleted},
		{"00000000000000000042.snapshot.deleted", 42, ".snapshot", segment.Deleted},
		{"09223372036854775807.sum", math.MaxInt64, segment.SumExt, segment.Live},
	} {
		base, extension, state, ok := segment.ParseFileName(row.name)
		assert.True(t, ok, row.name)
		assert.Equal(t, row.base, base, row.name)
		assert.Equal(t, row.extension, extension, row.name)
		assert.Equal(t, row.state, state, row.name)
		assert.Equal(t, row.name, segment.FileName(row.base, row.extension, row.state))
	}
	for _, name := range []string{
		"", ".log", "42.log", "0000000000000000042.log", "000000000000000000042.log", "-0000000000000000042.log",
		"+0000000000000000042.log", "00000000000000000042", "00000000000000000042.", "00000000000000000042log",
		"0000000000000000004x.log", "09223372036854775808.log", "99999999999999999999.log",
		"00000000000000000042.log.old", "00000000000000000042.log.swap.deleted", "00000000000000000042.deleted",
		"00000000000000000042..log", "leader-epoch-checkpoint", "partition.metadata",
	} {
		_, _, _, ok := segment.ParseFileName(name)
		assert.False(t, ok, name)
	}
}

func FuzzParseFileName(f *testing.F) {
	f.Add("00000000000000000042.log.swap")
	f.Add("09223372036854775808.log")
	f.Fuzz(func(t *testing.T, name string) {
		if base, extension, state, ok := segment.ParseFileName(name); ok {
			assert.Equal(t, name, segment.FileName(base, extension, state))
		}
	})
}

func TestProducer(t *testing.T) {
	var p segment.Producer
	assert.Equal(t, codec.NoOffset, p.LastOffset())
	assert.Equal(t, codec.NoSequence, p.LastSequence())
	p.Batches = []segment.ProducerBatch{{LastSequence: 3, LastOffset: 13}, {LastSequence: 7, LastOffset: 17}}
	assert.EqualValues(t, 17, p.LastOffset())
	assert.EqualValues(t, 7, p.LastSequence())
}
