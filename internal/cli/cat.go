package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

// catOptions are the flags of cat.
type catOptions struct {
	output      string
	layout      string
	isolation   string
	all         bool
	offset      string
	maxMessages int64
}

// newCat is the verb cat.
func newCat(e *env) *cobra.Command {
	var o catOptions
	cmd := &cobra.Command{
		Use:   "cat [flags] PARTITION...",
		Short: "Write the records of partitions",
		Long: "cat writes the data records of partitions, those of aborted transactions included, from where the\n" +
			"log starts, as far as a checkpoint tells that. What is damaged is named on standard error and\n" +
			"passed over, and the exit status is 3 then. A batch of which only the leader epoch is damaged is named,\n" +
			"and its records are written. A partition that cannot be read does not keep the others from it.\n\n" +
			"The layout of -f is a part of kcat's:\n" + layoutHelp + "\n" +
			"Bytes are written as they are, and null as nothing: use -o json where that matters.",
		Example: "  strata cat /var/lib/kafka/orders-0\n" +
			"  strata cat -f '%T %k=%s\\n' --offset -10 orders-0\n" +
			"  strata cat -o json orders-0 | strata append copy-0 --format json",
		Args: takes(1, -1, "at least one partition's directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := &cat{env: e, catOptions: o, codec: codec.Kafka(), left: o.maxMessages}
			if err := c.check(cmd); err != nil {
				return err
			}
			err := each(cmd.Context(), e, args, func(path string) error {
				if c.left == 0 {
					return nil
				}
				return c.partition(cmd.Context(), path)
			})
			if err == nil && c.bad {
				err = errProblems
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "text", "text or json: one object a record")
	f.StringVarP(&o.layout, "format", "f", defaultLayout, "the layout of text; '"+defaultLayout+"' by default")
	f.StringVar(&o.isolation, "isolation-level", "read_uncommitted", "read_uncommitted, or read_committed: no open or aborted transactions")
	f.BoolVar(&o.all, "all", false, "control records, too, and records below the log start")
	f.StringVar(&o.offset, "offset", "start", "start, end, an offset, or -N: the last N")
	f.Int64VarP(&o.maxMessages, "max-messages", "c", math.MaxInt64, "end after so many records; all by default")
	offer(cmd, "output", "text", "json")
	offer(cmd, "isolation-level", "read_uncommitted", "read_committed")
	f.Lookup("format").DefValue, f.Lookup("max-messages").DefValue = "", "0" // the help says it already, without Go's quotes
	return cmd
}

// cat is one run of the verb.
type cat struct {
	*env
	catOptions
	codec  codec.Codec
	lay    layout        // of text
	lines  *json.Encoder // of json
	line   []byte
	left   int64 // records that may still be written
	stable *stable
	bad    bool // damage was met
}

// check looks at the flags.
func (c *cat) check(cmd *cobra.Command) (err error) {
	switch c.output {
	case "text":
		c.lay, err = parseLayout(c.layout)
	case "json":
		c.lines = jsonLines(c.out)
		if cmd.Flags().Changed("format") {
			err = usagef("-f is the layout of text: leave it out, or -o json")
		}
	default:
		err = usagef("unknown output %q: -o takes text or json", c.output)
	}
	switch {
	case err != nil:
		return err
	case c.isolation != "read_uncommitted" && c.isolation != "read_committed":
		return usagef("unknown isolation level %q: --isolation-level takes read_uncommitted or read_committed", c.isolation)
	case c.isolation == "read_committed" && c.all:
		return usagef("--all shows what read_committed leaves out: leave one of them out")
	case c.maxMessages < 0:
		return usagef("--max-messages is %d: give a number of records", c.maxMessages)
	}
	if c.offset != "start" && c.offset != "end" {
		if _, err := strconv.ParseInt(c.offset, 10, 64); err != nil {
			return usagef("--offset is %q: give start, end, an offset, or -N for the last N", c.offset)
		}
	}
	return nil
}

// partition writes the records of the partition in the directory path.
func (c *cat) partition(ctx context.Context, path string) (err error) {
	p, err := openPartition(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for _, name := range p.odd {
		c.bad = true
		c.notice("%s is no file, and what a segment of that name had is lost", p.show(name))
	}
	err = c.records(ctx, p)
	if err != nil && c.stopped(ctx) == nil { // otherwise it is nothing of the partition's
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// records writes the records of p.
func (c *cat) records(ctx context.Context, p *partition) error {
	from, err := c.from(ctx, p)
	if err != nil {
		return err
	}
	c.stable = nil
	if c.isolation == "read_committed" {
		var damage []error
		if c.stable, damage, err = newStable(ctx, p); err != nil {
			return err
		}
		for _, d := range damage {
			c.bad = true
			c.notice("%s: aborted transactions are found by their markers: %v", p.path, d)
		}
	}
	return c.segments(ctx, p, from)
}

// segments writes the records of p at offset from or above. A segment that is gone since p was listed is none: a
// broker removes old ones.
func (c *cat) segments(ctx context.Context, p *partition, from int64) error {
	for _, base := range p.bases {
		if next := p.next(base); next != 0 && next <= from {
			continue
		}
		switch err := c.segment(ctx, p, base, from); {
		case errors.Is(err, fs.ErrNotExist):
			c.notice("%s is gone: a broker removes old segments", p.show(segment.FileName(base, segment.LogExt, segment.Live)))
		case err != nil || c.left == 0:
			return err
		}
	}
	return nil
}

// from is the offset of the first record to write.
func (c *cat) from(ctx context.Context, p *partition) (int64, error) {
	var from int64
	switch c.offset {
	case "start":
	case "end":
		return p.endOffset(ctx)
	default:
		from, _ = strconv.ParseInt(c.offset, 10, 64) // check has looked at it
		if end, err := p.endOffset(ctx); err == nil && from > end {
			c.notice("%s: the log ends at offset %d, and %d is above", p.path, end, from)
		}
	}
	if from < 0 {
		end, err := p.endOffset(ctx)
		if err != nil {
			return 0, err
		}
		from = max(0, end+from)
	}
	if c.all {
		return from, nil
	}
	start, err := p.startOffset(ctx)
	if err != nil {
		c.notice("where the log starts is not known, it is read from its first segment: %v", err)
	}
	return max(from, start), nil
}

// segment writes the records at offset from or above of one segment.
func (c *cat) segment(ctx context.Context, p *partition, base, from int64) (err error) {
	s, err := p.scan(ctx, c.codec, base, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for piece, err := range s.pieces() {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case piece.Err != nil:
			c.bad = true
			batch, ok := s.intact(piece)
			if !ok {
				c.notice("%s at %d: %s", s.shown, piece.Position, s.loss(piece))
				continue
			}
			c.notice("%s at %d: the records of offsets %d to %d are shown, since their checksum fits, but: %v", s.shown, piece.Position,
				batch.BaseOffset, batch.LastOffset, piece.Err)
			piece.Batch = batch
		}
		if err := c.batch(p, s, piece, from); err != nil || c.left == 0 {
			return err
		}
	}
	return nil
}

// batch writes the records at offset from or above of one batch.
func (c *cat) batch(p *partition, s *scan, piece codec.Piece, from int64) error {
	h := piece.Batch.Header
	if h.LastOffset < from || h.Attributes.Control() && !c.all || c.stable.hides(h) {
		return nil
	}
	for r, err := range c.codec.Records(piece.Batch.Bytes) {
		switch {
		case err != nil:
			c.bad = true
			c.notice("%s at %d: the records of offsets %d to %d cannot be read: %v", s.shown, piece.Position, h.BaseOffset, h.LastOffset, err)
			return nil
		case r.Offset < from:
			continue
		case c.left == 0:
			return nil
		}
		c.left--
		if err := c.write(p.name, h, r); err != nil {
			return err
		}
	}
	return nil
}

// write writes one record.
func (c *cat) write(p partitionName, h codec.Header, r codec.Record) error {
	if c.lines != nil {
		return c.lines.Encode(newRecordLine(p, h, r))
	}
	c.line = c.line[:0]
	for _, part := range c.lay {
		c.line = part(c.line, p, r)
	}
	_, err := c.out.Write(c.line)
	return err
}
