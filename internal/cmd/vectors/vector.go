package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stratalog/strata/codec"
)

// vector is one line. Fields that a kind has not are left zero.
type vector struct {
	Name  string
	Kafka string
	Kind  string // set, validate or convert

	Hex       hexBytes // set
	ReadError string

	In, Out   hexBytes // validate and convert
	ByteExact bool
	Error     string // its class
	Message   string // of it

	TargetMagic                 int8
	TargetCodec                 compression
	Offset, Now, MaxDiffMs      int64
	TimestampType               string
	Compacted                   bool
	NextOffset                  int64
	MaxTimestamp                *int64
	ShallowOffsetOfMaxTimestamp *int64
	InPlace                     *bool

	FirstOffset int64

	Records []record // of Hex or Out
}

// record is a record as Kafka read it, with what it says of the batch around it.
type record struct {
	Position      int
	Offset        int64
	WrapperOffset *int64
	Timestamp     int64
	TimestampType string
	Compression   compression
	Key, Value    []byte
	EntryValid    bool
	Headers       []struct {
		Key   string
		Value []byte
	}

	BaseOffset, LastOffset *int64 // from here on magic 2 only
	LeaderEpoch            int32
	ProducerID             int64
	ProducerEpoch          int16
	Sequence               int32
	Transactional, Control bool
}

// hexBytes are bytes that JSON holds in hexadecimal.
type hexBytes []byte

// UnmarshalJSON implements json.Unmarshaler.
func (b *hexBytes) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	decoded, err := hex.DecodeString(s)
	*b = decoded
	return err
}

// compression is a compression by its name.
type compression struct{ codec.Compression }

// UnmarshalJSON implements json.Unmarshaler.
func (c *compression) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	for c.Compression = codec.None; c.Compression <= codec.Zstd; c.Compression++ {
		if c.String() == s {
			return nil
		}
	}
	return fmt.Errorf("compression %q", s)
}

// check says in what ways what package codec makes of v differs.
func (v *vector) check() (differences []error) {
	switch v.Kind {
	case "set":
		return some(checkRead(v.Hex, v.Records, v.ReadError != ""))
	case "validate":
		return v.checkValidate()
	case "convert":
		return v.checkConvert()
	}
	return some(fmt.Errorf("kind %q", v.Kind))
}

// some are those of errs that are not nil.
func some(errs ...error) []error {
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

func (v *vector) checkConvert() []error {
	out, err := codec.Convert(codec.Kafka(), nil, v.In, v.TargetMagic, v.FirstOffset)
	if v.Error != "" || err != nil {
		return some(bothFail(err, v.errorClass()))
	}
	return some(v.checkOut(out))
}

func (v *vector) checkValidate() []error {
	rules := codec.Rules{
		Offset:        v.Offset,
		LeaderEpoch:   leaderEpoch(v.Out),
		Now:           v.Now,
		Magic:         v.TargetMagic,
		Recompress:    true,
		Compression:   v.TargetCodec.Compression,
		LogAppendTime: v.TimestampType == "LogAppendTime",
		MaxAge:        v.MaxDiffMs,
		MaxAhead:      v.MaxDiffMs,
		NeedKey:       v.Compacted,
		FromClient:    true,
	}
	got, err := codec.Validate(codec.Kafka(), nil, bytes.Clone(v.In), rules)
	if v.Error != "" || err != nil {
		return some(bothFail(err, v.errorClass()))
	}
	fields := []field{{"next offset", got.LastOffset + 1, v.NextOffset}}
	if v.InPlace != nil {
		fields = append(fields, field{"in place", got.InPlace, *v.InPlace})
	}
	if v.MaxTimestamp != nil {
		fields = append(fields, field{"max timestamp", got.MaxTimestamp, *v.MaxTimestamp})
	}
	if v.ShallowOffsetOfMaxTimestamp != nil {
		fields = append(fields, field{"its offset", got.MaxTimestampOffset, *v.ShallowOffsetOfMaxTimestamp})
	}
	differences := []error{v.checkOut(got.Batches)}
	for _, f := range fields {
		differences = append(differences, different([]field{f}))
	}
	return some(differences...)
}

// checkOut compares what was made with v.Out.
func (v *vector) checkOut(out []byte) error {
	if v.ByteExact && !bytes.Equal(out, v.Out) {
		return fmt.Errorf("bytes %x, want %x", out, v.Out)
	}
	return checkRead(out, v.Records, false)
}

// leaderEpoch is the epoch that a broker gave to a batch of magic 2, which the vectors do not have elsewhere.
func leaderEpoch(out []byte) int32 {
	h, err := codec.Kafka().Header(out)
	if err != nil {
		return codec.NoLeaderEpoch
	}
	return h.LeaderEpoch
}

// errorClass is the class of the error of v. From 2.8 on, the error of an append is one of its records with their class
// in its message.
func (v *vector) errorClass() string {
	if inner, _, ok := strings.Cut(v.Message, ": "); ok && v.Error == "kafka.common.RecordValidationException" {
		return inner
	}
	return v.Error
}

// bothFail compares a failure of ours with one of Kafka's.
func bothFail(err error, want string) error {
	switch {
	case err == nil:
		return fmt.Errorf("no error, want %s", want)
	case want == "":
		return err
	}
	for class, names := range classes {
		for _, name := range names {
			if name == want && !errors.Is(err, class) {
				return fmt.Errorf("error %w, want %s", err, want)
			}
		}
	}
	return nil
}

// classes are the names that Kafka's versions have for what is an error of package codec.
var classes = map[error][]string{
	codec.ErrInvalid:     {"org.apache.kafka.common.InvalidRecordException", "org.apache.kafka.common.record.InvalidRecordException"},
	codec.ErrTimestamp:   {"org.apache.kafka.common.errors.InvalidTimestampException"},
	codec.ErrCorrupt:     {"org.apache.kafka.common.errors.CorruptRecordException"},
	codec.ErrCompression: {"org.apache.kafka.common.errors.UnsupportedCompressionTypeException"},
}
