package log_test

import (
	"errors"
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// Q: Kafka's defaults.
func TestConfigDefaults(t *testing.T) {
	c := log.Config{}.WithDefaults()
	require.NoError(t, c.Validate())
	assert.EqualValues(t, 1073741824, c.SegmentBytes)
	assert.Equal(t, 7*24*time.Hour, c.SegmentAge)
	assert.EqualValues(t, 10485760, c.IndexBytes)
	assert.EqualValues(t, 4096, c.IndexIntervalBytes)
	assert.EqualValues(t, 1048588, c.MessageBytes)
	assert.EqualValues(t, -1, c.RetainBytes)
	assert.Equal(t, 7*24*time.Hour, c.RetainAge)
	assert.Equal(t, time.Minute, c.DeleteDelay)
	assert.Equal(t, 24*time.Hour, c.ProducerAge)
	assert.Equal(t, log.Delete, c.Cleanup)
	assert.Equal(t, 0.5, c.DirtyRatio)
	assert.Equal(t, -1, c.GzipLevel)
	assert.EqualValues(t, int64(math.MaxInt64), c.FlushMessages)
	zero := log.Config{IndexIntervalBytes: log.Zero, RetainAge: log.Zero, DirtyRatio: log.Zero, RetainBytes: log.Zero}
	require.NoError(t, zero.Validate())
	z := zero.WithDefaults()
	assert.Zero(t, z.IndexIntervalBytes)
	assert.Zero(t, z.RetainAge)
	assert.Zero(t, z.DirtyRatio)
	assert.Zero(t, z.RetainBytes)
}

// Q: the properties of a topic.
func TestParseConfig(t *testing.T) {
	c, err := log.ParseConfig(map[string]string{
		"internal.segment.bytes": "300", "segment.ms": "1000", "segment.jitter.ms": "0", "retention.ms": "-1", "retention.bytes": "-1",
		"cleanup.policy": "compact, delete", "compression.type": "uncompressed", "preallocate": "TRUE", "index.interval.bytes": "0",
		"message.timestamp.type": "LogAppendTime", "message.timestamp.difference.max.ms": "5000", "message.timestamp.after.max.ms": "7000",
		"message.format.version": "0.10.2-IV0", "min.cleanable.dirty.ratio": "0", "flush.ms": "9223372036854775807",
		"min.insync.replicas": "2", "compression.zstd.level": "-7", "max.compaction.lag.ms": "9223372036854775807",
	})
	require.NoError(t, err)
	require.Equal(t, log.Config{
		SegmentBytes: 300, SegmentAge: time.Second, SegmentJitter: log.Zero, RetainAge: -1, RetainBytes: -1,
		Cleanup: log.Compact | log.Delete, Compression: log.CompressionNone, Preallocate: true, IndexIntervalBytes: log.Zero,
		Timestamps: log.LogAppendTime, TimestampBefore: 5 * time.Second, TimestampAfter: 7 * time.Second,
		Format: log.FormatV1, DirtyRatio: log.Zero, FlushAge: math.MaxInt64, ZstdLevel: -7, MaxCompactLag: math.MaxInt64,
	}, c)

	for key, value := range map[string]string{
		"segment.bytes": "13", "segment.ms": "0", "segment.jitter.ms": "-1", "segment.index.bytes": "3", "index.interval.bytes": "-1",
		"flush.messages": "0", "flush.ms": "-1", "retention.ms": "-2", "max.message.bytes": "2147483648", "delete.retention.ms": "x",
		"min.cleanable.dirty.ratio": "1.1", "max.compaction.lag.ms": "0", "cleanup.policy": "keep", "compression.type": "none",
		"compression.gzip.level": "0", "compression.lz4.level": "18", "compression.zstd.level": "23", "preallocate": "yes",
		"message.format.version": "0.7", "message.timestamp.type": "Now", "message.timestamp.difference.max.ms": "-1", "no.such.key": "1",
	} {
		_, err := log.ParseConfig(map[string]string{key: value})
		require.ErrorContains(t, err, key, "%s=%s", key, value)
	}
	_, err = log.ParseConfig(map[string]string{"segment.bytes": "1", "flush.messages": "0", "x": ""})
	for _, key := range []string{"segment.bytes", "flush.messages", "x:"} {
		require.ErrorContains(t, err, key)
	}
	_, err = log.ParseConfig(map[string]string{"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"})
	require.ErrorContains(t, err, "min.compaction.lag.ms")
}

// The errors have Kafka's numbers.
func TestCode(t *testing.T) {
	for err, want := range map[error]int16{
		nil: 0, log.ErrReadOnly: 56, log.ErrOffsetOutOfRange: 1, codec.ErrCorrupt: 2, log.ErrRecordTooLarge: 10, log.ErrBatchTooLarge: 18,
		log.ErrInvalidTimestamp: 32, log.ErrUnsupportedFormat: 43, log.ErrOutOfOrderSequence: 45, log.ErrFenced: 47,
		log.ErrInvalidTxnState: 48, log.ErrCoordinatorFenced: 52, codec.ErrCompression: 76, log.ErrInvalidRecord: 87, log.ErrTopicID: 103,
		syscall.ENOSPC: -1, errors.New("other"): -1,
	} {
		require.Equal(t, want, log.Code(err), "%v", err)
		if err != nil {
			require.Equal(t, want, log.Code(fmt.Errorf("in between: %w", err)))
		}
	}
}
