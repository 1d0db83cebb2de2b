package log

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseConfig reads Kafka's topic properties, with Kafka's ranges, also message.timestamp.difference.max.ms
// and producer.id.expiration.ms. Of segment.bytes the range is that of Kafka up to 4.0, since 4.4 wants 1
// MiB, and internal.segment.bytes is the same key. Keys that have nothing to do with a log's files, such as
// min.insync.replicas, are checked by themselves, as Kafka does, and left out. All complaints come joined in
// one error, an fs.ErrInvalid; each names its key.
func ParseConfig(properties map[string]string) (Config, error) {
	var (
		c          Config
		complaints []error
	)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		parse, ok := topicKeys[key]
		if !ok {
			complaints = append(complaints, fmt.Errorf("%s: not a key of a topic", key))
			continue
		}
		if err := parse(&c, strings.TrimSpace(properties[key])); err != nil {
			complaints = append(complaints, fmt.Errorf("%s: %w", key, err))
		}
	}
	complaints = append(complaints, spread(&c, properties), c.Validate())
	return c, refusal(complaints...)
}

// spread gives message.timestamp.difference.max.ms to the two keys that replaced it, where those are not
// given.
func spread(c *Config, properties map[string]string) error {
	const key = "message.timestamp.difference.max.ms"
	v, ok := properties[key]
	if !ok {
		return nil
	}
	d, err := milliseconds(strings.TrimSpace(v))
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if _, ok := properties["message.timestamp.before.max.ms"]; !ok {
		c.TimestampBefore = d
	}
	if _, ok := properties["message.timestamp.after.max.ms"]; !ok {
		c.TimestampAfter = d
	}
	return nil
}

// parser puts the value of one key into c.
type parser func(c *Config, v string) error

// topicKeys are Kafka's keys of a topic.
var topicKeys = map[string]parser{
	"segment.bytes":          number32(func(c *Config) *int64 { return &c.SegmentBytes }),
	"internal.segment.bytes": number32(func(c *Config) *int64 { return &c.SegmentBytes }),
	"segment.ms":             age(func(c *Config) *time.Duration { return &c.SegmentAge }),
	"segment.jitter.ms":      age(func(c *Config) *time.Duration { return &c.SegmentJitter }),
	"segment.index.bytes":    number32(func(c *Config) *int64 { return &c.IndexBytes }),
	"index.interval.bytes":   number32(func(c *Config) *int64 { return &c.IndexIntervalBytes }),
	"preallocate":            truth(func(c *Config) *bool { return &c.Preallocate }),

	"max.message.bytes":         number32(func(c *Config) *int64 { return &c.MessageBytes }),
	"message.format.version":    parseFormat,
	"compression.type":          parseCompression,
	"compression.gzip.level":    level(noZero, func(c *Config) *int { return &c.GzipLevel }),
	"compression.lz4.level":     level(noZero, func(c *Config) *int { return &c.LZ4Level }),
	"compression.zstd.level":    level(zeroIsDefault, func(c *Config) *int { return &c.ZstdLevel }),
	"message.timestamp.type":    parseTimestampType,
	"flush.messages":            number64(func(c *Config) *int64 { return &c.FlushMessages }),
	"flush.ms":                  age(func(c *Config) *time.Duration { return &c.FlushAge }),
	"cleanup.policy":            parseCleanup,
	"retention.bytes":           number64(func(c *Config) *int64 { return &c.RetainBytes }),
	"retention.ms":              parseRetainAge,
	"file.delete.delay.ms":      age(func(c *Config) *time.Duration { return &c.DeleteDelay }),
	"delete.retention.ms":       age(func(c *Config) *time.Duration { return &c.TombstoneAge }),
	"min.compaction.lag.ms":     age(func(c *Config) *time.Duration { return &c.CompactLag }),
	"max.compaction.lag.ms":     age(func(c *Config) *time.Duration { return &c.MaxCompactLag }),
	"producer.id.expiration.ms": age(func(c *Config) *time.Duration { return &c.ProducerAge }),

	"min.cleanable.dirty.ratio": parseDirtyRatio,

	"message.timestamp.before.max.ms": age(func(c *Config) *time.Duration { return &c.TimestampBefore }),
	"message.timestamp.after.max.ms":  age(func(c *Config) *time.Duration { return &c.TimestampAfter }),

	"message.timestamp.difference.max.ms": passOver, // see spread

	"follower.replication.throttled.replicas": foreignReplicas,
	"leader.replication.throttled.replicas":   foreignReplicas,
	"local.retention.bytes":                   foreignNumber(64, -2), // −2: as retention.bytes
	"local.retention.ms":                      foreignNumber(64, -2),
	"message.downconversion.enable":           foreignTruth,
	"min.insync.replicas":                     foreignNumber(32, 1),
	"remote.log.copy.disable":                 foreignTruth,
	"remote.log.delete.on.disable":            foreignTruth,
	"remote.storage.enable":                   foreignTruth,
	"unclean.leader.election.enable":          foreignTruth,
}

// passOver is the parser of a key that is read elsewhere.
func passOver(*Config, string) error { return nil }

// The parsers of keys that a log has no use for.

func foreignTruth(_ *Config, v string) error {
	return truth(func(*Config) *bool { return new(bool) })(nil, v)
}

