package log

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// findWriter finds out whether this package has written last: it has not closed the log, or it has and the
// active segment is as it was then.
func (r *loader) findWriter() error {
	if r.ours = r.was.ok; !r.ours || !r.was.slot.Clean || len(r.list.segments) == 0 {
		return nil
	}
	last := r.list.segments[len(r.list.segments)-1]
	info, err := r.fsys.Stat(r.path(segment.FileName(last, segment.LogExt, segment.Live)))
	if err == nil {
		r.ours = r.was.slot.WroteLast(info.Size())
	}
	return err
}

// overflow is segment.Options.Overflow of a segment that the one at next follows. Where this package has
// written last, offsets that are too far from the base are damage, since it rolls before.
func (r *loader) overflow(next int64) int64 {
	if r.ours {
		return 0
	}
	return next
}

// split puts several segments in the place of the i-th, whose offsets are too far from its base, and returns
// their number. The way is that of a compaction, so that a crash leaves the old segment or the new ones:
//
//   - What is .cleaned is worth nothing. The aborted transactions are in it already: a later load may have no
//     reason to look for them.
//   - When those names are durable, the new segments get .swap, the lowest last. When that is, they are what
//     counts, and tidy goes on from there after a crash.
//   - The old one gets .deleted. When that is durable, the new ones get their names.
func (r *loader) split(i int) (n int, err error) {
	old := r.segs[i]
	parts, err := r.splitInto(i)
	if err != nil {
		return 0, fmt.Errorf("split segment %d: %w", old.BaseOffset(), err)
	}
	bases := make([]int64, len(parts))
	for j, p := range parts {
		bases[j] = p.BaseOffset()
	}
	r.info("segment is split: its offsets are too far from its base", "base", old.BaseOffset(), "into", bases)
	r.report.Split = append(r.report.Split, Split{BaseOffset: old.BaseOffset(), Into: bases})
	if err := r.replace(old, parts); err != nil {
		return 0, fmt.Errorf("split segment %d: %w", old.BaseOffset(), err)
	}
	if old.BaseOffset() < bases[0] {
		r.dropped = append(r.dropped, old.BaseOffset())
	}
	r.segs = slices.Delete(r.segs, i, i+1)
	for j, base := range bases {
		next := int64(math.MaxInt64)
		if j+1 < len(bases) {
			next = bases[j+1]
		} else if i+j < len(r.segs) {
			next = r.segs[i+j].BaseOffset()
		}
		s, err := r.openSegment(place{base, segment.Live}, next, true)
		if err != nil {
			return 0, err
		}
		r.segs = slices.Insert(r.segs, i+j, s)
	}
	return len(bases), nil
}

// splitInRepair is split before recovery, which splits by itself what it comes to. Kafka splits in both places,
// and here loads what it got anew, unless the first part has another base offset than the old segment: then
// that stays, and recovery splits it once more.
func (r *loader) splitInRepair(i int) (n int, err error) {
	first, _, err := r.segs[i].Find(r.segs[i].BaseOffset())
	if err != nil && !isDamage(err) {
		return 0, err
	}
	if i >= r.firstUnsynced() && first.BaseOffset != r.segs[i].BaseOffset() {
		return 1, nil
	}
	return r.split(i)
}

// partCount is how far the last part of a segment that was split has come to its next index entry. Kafka goes
// on with the parts that it has written, and does not begin to count anew as it does after a restart.
type partCount struct{ base, sinceEntry int64 }

// count notes that of a part.
func (r *loader) count(part *segment.Segment) (err error) {
	r.counted.base = part.BaseOffset()
	r.counted.sinceEntry, err = part.SinceEntry()
	return err
}

// splitInto makes the segments that are to be put in the place of the i-th.
func (r *loader) splitInto(i int) ([]*segment.Segment, error) {
	if err := r.producersTo(i); err != nil {
		return nil, err
	}
	defer func() { r.temp = nil }() // what comes next finds them on disk
	return r.segs[i].Split(r.ctx, segment.SplitOptions{
		Seen: func(b segment.Batch, bytes []byte, dst []index.AbortedTxn) ([]index.AbortedTxn, error) {
			return r.seeProducer(b, bytes, dst)
		},
	})
}

// replace puts parts, which are .cleaned, in the place of old, whose records they have.
func (r *loader) replace(old *segment.Segment, parts []*segment.Segment) error {
	if err := r.complete(parts); err != nil {
		return errors.Join(err, abandon(parts...))
	}
	for i, p := range parts {
		if err := p.Close(); err != nil {
			return errors.Join(err, abandon(parts[i+1:]...))
		}
	}
	if err := r.discard(old); err != nil {
		return err
	}
	if err := r.fsys.SyncDir(r.Dir()); err != nil {
		return err
	}
	entries, err := r.fsys.ReadDir(r.Dir())
	if err != nil {
		return err
	}
	return r.unswap(list(entries).swapped)
}

// complete makes parts, which are .cleaned, what counts.
func (r *loader) complete(parts []*segment.Segment) error {
	lowest, others := parts[0], parts[1:]
	if err := r.fsys.SyncDir(r.Dir()); err != nil {
		return err
	}
	for _, p := range slices.Backward(others) {
		if err := p.Rename(segment.Swap); err != nil {
			return err
		}
	}
	if len(others) > 0 {
		if err := r.fsys.SyncDir(r.Dir()); err != nil {
			return err
		}
	}
	if err := lowest.Rename(segment.Swap); err != nil {
		return err
	}
	return r.fsys.SyncDir(r.Dir())
}
