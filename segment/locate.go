package segment

import (
	"errors"
	"fmt"
	"io"

	"github.com/stratalog/strata/codec"
)

// place is where an offset was looked for, and what is there.
type place struct {
	ok    bool  // there is a batch with the offset or a later one
	batch Batch // the first such
	from  int64 // its position; where damage lies before it that may hold the offset, the position of that
	err   error // that damage

	lowest int64 // below which no batch from there on has a record; codec.NoOffset where that is not known
}

// there reports whether a read of the offset has something to begin with.
func (p place) there() bool { return p.ok || p.err != nil }

// locate looks for the first batch up to end that has a LastOffset of offset or more.
func (s *Segment) locate(set MessageSet, offset, end int64) (place, error) {
	w, err := s.walkTo(set, offset, end)
	if err != nil {
		return place{}, err
	}
	defer w.free()
	var gap place // damage since the last batch below offset
	lowest := codec.NoOffset
	if w.pos == 0 {
		lowest = s.base
	}
	for {
		b, err := w.next()
		switch {
		case errors.Is(err, io.EOF):
			return gap, nil
		case err != nil && isDamage(err):
			from, failed := w.skip()
			if failed != nil {
				return place{}, failed
			}
			gap = place{from: from, err: err, lowest: codec.NoOffset}
		case err != nil:
			return place{}, err
		case b.LastOffset < lowest || b.Pos == 0 && first(b) < s.base: // its base offset is damaged
			gap = place{from: b.Pos, err: s.damage(b.Pos, fmt.Errorf("offset %d behind %d: %w", b.LastOffset, lowest-1, ErrOffsets)), lowest: lowest}
		case b.LastOffset < offset:
			gap, lowest = place{}, b.NextOffset()
		case gap.err != nil && first(b) > offset:
			gap.ok, gap.batch = true, b
			return gap, nil
		default:
			at := place{ok: true, lowest: lowest}
			at.batch, err = w.latest(b, offset)
			if at.from = at.batch.Pos; at.from != b.Pos {
				at.lowest = codec.NoOffset
			}
			return at, err
		}
	}
}

// latest is the last batch that has offset, of those from b on that have it. A follower takes batches that
// overlap, and the search of Kafka 4.4 begins with the last one whose base offset is not above offset. No checksum
// covers a base offset: one that is damaged may so hide the end of the batch before it from a read that begins there,
// as in Kafka, but not from one that begins at that batch.
func (w *walker) latest(b Batch, offset int64) (Batch, error) {
	for b.BaseOffset != codec.NoOffset && b.BaseOffset < offset && b.End() < w.end {
		next, err := w.peek(b.End())
		switch {
		case err != nil:
			return b, damageIsNone(err)
		case next.BaseOffset == codec.NoOffset || next.BaseOffset > offset || next.LastOffset <= b.LastOffset:
			return b, nil
		}
		b = next
	}
	return b, nil
}

// walkTo returns a walker that stands at or before the first batch with a LastOffset of offset or more, as
// near as the offset index leads. What the index says is checked, since it may be stale or damaged.
func (s *Segment) walkTo(set MessageSet, offset, end int64) (walker, error) {
	w := s.headers(set, 0, end)
	x, err := s.offset.use()
	if err != nil {
		w.free()
		return walker{}, err
	}
	if x == nil {
		return w, nil
	}
	e, ok := x.value.Lookup(offset)
	x.release()
	if !ok || e.Value < 0 || e.Value >= end {
		return w, nil
	}
	w.pos = e.Value
	switch b, err := w.peek(w.pos); {
	case err != nil && !isDamage(err):
		w.free()
		return walker{}, err
	case err != nil || !w.leads(b, offset):
		w.pos = 0
	}
	return w, nil
}

// leads reports whether an index entry that was found for offset leads to a batch, b, before which no batch
// has offset. The key of an entry is
//
//   - the last offset of the batch, since Kafka 3.9.1;
//   - from 2.0 on the last offset of the append that the batch began, which may lie beyond the batch;
//   - before, the first offset of that append, of which a truncation may have left an entry whose place
//     another batch has taken since.
func (w *walker) leads(b Batch, offset int64) bool {
	switch {
	case b.LastOffset <= offset:
		return b.LastOffset >= w.seg.base
	case b.BaseOffset != codec.NoOffset:
		return b.BaseOffset <= offset
	}
	low, ok := w.lowest(b)
	return ok && low <= offset
}

// lowest is the offset of the first record of b, a wrapper, whose header tells the last one only.
func (w *walker) lowest(b Batch) (offset int64, ok bool) {
	p, err := w.bytes(b)
	if err != nil {
		return 0, false
	}
	for r, err := range w.seg.parts.Codec.Records(p) {
		return r.Offset, err == nil
	}
	return 0, false
}
