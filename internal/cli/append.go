package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/scheduler"
)

// batchBytes is how much of records append puts into one batch, before they are compressed: what a broker
// with the default max.message.bytes takes.
const batchBytes = 1 << 20

// lineBuffer is how much of the input is read at a time.
const lineBuffer = 1 << 20

// maxLineBytes bounds a line of input: a record of 2³¹−1 bytes as base64 would not fit a batch.
const maxLineBytes = 1 << 30

// appendOptions are the flags of append.
type appendOptions struct {
	format       string
	compression  string
	segmentBytes int64
	batchRecords int
	keyDelimiter string
	topicID      string
}

// newAppend is the verb append.
func newAppend(e *env) *cobra.Command {
	var o appendOptions
	cmd := &cobra.Command{
		Use:   "append [flags] DIR",
		Short: "Append records from standard input to a partition",
		Long: "append appends a record for each line of standard input to the partition in the directory DIR, which\n" +
			"it makes where it is missing, and closes it cleanly: what it has told of is on the disk.\n\n" +
			"With --format line a line is a value, or, with --key-delimiter, a key, the delimiter and a value.\n" +
			"With --format json a line is an object as cat -o json writes them, of which key, value, timestamp\n" +
			"and headers count; control records are left out. A line that is none ends the work: the records\n" +
			"before it are in the log then.\n\n" +
			"The directory above is locked as a broker does it where it is a log directory.",
		Example: "  seq 1000 | strata append --compression zstd /tmp/numbers-0\n" +
			"  strata cat -o json orders-0 | strata append --format json copy-0",
		Args: takes(1, 1, "one partition's directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := newAppender(e, o)
			if err != nil {
				return err
			}
			return a.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "line", "line or json")
	f.StringVar(&o.compression, "compression", "none", "none, gzip, snappy, lz4 or zstd")
	f.Int64Var(&o.segmentBytes, "segment-bytes", 1<<30, "roll before a segment is larger")
	f.IntVar(&o.batchRecords, "batch-records", 1000, "put so many records at most into a batch")
	f.StringVar(&o.keyDelimiter, "key-delimiter", "", "what parts key and value in a line; a line without it is a value")
	f.StringVar(&o.topicID, "topic-id", "", "the topic's id, in 22 characters, for partition.metadata")
	offer(cmd, "format", "line", "json")
	offer(cmd, "compression", "none", "gzip", "snappy", "lz4", "zstd")
	return cmd
}

// appender is one run of the verb.
type appender struct {
	*env
	appendOptions
	compression codec.Compression
	parse       func(line []byte) (codec.Record, error)
	options     log.Options
	codec       codec.Codec

	log     *log.Log
	builder *codec.Builder
	buf     []byte
	first   int64 // offset appended
	records int
	batches int
	control int // control records left out
}

// newAppender looks at the flags.
func newAppender(e *env, o appendOptions) (*appender, error) {
	a := &appender{env: e, appendOptions: o, codec: codec.Kafka(), first: codec.NoOffset}
	switch o.format {
	case "line":
		a.parse = a.parseLine
	case "json":
		a.parse = parseJSON
		if o.keyDelimiter != "" {
			return nil, usagef("--key-delimiter is for --format line: JSON has a key of its own")
		}
	default:
		return nil, usagef("unknown format %q: --format takes line or json", o.format)
	}
	known := false
	for c := codec.None; c <= codec.Zstd; c++ {
		if c.String() == o.compression {
			a.compression, known = c, true
		}
	}
	switch {
	case !known:
		return nil, usagef("unknown compression %q: --compression takes none, gzip, snappy, lz4 or zstd", o.compression)
	case o.batchRecords < 1:
		return nil, usagef("--batch-records is %d: give 1 or more", o.batchRecords)
	case o.segmentBytes < 14 || o.segmentBytes > math.MaxInt32:
		return nil, usagef("--segment-bytes is %d: give 14 to %d", o.segmentBytes, math.MaxInt32)
	}
	a.options = log.Options{Config: log.Config{SegmentBytes: o.segmentBytes, MessageBytes: math.MaxInt32}}
	if o.topicID != "" {
		id, err := checkpoint.ParseID(o.topicID)
		if err != nil || id == [16]byte{} { // which no topic has
			return nil, usagef("--topic-id is %q: give an id as Kafka writes it, 22 characters of base64url", o.topicID)
		}
		a.options.TopicID = id
	}
	return a, nil
}

// run appends what standard input has to the partition in dir.
func (a *appender) run(ctx context.Context, dir string) error {
	if namePartition(dir).topic == nil {
		a.notice("%s is no partition's name, which ends in a dash and a number, as orders-0: no broker starts with it", dir)
	}
	err := a.change(ctx, dir, a.options, func(_ *above, l *log.Log) error {
		a.log = l
		return a.lines(ctx)
	})
	if a.log != nil {
		a.tell()
	}
	return err
}

// lines appends the lines of standard input.
func (a *appender) lines(ctx context.Context) error {
	in := &lineReader{r: bufio.NewReaderSize(newBreakable(ctx, a.in), lineBuffer)}
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			return a.flush()
		}
		var r codec.Record
		if err == nil {
			r, err = a.parse(line)
		}
		switch {
		case errors.Is(err, errControl):
			a.control++
			continue
		case err != nil:
			err = fmt.Errorf("line %d: %w", in.number, err)
		default:
			err = a.add(r, in.number)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return errors.Join(err, a.flush())
		}
	}
}

// add puts r, of the line with the given number, into the batch, and appends that first where it is full:
// which may fail for the lines before.
func (a *appender) add(r codec.Record, number int) error {
	if a.builder != nil && a.builder.Len() < a.batchRecords {
		ok, err := a.builder.Add(r)
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if ok {
			return nil
		}
	}
	if err := a.flush(); err != nil {
		return err
	}
	h := codec.NewHeader(2)
	h.Attributes = codec.Attributes(a.compression)
	a.builder = codec.NewBuilder(a.codec, h, int(min(batchBytes, a.segmentBytes)))
	if _, err := a.builder.Add(r); err != nil {
		return fmt.Errorf("line %d: %w", number, err)
	}
	return nil
}

// flush appends the batch.
func (a *appender) flush() error {
	if a.builder == nil || a.builder.Len() == 0 {
		return nil
	}
	records := a.builder.Len()
	batch, err := a.builder.AppendTo(a.buf[:0])
	if err != nil {
		return err
	}
	a.buf, a.builder = batch, nil
	got, err := a.log.Append(batch)
	if err != nil {
		return err
	}
	if a.first == codec.NoOffset {
		a.first = got.BaseOffset
	}
	a.records, a.batches = a.records+records, a.batches+1
	return nil
}

// tell says what was done.
func (a *appender) tell() {
	if a.control > 0 {
		a.notice("%d control records were left out: a copy has no transactions", a.control)
	}
	if a.records == 0 {
		fmt.Fprintln(a.out, "appended nothing")
		return
	}
	fmt.Fprintf(a.out, "appended %s in %s, offsets %d to %d\n", counted(int64(a.records), "record"), counted(int64(a.batches), "batch"), a.first, a.first+int64(a.records)-1)
}

// now is the time for records that have none.
func now() int64 { return scheduler.System().Now().UnixMilli() }
