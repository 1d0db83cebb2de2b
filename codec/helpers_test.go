package codec_test

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/varint"
)

// Where the fields of magic 2 lie.
const (
	sizeAt          = 8
	leaderEpochAt   = 12
	magicAt         = 16
	crcAt           = 17
	attributesAt    = 21
	lastDeltaAt     = 23
	baseTimestampAt = 27
	maxTimestampAt  = 35
	producerIDAt    = 43
	baseSequenceAt  = 53
	countAt         = 57
	recordsAt       = 61
)

var be = binary.BigEndian

// sign puts the right size and checksum into a batch of any magic.
func sign(batch []byte) []byte {
	be.PutUint32(batch[sizeAt:], uint32(len(batch)-12))
	if batch[magicAt] < 2 {
		be.PutUint32(batch[12:], crc32.ChecksumIEEE(batch[magicAt:]))
	} else {
		be.PutUint32(batch[crcAt:], crc32.Checksum(batch[attributesAt:], castagnoli))
	}
	return batch
}

// raw is a batch of magic 2 with count records in it, which are the given bytes, and the right checksum.
func raw(count int32, records []byte, change func(batch []byte)) []byte {
	batch := make([]byte, recordsAt, recordsAt+len(records))
	batch[magicAt] = 2
	be.PutUint32(batch[leaderEpochAt:], math.MaxUint32)
	be.PutUint32(batch[lastDeltaAt:], uint32(max(count-1, 0)))
	for i := producerIDAt; i < countAt; i++ {
		batch[i] = 0xff
	}
	be.PutUint32(batch[countAt:], uint32(count))
	batch = append(batch, records...)
	if change != nil {
		change(batch)
	}
	return sign(batch)
}

// rawRecord is a record of magic 2: the size that fits, attributes, and then the fields. Numbers are varints,
// bytes are themselves.
func rawRecord(fields ...any) []byte {
	body := []byte{0}
	for _, f := range fields {
		switch f := f.(type) {
		case int:
			body = varint.Append(body, int64(f))
		case string:
			body = append(body, f...)
		case []byte:
			body = append(body, f...)
		}
	}
	return append(varint.Append(nil, int64(len(body))), body...)
}

// some is three records with offsets from base on.
func some(base int64) []codec.Record {
	return []codec.Record{
		{Offset: base, Timestamp: 1000, Key: []byte("k1"), Value: []byte("hello")},
		{Offset: base + 1, Timestamp: 1005, Value: []byte("there there there there")},
		{Offset: base + 2, Timestamp: 1002, Key: []byte("k3")},
	}
}

// encode is Append, which must do.
func encode(tb testing.TB, h codec.Header, recs []codec.Record) []byte {
	tb.Helper()
	b, err := codec.Kafka().Append(nil, h, recs)
	require.NoError(tb, err)
	return b
}

// compressed is a header of the given magic and compression.
func compressed(magic int8, c codec.Compression) codec.Header {
	return header(magic, func(h *codec.Header) { h.Attributes = codec.Attributes(c) })
}

// formats calls f for all that Kafka has: magic 0 to 2 and the compressions of each.
func formats(t *testing.T, f func(t *testing.T, magic int8, c codec.Compression)) {
	t.Helper()
	for magic := range int8(3) {
		for c := codec.None; c <= codec.Zstd; c++ {
			if magic < 2 && c == codec.Zstd {
				continue
			}
			t.Run("magic "+string(rune('0'+magic))+", "+c.String(), func(t *testing.T) { f(t, magic, c) })
		}
	}
}

// readAll are the records of all batches in b.
func readAll(tb testing.TB, b []byte) (recs []codec.Record) {
	tb.Helper()
	c := codec.Kafka()
	for batch, err := range codec.Batches(c, b) {
		require.NoError(tb, err)
		more, err := collect(c, batch.Bytes)
		require.NoError(tb, err)
		recs = append(recs, more...)
	}
	return recs
}
