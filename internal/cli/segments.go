package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// segmentLine is what segments tells of a segment.
type segmentLine struct {
	Type string `json:"type"` // segment
	partitionField
	BaseOffset         int64 `json:"baseOffset"`
	NextOffset         int64 `json:"nextOffset"`       // where the next one begins, or the log ends
	Bytes              int64 `json:"bytes"`            // of the .log file
	IndexEntries       int   `json:"indexEntries"`     // −1: there is no such file
	TimeIndexEntries   int   `json:"timeIndexEntries"` // −1: there is no such file
	MaxTimestamp       int64 `json:"maxTimestamp"`     // −1: none is known
	MaxTimestampOffset int64 `json:"maxTimestampOffset"`
	AbortedTxns        int   `json:"abortedTransactions"` // −1: their index is damaged
	Active             bool  `json:"active"`              // it is the one that is appended to

	*segmentContent // with --deep
}

// segmentContent is what the batches of a segment tell.
type segmentContent struct {
	Batches        int            `json:"batches"` // that can be read
	Records        int64          `json:"records"` // of those, control records included
	ControlRecords int64          `json:"controlRecords"`
	FirstTimestamp int64          `json:"firstTimestamp"` // the smallest with which a batch begins; −1: there is none
	LastTimestamp  int64          `json:"lastTimestamp"`  // the largest of all; −1: there is none
	Magic          map[int8]int   `json:"magic"`          // batches by format
	Compression    map[string]int `json:"compression"`    // batches by compression
	DamagedBytes   int64          `json:"damagedBytes"`
}

// newSegments is the verb segments.
func newSegments(e *env) *cobra.Command {
	v := &segments{env: e, codec: codec.Kafka()}
	cmd := &cobra.Command{
		Use:   "segments [flags] DIR...",
		Short: "Show the segments of partitions, a row each",
		Long: "segments shows the segments of partitions, or of all partitions of a log directory: offsets, size,\n" +
			"largest timestamp, and how dense the indexes are, as bytes of the log for an entry.\n\n" +
			"Of a log that was not closed cleanly, what recovery would cut is left out.\n\n" +
			"With --deep it reads all batches, too, and shows how many there are, of which format and compression.\n" +
			"What is damaged is named on standard error, and the exit status is 3 then.",
		Example: "  strata segments /var/lib/kafka/orders-0\n" +
			"  strata segments --deep -o json /var/lib/kafka",
		Args: takes(1, -1, "at least one directory"),
	}
	asJSON := textOrJSON(cmd)
	cmd.Flags().BoolVar(&v.deep, "deep", false, "read all batches, and count them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch asJSON, err := asJSON(); {
		case err != nil:
			return err
		case asJSON:
			v.lines = jsonLines(e.out)
		}
		return v.run(cmd.Context(), args)
	}
	return cmd
}

// segments is one run of the verb.
type segments struct {
	*env
	codec codec.Codec
	deep  bool
	lines *json.Encoder // of json, otherwise nil
	bad   bool          // damage was met
}

