package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/log"
)

// truncate is the verb truncate.
type truncate struct {
	quarantine string
	force      bool
	kept       *quarantine
}

// newTruncate is the verb truncate.
func newTruncate(e *env) *cobra.Command {
	t := &truncate{}
	cmd := &cobra.Command{
		Use:   "truncate [flags] DIR",
		Short: "Cut the end of partitions off, from an offset on",
		Long: "truncate drops the batches of a partition that have records at an offset or above, as a follower\n" +
			"does whose leader has not got them: the log goes on at that offset, or at the first one of the batch\n" +
			"that it lies in. Leader epochs, producers and the checkpoints of the log directory go back with it.\n\n" +
			"Without --execute it only tells what would be dropped. What is dropped is kept in the quarantine, in\n" +
			"files named by where the bytes lay, such as orders-0/00000000000000000042.log.4173.\n\n" +
			"Records below the high watermark were acknowledged to producers, and consumers may have seen them: to\n" +
			"drop those, too, takes --force-below-high-watermark. Without it the exit status is 5. Outside of a log\n" +
			"directory no checkpoint tells the high watermark, and nothing is refused.\n\n" +
			"The directory above is locked as a broker does it where it is a log directory.",
		Example: "  strata truncate --to-offset 42 /var/lib/kafka/orders-0\n" +
			"  strata truncate --to-offset 42 --execute /var/lib/kafka/orders-0\n" +
			"  strata truncate --offset-json-file offsets.json --execute /var/lib/kafka",
	}
	f := cmd.Flags()
	f.StringVar(&t.quarantine, "quarantine", "", "the directory that keeps what is dropped, or none; beside the log directory by default")
	f.BoolVar(&t.force, "force-below-high-watermark", false, "drop acknowledged records, too")
	return newDestroying(e, t, cmd, "the offset at which the log shall end")
}

// least implements destroyingVerb.
func (t *truncate) least() int64 { return 0 }

// options implements destroyingVerb.
func (t *truncate) options(dir string) (o log.Options, err error) {
	t.kept, err = openQuarantine(t.quarantine, dir)
	o.Quarantine = t.kept.fs()
	o.Config.DeleteDelay = log.Zero // no reader is there who might still want the segments
	return o, err
}

// close implements destroyingVerb.
func (t *truncate) close() error { return t.kept.close() }

// plan implements destroyingVerb.
func (t *truncate) plan(ctx context.Context, p *partition, l *log.Log, offset int64) (destruction, error) {
	x, err := p.truncation(ctx, l.State(), offset)
	if err != nil {
		return nil, err
	}
	x.kept = t.kept
	r, err := p.resume()
	if err == nil && r != nil && x.end < min(r.HighWatermark, x.oldEnd) && !t.force {
		return x, &refusal{fmt.Sprintf("offsets %d to %d lie below the high watermark and were acknowledged: --force-below-high-watermark drops them",
			x.end, min(r.HighWatermark, x.oldEnd)-1)}
	}
	return x, nil
}

// truncation is what truncate is to do to a partition.
type truncation struct {
	p             *partition
	kept          *quarantine
	oldEnd, end   int64 // of the log; the first offset of a batch, or behind one
	asked         int64 // the offset to end at, end or in the batch that begins there
	start         int64 // of the log, before
	pieces        []cutPiece
	bytes         int64
	wholeSegments int
}

// cutPiece is what is to go of one segment: all of its log from pos on.
type cutPiece struct {
	base, pos int64
}

// truncation finds out what goes by truncating p, whose log is in the state st, to offset.
func (p *partition) truncation(ctx context.Context, st log.State, offset int64) (*truncation, error) {
	x := &truncation{p: p, oldEnd: st.EndOffset, end: min(offset, st.EndOffset), asked: offset, start: st.StartOffset}
	if offset >= st.EndOffset {
		return x, nil
	}
	for i, s := range st.Segments {
		cut := cutPiece{base: s.BaseOffset}
		switch {
		case i+1 < len(st.Segments) && st.Segments[i+1].BaseOffset <= offset:
			continue // it stays as it is
		case s.BaseOffset <= offset:
			end, pos, err := p.cutAt(ctx, s.BaseOffset, offset)
			if err != nil {
				return nil, err
			}
			x.end, cut.pos = end, pos
		default:
			x.wholeSegments++
		}
		x.pieces = append(x.pieces, cut)
		x.bytes += s.Size - cut.pos
	}
	return x, nil
}