func foreignNumber(bits int, low int64) parser {
	return func(_ *Config, v string) error {
		n, err := strconv.ParseInt(v, 10, bits)
		if err == nil && n < low {
			err = fmt.Errorf("%d is below %d", n, low)
		}
		return err
	}
}

// foreignReplicas wants partition:broker pairs, or an asterisk for all.
func foreignReplicas(_ *Config, v string) error {
	if v == "" || v == "*" {
		return nil
	}
	for pair := range strings.SplitSeq(v, ",") {
		partition, broker, _ := strings.Cut(strings.TrimSpace(pair), ":")
		_, err := strconv.ParseUint(partition, 10, 31)
		_, err2 := strconv.ParseUint(broker, 10, 31)
		if err != nil || err2 != nil {
			return fmt.Errorf("%q is not a partition:broker", pair)
		}
	}
	return nil
}

func number32(field func(*Config) *int64) parser { return number(32, field) }

func number64(field func(*Config) *int64) parser { return number(64, field) }

// number parses a whole number of so many bits.
func number(bits int, field func(*Config) *int64) parser {
	return func(c *Config, v string) error {
		n, err := strconv.ParseInt(v, 10, bits)
		if err != nil {
			return err
		}
		*field(c) = given(n)
		return nil
	}
}

// zeroLevel says whether 0 is a compression level.
type zeroLevel bool

const (
	noZero        zeroLevel = false
	zeroIsDefault zeroLevel = true
)

// level parses a compression level. The 0 of zstd is its default, as it is a Config's; the others have none,
// which Validate cannot tell any more.
func level(zero zeroLevel, field func(*Config) *int) parser {
	return func(c *Config, v string) error {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil {
			return err
		}
		if n == 0 && zero == noZero {
			return errors.New("0 is not a level")
		}
		*field(c) = int(n)
		return nil
	}
}

func truth(field func(*Config) *bool) parser {
	return func(c *Config, v string) error {
		switch strings.ToLower(v) {
		case "true":
			*field(c) = true
		case "false":
			*field(c) = false
		default:
			return fmt.Errorf("%q is neither true nor false", v)
		}
		return nil
	}
}

// age parses a duration in milliseconds.
func age(field func(*Config) *time.Duration) parser {
	return func(c *Config, v string) error {
		d, err := milliseconds(v)
		*field(c) = d
		return err
	}
}

// milliseconds reads a duration. One that a time.Duration cannot hold, 292 years, is the longest that it
// can: Kafka writes no limit as 2⁶³−1.
func milliseconds(v string) (time.Duration, error) {
	ms, err := strconv.ParseInt(v, 10, 64)
	switch {
	case err != nil:
		return 0, err
	case ms < 0:
		return 0, fmt.Errorf("%d is below 0", ms)
	case ms > int64(unlimitedAge/time.Millisecond):
		return unlimitedAge, nil
	}
	return given(time.Duration(ms) * time.Millisecond), nil
}

// given is n as a Config has it.
func given[T ~int64](n T) T {
	if n == 0 {
		return Zero
	}
	return n
}

func parseRetainAge(c *Config, v string) error {
	if v == "-1" {
		c.RetainAge = -1
		return nil
	}
	d, err := milliseconds(v)
	c.RetainAge = d
	return err
}

func parseDirtyRatio(c *Config, v string) error {
	r, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return err
	}
	if r < 0 || math.IsNaN(r) {
		return fmt.Errorf("%v is not in [0, 1]", r)
	}
	if c.DirtyRatio = r; r == 0 {
		c.DirtyRatio = Zero
	}
	return nil
}

func parseTimestampType(c *Config, v string) error {
	switch v {
	case "CreateTime":
		c.Timestamps = CreateTime
	case "LogAppendTime":
		c.Timestamps = LogAppendTime
	default:
		return fmt.Errorf("%q is neither CreateTime nor LogAppendTime", v)
	}
	return nil
}

func parseCompression(c *Config, v string) error {
	names := []string{"producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"}
	i := slices.Index(names, v)
	if i < 0 {
		return fmt.Errorf("%q is none of %s", v, strings.Join(names, ", "))
	}
	c.Compression = Compression(i)
	return nil
}

func parseCleanup(c *Config, v string) error {
	c.Cleanup = 0
	for policy := range strings.SplitSeq(v, ",") {
		switch strings.TrimSpace(policy) {
		case "delete":
			c.Cleanup |= Delete
		case "compact":
			c.Cleanup |= Compact
		default:
			return fmt.Errorf("%q is neither delete nor compact", policy)
		}
	}
	return nil
}

// parseFormat reads a version of Kafka, such as 0.10.2, 2.8-IV1 or 3.0.
func parseFormat(c *Config, v string) error {
	release, _, _ := strings.Cut(v, "-IV")
	parts := strings.Split(release, ".")
	numbers := make([]int64, 0, 4)
	for _, part := range parts {
		n, err := strconv.ParseInt(part, 10, 16)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is not a version of Kafka", v)
		}
		numbers = append(numbers, n)
	}
	switch {
	case len(numbers) < 2 || len(numbers) > 4 || numbers[0] == 0 && numbers[1] < 8:
		return fmt.Errorf("%q is not a version of Kafka", v)
	case numbers[0] > 0 || numbers[1] >= 11:
		c.Format = FormatV2
	case numbers[1] == 10:
		c.Format = FormatV1
	default:
		c.Format = FormatV0
	}
	return nil
}