// run shows the segments of the partitions that args name.
func (v *segments) run(ctx context.Context, args []string) error {
	err := v.eachPartition(ctx, args, func(p *partition) error {
		lines, err := v.partition(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
		return v.show(p, lines)
	})
	if err == nil && v.bad {
		err = errProblems
	}
	return err
}

// partition finds out what there is to tell of the segments of p.
func (v *segments) partition(ctx context.Context, p *partition) (lines []segmentLine, err error) {
	l, err := p.log(ctx)
	if err != nil {
		return nil, err
	}
	st := l.State()
	if err := l.Close(); err != nil {
		return nil, err
	}
	for i, s := range st.Segments {
		next := st.EndOffset
		if i+1 < len(st.Segments) {
			next = st.Segments[i+1].BaseOffset
		}
		line := newSegmentLine(p, s, next)
		line.Active = i+1 == len(st.Segments)
		if v.deep {
			if line.segmentContent, err = v.content(ctx, p, s.BaseOffset); err != nil {
				return nil, err
			}
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// newSegmentLine is the line of a segment of p, behind which the offset next comes.
func newSegmentLine(p *partition, s log.SegmentState, next int64) segmentLine {
	return segmentLine{
		Type: "segment", partitionField: p.field(), BaseOffset: s.BaseOffset, NextOffset: next, Bytes: s.Size,
		IndexEntries: s.IndexEntries, TimeIndexEntries: s.TimeIndexEntries,
		MaxTimestamp: s.MaxTimestamp, MaxTimestampOffset: s.MaxTimestampOffset, AbortedTxns: abortedTxns(s),
	}
}

// abortedTxns is how many aborted transactions have their markers in a segment, −1 where its index does not tell.
func abortedTxns(s log.SegmentState) int {
	if s.AbortedErr != nil {
		return -1
	}
	return len(s.Aborted)
}

// abortedText is that number for people.
func abortedText(n int) string {
	if n < 0 {
		return "damaged"
	}
	return strconv.Itoa(n)
}

// content reads the batches of the segment with the given base offset, and tells of damage.
func (v *segments) content(ctx context.Context, p *partition, base int64) (c *segmentContent, err error) {
	s, err := p.scan(ctx, v.codec, base, base)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c = &segmentContent{FirstTimestamp: codec.NoTimestamp, LastTimestamp: codec.NoTimestamp, Magic: map[int8]int{}, Compression: map[string]int{}}
	for piece, err := range s.pieces() {
		switch {
		case err != nil:
			return nil, err
		case piece.Err != nil:
			v.bad = true
			v.notice("%s at %d: %s", s.shown, piece.Position, s.loss(piece))
			c.DamagedBytes += piece.Size
		default:
			if err := c.add(v.codec, piece.Batch); err != nil {
				v.bad = true
				v.notice("%s at %d: the records of offsets %d to %d cannot be read: %v", s.shown, piece.Position,
					piece.Batch.BaseOffset, piece.Batch.LastOffset, err)
			}
		}
	}
	return c, nil
}

// add counts b. The records of a wrapper, whose header does not say how many there are, are counted one by one.
func (c *segmentContent) add(format codec.Codec, b codec.Batch) error {
	h := b.Header
	c.Batches++
	c.Magic[h.Magic]++
	c.Compression[h.Attributes.Compression().String()]++
	c.LastTimestamp = max(c.LastTimestamp, h.MaxTimestamp)
	_, horizon := h.DeleteHorizon() // it is in the place of the first timestamp
	if first := h.BaseTimestamp; !horizon && first >= 0 && (c.FirstTimestamp < 0 || first < c.FirstTimestamp) {
		c.FirstTimestamp = first
	}
	records := int64(h.Count)
	if h.Count < 0 {
		records = 0
		for _, err := range format.Records(b.Bytes) {
			if err != nil {
				return err
			}
			records++
		}
	}
	c.Records += records
	if h.Attributes.Control() {
		c.ControlRecords += records
	}
	return nil
}

// show shows the segments of p.
func (v *segments) show(p *partition, lines []segmentLine) error {
	if v.lines == nil {
		return v.text(p, lines)
	}
	for _, line := range lines {
		if err := v.lines.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// text shows the segments of p to people.
func (v *segments) text(p *partition, lines []segmentLine) error {
	fmt.Fprintf(v.out, "%s\n", p.path)
	w := tabwriter.NewWriter(v.out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "  SEGMENT\tNEXT OFFSET\tSIZE\tLARGEST TIMESTAMP\tINDEX\tTIME INDEX\tABORTED")
	if v.deep {
		fmt.Fprint(w, "\tBATCHES\tRECORDS\tFIRST TIMESTAMP\tFORMAT\tCOMPRESSION\tDAMAGED")
	}
	fmt.Fprint(w, "\tNOTE\n")
	for _, line := range lines {
		largest := line.MaxTimestamp
		if line.segmentContent != nil {
			largest = line.LastTimestamp
		}
		fmt.Fprintf(w, "  %020d\t%d\t%s\t%s\t%s\t%s\t%s", line.BaseOffset, line.NextOffset, sizeText(line.Bytes), timeText(largest),
			densityText(line.Bytes, line.IndexEntries), densityText(line.Bytes, line.TimeIndexEntries), abortedText(line.AbortedTxns))
		if c := line.segmentContent; c != nil {
			fmt.Fprintf(w, "\t%d\t%d\t%s\t%s\t%s\t%s", c.Batches, c.Records, timeText(c.FirstTimestamp), mixText(c.Magic), mixText(c.Compression), sizeText(c.DamagedBytes))
		}
		note := ""
		if line.Active {
			note = "active"
		}
		fmt.Fprintf(w, "\t%s\n", note)
	}
	return w.Flush()
}

// densityText is how many entries an index has, and how much of the log there is for one.
func densityText(bytes int64, entries int) string {
	if entries <= 0 {
		return countText(entries)
	}
	return fmt.Sprintf("%d, %s each", entries, sizeText(bytes/int64(entries)))
}

// mixText is how many batches are of which kind; the kind alone where all are of one.
func mixText[K ~int8 | ~string](batches map[K]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(batches)) {
		parts = append(parts, fmt.Sprintf("%v: %d", kind, batches[kind]))
	}
	switch len(parts) {
	case 0:
		return "-"
	case 1:
		kind, _, _ := strings.Cut(parts[0], ":")
		return kind
	}
	return strings.Join(parts, ", ")
}
