package log

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"
)

// What a Config that was filled has where there is no limit.
const (
	unlimited    int64         = math.MaxInt64
	unlimitedAge time.Duration = math.MaxInt64
)

// WithDefaults is c with the defaults in place of 0, and 0 in place of Zero.
func (c Config) WithDefaults() Config {
	c.SegmentBytes = filled(c.SegmentBytes, 1<<30)
	c.SegmentAge = filled(c.SegmentAge, 7*24*time.Hour)
	c.SegmentJitter = filled(c.SegmentJitter, 0)
	c.IndexBytes = filled(c.IndexBytes, 10<<20)
	c.IndexIntervalBytes = filled(c.IndexIntervalBytes, 4096)
	c.MessageBytes = filled(c.MessageBytes, 1_048_588) // 1 MiB and the 12 bytes in front of each batch
	c.GzipLevel = filled(c.GzipLevel, -1)
	c.LZ4Level = filled(c.LZ4Level, 9)
	c.ZstdLevel = filled(c.ZstdLevel, 3)
	c.TimestampBefore = filled(c.TimestampBefore, unlimitedAge)
	c.TimestampAfter = filled(c.TimestampAfter, unlimitedAge)
	c.FlushMessages = filled(c.FlushMessages, unlimited)
	c.FlushAge = filled(c.FlushAge, unlimitedAge)
	c.Cleanup = filled(c.Cleanup, Delete)
	c.RetainBytes = filled(c.RetainBytes, -1)
	c.RetainAge = filled(c.RetainAge, 7*24*time.Hour)
	c.DeleteDelay = filled(c.DeleteDelay, time.Minute)
	c.TombstoneAge = filled(c.TombstoneAge, 24*time.Hour)
	c.CompactLag = filled(c.CompactLag, 0)
	c.MaxCompactLag = filled(c.MaxCompactLag, unlimitedAge)
	c.DirtyRatio = filled(c.DirtyRatio, 0.5)
	c.ProducerAge = filled(c.ProducerAge, 24*time.Hour)
	return c
}

// filled is v, or what stands for it.
func filled[T ~int | ~int64 | ~uint8 | ~float64](v, standard T) T {
	switch {
	case v == 0:
		return standard
	case float64(v) == Zero:
		return 0
	}
	return v
}

// Validate returns all complaints about c, joined: an fs.ErrInvalid.
func (c Config) Validate() error {
	f := c.WithDefaults()
	return refusal(
		between("segment.bytes", f.SegmentBytes, 14, math.MaxInt32),
		atLeast("segment.ms", f.SegmentAge, time.Millisecond),
		atLeast("segment.jitter.ms", f.SegmentJitter, 0),
		between("segment.index.bytes", f.IndexBytes, 4, math.MaxInt32),
		between("index.interval.bytes", f.IndexIntervalBytes, 0, math.MaxInt32),
		between("max.message.bytes", f.MessageBytes, 0, math.MaxInt32),
		between("message.format.version", int64(f.Format), 0, int64(FormatV0)),
		between("compression.type", int64(f.Compression), 0, int64(CompressionZstd)),
		levels(f),
		between("message.timestamp.type", int64(f.Timestamps), 0, int64(LogAppendTime)),
		atLeast("message.timestamp.before.max.ms", f.TimestampBefore, 0),
		atLeast("message.timestamp.after.max.ms", f.TimestampAfter, 0),
		between("flush.messages", f.FlushMessages, 1, unlimited),
		atLeast("flush.ms", f.FlushAge, 0),
		between("cleanup.policy", int64(f.Cleanup), 1, int64(Delete|Compact)),
		atLeast("file.delete.delay.ms", f.DeleteDelay, 0),
		atLeast("delete.retention.ms", f.TombstoneAge, 0),
		atLeast("min.compaction.lag.ms", f.CompactLag, 0),
		atLeast("max.compaction.lag.ms", f.MaxCompactLag, time.Millisecond),
		lags(f),
		ratio("min.cleanable.dirty.ratio", f.DirtyRatio),
		atLeast("producer.id.expiration.ms", f.ProducerAge, time.Millisecond),
	)
}

// badConfig are complaints about a configuration, each of which says by itself what is wrong.
type badConfig struct{ error }

func (c badConfig) Unwrap() []error { return []error{c.error, fs.ErrInvalid} }

// refusal joins complaints, if there are any.
func refusal(complaints ...error) error {
	if err := errors.Join(complaints...); err != nil {
		return badConfig{err}
	}
	return nil
}

// levels complains about the compression levels of the filled f.
func levels(f Config) error {
	var gzip error
	if f.GzipLevel != -1 {
		gzip = between("compression.gzip.level", int64(f.GzipLevel), 1, 9)
	}
	return errors.Join(
		gzip,
		between("compression.lz4.level", int64(f.LZ4Level), 1, 17),
		between("compression.zstd.level", int64(f.ZstdLevel), -131072, 22),
	)
}

// lags complains where nothing is old enough to be compacted and not too old at once.
func lags(f Config) error {
	if f.CompactLag > f.MaxCompactLag {
		return fmt.Errorf("min.compaction.lag.ms: %v is above max.compaction.lag.ms, %v", f.CompactLag, f.MaxCompactLag)
	}
	return nil
}

// between complains where v is not in [low, high].
func between(key string, v, low, high int64) error {
	if v < low || v > high {
		return fmt.Errorf("%s: %d is not in [%d, %d]", key, v, low, high)
	}
	return nil
}

// atLeast complains where d is below low.
func atLeast(key string, d, low time.Duration) error {
	if d < low {
		return fmt.Errorf("%s: %v is below %v", key, d, low)
	}
	return nil
}

// ratio complains where r is not in [0, 1].
func ratio(key string, r float64) error {
	if !(r >= 0 && r <= 1) {
		return fmt.Errorf("%s: %v is not in [0, 1]", key, r)
	}
	return nil
}