// cutAt is where the segment with the given base offset is cut by a truncation to offset, and the offset behind
// what is left of it.
func (p *partition) cutAt(ctx context.Context, base, offset int64) (end, pos int64, err error) {
	s, err := p.scan(ctx, codec.Kafka(), base, base)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	end = base
	for piece, err := range s.pieces() {
		switch {
		case err != nil:
			return 0, 0, err
		case piece.Err == nil && piece.Batch.LastOffset < offset:
			end = piece.Batch.NextOffset()
		case piece.Err != nil && piece.NextOffset != codec.NoOffset && piece.NextOffset <= offset:
			end = piece.NextOffset // the damage stays, and its offsets are not given again
		default:
			return end, piece.Position, nil
		}
		pos = piece.Position + piece.Size
	}
	return end, pos, nil
}

// do implements destruction. First nothing claims any more that what goes is durable: a crash between the steps
// leaves a log that is verified from an offset that it has.
func (x *truncation) do(ctx context.Context, up *above, l *log.Log) error {
	err := up.readable(checkpoint.RecoveryPoints, checkpoint.HighWatermarks, checkpoint.StartOffsets, checkpoint.CleanerOffsets)
	if err != nil {
		return err
	}
	for _, cut := range x.pieces {
		if err := x.kept.keep(ctx, x.p, cut.base, cut.pos); err != nil {
			return err
		}
	}
	if err := up.lower(x.p, checkpoint.RecoveryPoints, x.end); err != nil {
		return err
	}
	if _, err := l.Truncate(x.end); err != nil {
		return err
	}
	if _, err := l.Reap(ctx); err != nil {
		return err
	}
	segments := l.State().Segments
	return errors.Join(
		up.lower(x.p, checkpoint.HighWatermarks, x.end),
		up.lower(x.p, checkpoint.StartOffsets, x.end),
		up.lower(x.p, checkpoint.CleanerOffsets, segments[len(segments)-1].BaseOffset),
	)
}

// truncationLine is what truncate did, or would do, to a partition.
type truncationLine struct {
	Type string `json:"type"` // truncation
	partitionField
	Executed   bool    `json:"executed"`
	OldEnd     int64   `json:"oldLogEndOffset"`
	End        int64   `json:"logEndOffset"`
	Start      int64   `json:"logStartOffset"`
	Bytes      int64   `json:"bytes"`    // dropped
	Segments   int     `json:"segments"` // dropped whole
	Quarantine *string `json:"quarantine"`
}

// line implements destruction.
func (x *truncation) line(executed bool) any {
	line := truncationLine{
		Type: "truncation", partitionField: x.p.field(), Executed: executed,
		OldEnd: x.oldEnd, End: x.end, Start: min(x.start, x.end), Bytes: x.bytes, Segments: x.wholeSegments,
	}
	if x.kept != nil && len(x.pieces) > 0 {
		line.Quarantine = &x.kept.dir
	}
	return line
}

// text implements destruction.
func (x *truncation) text(executed bool) string {
	if x.end >= x.oldEnd {
		return fmt.Sprintf("%s: nothing to drop, the log ends at offset %d", x.p.path, x.oldEnd)
	}
	would, kept, why := "would drop", "", ""
	if x.end < x.asked {
		why = fmt.Sprintf(", where the batch begins that %d lies in", x.asked)
	}
	if executed {
		would = "dropped"
		if x.kept != nil {
			kept = ", kept in " + x.kept.dir
		}
	}
	return fmt.Sprintf("%s: %s offsets %d to %d, %s, %s whole: the log ends at offset %d%s%s", x.p.path, would, x.end, x.oldEnd-1,
		counted(x.bytes, "byte"), counted(int64(x.wholeSegments), "segment"), x.end, why, kept)
}
