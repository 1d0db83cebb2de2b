package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/log"
)

// deleteRecords is the verb delete-records.
type deleteRecords struct{}

// newDeleteRecords is the verb delete-records.
func newDeleteRecords(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete-records [flags] DIR",
		Short: "Delete the records of partitions below an offset",
		Long: "delete-records moves the start of a partition's log up to an offset, as kafka-delete-records has a\n" +
			"broker do: no reader gets records below it any more. Segments that hold no other records go with the\n" +
			"next retention of the broker, or of the program that has the log open: nothing is removed here.\n\n" +
			"Where the partition is in a log directory, its log-start-offset-checkpoint tells the new start, which\n" +
			"a broker takes from there; otherwise strata.checkpoint in the partition's directory.\n\n" +
			"Without --execute it only tells what would be deleted. The directory above is locked as a broker does\n" +
			"it where it is a log directory.",
		Example: "  strata delete-records --to-offset 42 /var/lib/kafka/orders-0\n" +
			"  strata delete-records --to-offset 42 --execute /var/lib/kafka/orders-0\n" +
			"  strata delete-records --offset-json-file offsets.json --execute /var/lib/kafka",
	}
	return newDestroying(e, deleteRecords{}, cmd, "the offset at which the log shall start; -1: its end")
}

// least implements destroyingVerb.
func (deleteRecords) least() int64 { return toEnd }

// toEnd stands for the end of the log, as for kafka-delete-records it does for the high watermark.
const toEnd = -1

// options implements destroyingVerb.
func (deleteRecords) options(string) (log.Options, error) { return log.Options{}, nil }

// close implements destroyingVerb.
func (deleteRecords) close() error { return nil }

// plan implements destroyingVerb.
func (deleteRecords) plan(_ context.Context, p *partition, l *log.Log, offset int64) (destruction, error) {
	if offset == toEnd {
		offset = l.EndOffset()
	}
	if r, err := p.resume(); (r != nil || err != nil) && !p.checkpointed() {
		return nil, usagef("no checkpoint of the directory above can tell where %s starts: it has not the name of a partition in service", p.dir)
	}
	if offset > l.EndOffset() {
		return nil, usagef("the log ends at offset %d: give an offset up to that, and not %d", l.EndOffset(), offset)
	}
	return &deletion{p: p, oldStart: l.StartOffset(), start: max(offset, l.StartOffset()), end: l.EndOffset()}, nil
}

// deletion is what delete-records is to do to a partition.
type deletion struct {
	p               *partition
	oldStart, start int64 // of the log
	end             int64 // of the log
}

// do implements destruction.
func (x *deletion) do(_ context.Context, up *above, l *log.Log) error {
	if err := up.readable(checkpoint.StartOffsets); err != nil {
		return err
	}
	if _, err := l.DeleteBefore(x.start); err != nil {
		return err
	}
	if up == nil || !up.tells {
		return nil // the log has stored it
	}
	return up.set(x.p, checkpoint.StartOffsets, func(was int64, _ bool) (int64, bool) { return x.start, was < x.start })
}

// deletionLine is what delete-records did, or would do, to a partition.
type deletionLine struct {
	Type string `json:"type"` // recordDeletion
	partitionField
	Executed bool  `json:"executed"`
	OldStart int64 `json:"oldLogStartOffset"`
	Start    int64 `json:"logStartOffset"` // what kafka-delete-records calls low_watermark
	End      int64 `json:"logEndOffset"`
}

// line implements destruction.
func (x *deletion) line(executed bool) any {
	return deletionLine{"recordDeletion", x.p.field(), executed, x.oldStart, x.start, x.end}
}

// text implements destruction.
func (x *deletion) text(executed bool) string {
	if x.start == x.oldStart {
		return fmt.Sprintf("%s: nothing to delete, the log starts at offset %d", x.p.path, x.oldStart)
	}
	would := "would delete"
	if executed {
		would = "deleted"
	}
	return fmt.Sprintf("%s: %s offsets %d to %d: the log starts at offset %d, and ends at %d", x.p.path, would, x.oldStart, x.start-1, x.start, x.end)
}
