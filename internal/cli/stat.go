package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/log"
)

// statLine is what stat tells of a partition.
type statLine struct {
	Type             string            `json:"type"` // partition
	Dir              string            `json:"dir"`
	Topic            *string           `json:"topic"`
	Partition        *int32            `json:"partition"`
	TopicID          *string           `json:"topicId"`
	StartOffset      int64             `json:"logStartOffset"`
	EndOffset        int64             `json:"logEndOffset"`
	HighWatermark    int64             `json:"highWatermark"`
	LastStableOffset int64             `json:"lastStableOffset"`
	RecoveryPoint    int64             `json:"recoveryPoint"`
	Bytes            int64             `json:"bytes"`
	MaxTimestamp     int64             `json:"maxTimestamp"` // −1: none is known
	Clean            *bool             `json:"cleanShutdown"`
	Producers        int               `json:"producers"`
	ProducersEnd     int64             `json:"producersEndOffset"`  // up to which they are known
	Snapshots        []int64           `json:"producerSnapshots"`   // their offsets
	FirstUnstable    *int64            `json:"firstUnstableOffset"` // of an undecided transaction
	OpenTxns         int               `json:"openTransactions"`
	LateTxn          bool              `json:"lateTransaction"` // one is open for longer than a broker allows by default
	LeaderEpochs     []epochLine       `json:"leaderEpochs"`
	Segments         []statSegmentLine `json:"segments"`
}

// epochLine is where a leader epoch begins.
type epochLine struct {
	Epoch       int32 `json:"epoch"`
	StartOffset int64 `json:"startOffset"`
}

// statSegmentLine is what stat tells of a segment.
type statSegmentLine struct {
	BaseOffset         int64 `json:"baseOffset"`
	Bytes              int64 `json:"bytes"`
	IndexEntries       int   `json:"indexEntries"`     // −1: there is no such file
	TimeIndexEntries   int   `json:"timeIndexEntries"` // −1: there is no such file
	MaxTimestamp       int64 `json:"maxTimestamp"`     // −1: none is known
	MaxTimestampOffset int64 `json:"maxTimestampOffset"`
	AbortedTxns        int   `json:"abortedTransactions"` // −1: their index is damaged
}

// newStat is the verb stat.
func newStat(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stat [flags] DIR...",
		Short: "Show partitions in full: offsets, epochs, producers, segments",
		Long: "stat shows what a log finds when it is opened on a partition's directory, or on all those of a log\n" +
			"directory, without changing anything. Of one that was not closed cleanly, it is what is good of it:\n" +
			"what recovery would cut is left out.",
		Example: "  strata stat /var/lib/kafka/orders-0\n" +
			"  strata stat -o json /var/lib/kafka",
		Args: takes(1, -1, "at least one directory"),
	}
	asJSON := textOrJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		asJSON, err := asJSON()
		if err != nil {
			return err
		}
		return e.eachPartition(cmd.Context(), args, func(p *partition) error {
			line, err := p.stat(cmd.Context())
			if err != nil {
				return fmt.Errorf("%s: %w", p.path, err)
			}
			if asJSON {
				return jsonLines(e.out).Encode(line)
			}
			return e.statText(line)
		})
	}
	return cmd
}

