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

// Kafka's defaults.
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

// The properties of a topic.
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
}

// Q3 testFromPropsEmpty: no properties are the defaults, and the defaults as properties, as Kafka shows them, too.
func TestQ3Defaults(t *testing.T) {
	c, err := log.ParseConfig(nil)
	require.NoError(t, err)
	require.Equal(t, log.Config{}, c)
	const never = "9223372036854775807"
	c, err = log.ParseConfig(map[string]string{
		"cleanup.policy": "delete", "compression.gzip.level": "-1", "compression.lz4.level": "9", "compression.type": "producer",
		"compression.zstd.level": "3", "delete.retention.ms": "86400000", "file.delete.delay.ms": "60000", "flush.messages": never,
		"flush.ms": never, "follower.replication.throttled.replicas": "", "index.interval.bytes": "4096",
		"leader.replication.throttled.replicas": "", "local.retention.bytes": "-2", "local.retention.ms": "-2",
		"max.compaction.lag.ms": never, "max.message.bytes": "1048588", "message.timestamp.after.max.ms": never,
		"message.timestamp.before.max.ms": never, "message.timestamp.type": "CreateTime", "min.cleanable.dirty.ratio": "0.5",
		"min.compaction.lag.ms": "0", "min.insync.replicas": "1", "preallocate": "false", "remote.log.copy.disable": "false",
		"remote.log.delete.on.disable": "false", "remote.storage.enable": "false", "retention.bytes": "-1", "retention.ms": "604800000",
		"segment.bytes": "1073741824", "segment.index.bytes": "10485760", "segment.jitter.ms": "0", "segment.ms": "604800000",
		"unclean.leader.election.enable": "false",
	})
	require.NoError(t, err)
	require.Equal(t, log.Config{}.WithDefaults(), c.WithDefaults())
}

// Q4 testFromPropsInvalid, Q8 shouldValidateThrottledReplicasConfig: each key refuses what it cannot be.
func TestQ4InvalidValues(t *testing.T) {
	refused := map[string][]string{
		"cleanup.policy":                          {"true", "foobar"},
		"compression.gzip.level":                  {"not_a_number", "-2"},
		"compression.lz4.level":                   {"not_a_number", "-1"},
		"compression.type":                        {"not_a_codec", "none"},
		"compression.zstd.level":                  {"not_a_number", "-0.1"},
		"follower.replication.throttled.replicas": {"100", "100:", "100:0,10", "100:0,10:", "100:0,10:   ", "*,100:10"},
		"leader.replication.throttled.replicas":   {"100", "100:", "*,100:10"},
		"internal.segment.bytes":                  {"not_a_number"}, // otherwise segment.bytes is named
		"local.retention.bytes":                   {"not_a_number", "-3"},
		"local.retention.ms":                      {"not_a_number", "-3"},
		"message.format.version":                  {""},
		"message.timestamp.type":                  {"not_a_type"},
		"min.cleanable.dirty.ratio":               {"not_a_number", "-0.1", "1.2"},
		"min.insync.replicas":                     {"not_a_number", "0", "-1"},
		"retention.bytes":                         {"not_a_number"},
		"retention.ms":                            {"not_a_number"},
	}
	for _, key := range []string{
		"message.downconversion.enable", "preallocate", "remote.log.copy.disable", "remote.log.delete.on.disable",
		"remote.storage.enable", "unclean.leader.election.enable",
	} {
		refused[key] = []string{"not_a_boolean"}
	}
	for _, key := range []string{
		"delete.retention.ms", "file.delete.delay.ms", "flush.messages", "flush.ms", "index.interval.bytes",
		"max.compaction.lag.ms", "max.message.bytes", "message.timestamp.after.max.ms", "message.timestamp.before.max.ms",
		"message.timestamp.difference.max.ms", "min.compaction.lag.ms", "producer.id.expiration.ms", "segment.bytes",
		"segment.index.bytes", "segment.jitter.ms", "segment.ms",
	} {
		refused[key] = []string{"not_a_number", "-1"}
	}
	for key, values := range refused {
		for _, value := range values {
			_, err := log.ParseConfig(map[string]string{key: value})
			require.ErrorContains(t, err, key, "%s=%s", key, value)
		}
	}
	for _, replicas := range []string{"*", "* ", "", " ", "100:10", "100:10,12:10", "100:10, 12:10 "} {
		_, err := log.ParseConfig(map[string]string{"follower.replication.throttled.replicas": replicas})
		require.NoError(t, err, replicas)
	}
	c, err := log.ParseConfig(map[string]string{"retention.bytes": "-77"})
	require.NoError(t, err)
	require.Negative(t, c.RetainBytes, "no limit")
}

// Q5 testInvalidCompactionLagConfig.
func TestQ5CompactionLags(t *testing.T) {
	_, err := log.ParseConfig(map[string]string{"max.compaction.lag.ms": "100", "min.compaction.lag.ms": "200"})
	require.ErrorContains(t, err, "min.compaction.lag.ms: 200ms is above max.compaction.lag.ms, 100ms")
}

// Q7 testTimestampBeforeMaxMsUsesDeprecatedConfig: the old key stands for both that replaced it, as far as they are
// not given.
func TestQ7TimestampDifference(t *testing.T) {
	const hour, minute = "3600000", "60000"
	for _, row := range []struct {
		before, after         string
		wantBefore, wantAfter time.Duration
	}{
		{"", "", time.Hour, time.Hour},
		{minute, "", time.Minute, time.Hour},
		{"", minute, time.Hour, time.Minute},
		{minute, minute, time.Minute, time.Minute},
	} {
		p := map[string]string{"message.timestamp.difference.max.ms": hour}
		for key, value := range map[string]string{"before": row.before, "after": row.after} {
			if value != "" {
				p["message.timestamp."+key+".max.ms"] = value
			}
		}
		c, err := log.ParseConfig(p)
		require.NoError(t, err)
		require.Equal(t, []time.Duration{row.wantBefore, row.wantAfter}, []time.Duration{c.TimestampBefore, c.TimestampAfter})
	}
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
