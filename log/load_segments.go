package log

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

// openSegments opens the segments, the last one first: it tells whether the stop was clean, and that tells
// how closely to look at the indexes of the others.
func (r *loader) openSegments() error {
	places, err := r.places()
	if err != nil {
		return err
	}
	r.segs = make([]*segment.Segment, 0, len(places))
	for i, at := range slices.Backward(places) {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		last, next := i == len(places)-1, int64(math.MaxInt64)
		if !last {
			next = places[i+1].base
		}
		// The last one, too, as it is where it may have to be dropped: as in Kafka its indexes reserve space
		// when it is known that it is to be appended to.
		dubious := !r.resume.Clean || at.base < r.resume.StartOffset
		s, err := r.openSegment(at, next, !last || dubious || r.o.ReadOnly)
		if err != nil {
			return err
		}
		r.segs = append(r.segs, s)
		if last {
			if err := r.believeClean(s); err != nil {
				return err
			}
		}
	}
	slices.Reverse(r.segs)
	return nil
}

// openSegment opens the segment at a place, which the one at next follows.
func (r *loader) openSegment(at place, next int64, sealed bool) (*segment.Segment, error) {
	o := r.segmentOptions(sealed)
	o.State, o.Check = at.state, !r.resume.Clean || next == math.MaxInt64 && r.o.Resume == nil
	o.Overflow = r.overflow(next)
	s, err := segment.Open(r.fsys, r.parts, r.Dir(), at.base, o)
	if err != nil {
		return nil, fmt.Errorf("segment %d: %w", at.base, err)
	}
	return s, nil
}

// place is where a segment lies.
type place struct {
	base  int64
	state segment.State
}

// places are where the segments lie. A log that changes nothing reads those of complete compactions where
// they are, and passes over what they take the place of.
func (r *loader) places() ([]place, error) {
	var all []place
	x := swap{split: codec.NoOffset}
	if r.o.ReadOnly && len(r.list.swaps) > 0 {
		var err error
		if x, err = r.swap(); err != nil {
			return nil, err
		}
		for _, base := range r.list.swaps {
			all = append(all, place{base, segment.Swap})
		}
	}
	for _, base := range r.list.segments {
		if !x.replaces(base) {
			all = append(all, place{base, segment.Live})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.base, b.base) })
	return all, nil
}

// believeClean finds out whether the clean mark may be believed: where the log keeps its own checkpoint, only
// if the end is the one that it was written with; and nowhere, if the tail is damaged.
func (r *loader) believeClean(active *segment.Segment) error {
	if !r.resume.Clean {
		return nil
	}
	end, err := active.NextOffset()
	switch {
	case isDamage(err):
		r.resume.Clean = false
	case err != nil:
		return fmt.Errorf("segment %d: %w", active.BaseOffset(), err)
	case r.o.Resume == nil:
		s := r.was.slot
		// A truncation into a gap leaves an end above that of the last batch.
		r.resume.Clean = active.Size() == s.ActiveSize && end <= s.EndOffset
	}
	return nil
}