// stat finds out what there is to tell of p.
func (p *partition) stat(ctx context.Context) (line statLine, err error) {
	l, err := p.log(ctx)
	if err != nil {
		return statLine{}, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	st := l.State()
	line = newStatLine(p, st)
	if id, err := checkpoint.ReadTopicID(p.fsys, path.Join(p.dir, checkpoint.PartitionMetadata)); err == nil {
		text := checkpoint.FormatID(id)
		line.TopicID = &text
	}
	if r, err := p.resume(); err == nil && r != nil {
		line.Clean = &r.Clean
	}
	return line, nil
}

// newStatLine is the line of a log in the state st.
func newStatLine(p *partition, st log.State) statLine {
	line := statLine{
		Type: "partition", Dir: p.path, Topic: p.name.topic, Partition: p.name.id,
		StartOffset: st.StartOffset, EndOffset: st.EndOffset, HighWatermark: st.HighWatermark,
		LastStableOffset: st.StableOffset, RecoveryPoint: st.RecoveryPoint, MaxTimestamp: codec.NoTimestamp,
		Producers: len(st.Producers), ProducersEnd: st.ProducersEnd, Snapshots: append([]int64{}, st.Snapshots...), LateTxn: st.LateTxn,
		LeaderEpochs: make([]epochLine, 0, len(st.Epochs)), Segments: make([]statSegmentLine, 0, len(st.Segments)),
	}
	if st.FirstUnstable != codec.NoOffset {
		line.FirstUnstable = &st.FirstUnstable
	}
	for _, producer := range st.Producers {
		if producer.TxnFirstOffset != codec.NoOffset {
			line.OpenTxns++
		}
	}
	for _, epoch := range st.Epochs {
		line.LeaderEpochs = append(line.LeaderEpochs, epochLine(epoch))
	}
	for _, s := range st.Segments {
		line.Bytes += s.Size
		line.MaxTimestamp = max(line.MaxTimestamp, s.MaxTimestamp)
		line.Segments = append(line.Segments, statSegmentLine{
			s.BaseOffset, s.Size, s.IndexEntries, s.TimeIndexEntries, s.MaxTimestamp, s.MaxTimestampOffset, abortedTxns(s),
		})
	}
	return line
}

// statText shows line to people.
func (e *env) statText(line statLine) error {
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\n", line.Dir)
	row := func(name string, value any) { fmt.Fprintf(w, "  %s\t%v\n", name, value) }
	if line.TopicID != nil {
		row("topic id", *line.TopicID)
	}
	row("log start offset", line.StartOffset)
	row("log end offset", line.EndOffset)
	row("high watermark", line.HighWatermark)
	row("last stable offset", line.LastStableOffset)
	row("recovery point", line.RecoveryPoint)
	if line.Clean != nil {
		row("clean shutdown", *line.Clean)
	}
	row("size", sizeText(line.Bytes))
	row("largest timestamp", timeText(line.MaxTimestamp))
	row("producers", fmt.Sprintf("%d, known up to offset %d", line.Producers, line.ProducersEnd))
	row("producer snapshots", offsetsText(line.Snapshots))
	if line.FirstUnstable != nil {
		row("first unstable offset", *line.FirstUnstable)
	}
	if late := ""; line.OpenTxns > 0 {
		if line.LateTxn {
			late = ", late"
		}
		row("open transactions", fmt.Sprint(line.OpenTxns, late))
	}
	for _, epoch := range line.LeaderEpochs {
		row("leader epoch", fmt.Sprintf("%d from offset %d", epoch.Epoch, epoch.StartOffset))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "  segment\tsize\tlargest timestamp\tindex\ttime index\taborted\n")
	for _, s := range line.Segments {
		fmt.Fprintf(w, "  %020d\t%s\t%s\t%s\t%s\t%s\n", s.BaseOffset, sizeText(s.Bytes), timeText(s.MaxTimestamp),
			countText(s.IndexEntries), countText(s.TimeIndexEntries), abortedText(s.AbortedTxns))
	}
	return w.Flush()
}

// offsetsText are offsets, or "none".
func offsetsText(offsets []int64) string {
	if len(offsets) == 0 {
		return "none"
	}
	return strings.Trim(fmt.Sprint(offsets), "[]")
}

// countText is n, or "missing" of a file that is not there.
func countText(n int) string {
	if n < 0 {
		return "missing"
	}
	return fmt.Sprint(n)
}

// sizeText is n bytes for people.
func sizeText(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/(1<<10), 0
	for value >= 1<<10 && unit < 3 {
		value, unit = value/(1<<10), unit+1
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[unit])
}
