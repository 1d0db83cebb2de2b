package log

import (
	"context"
	"errors"
	"iter"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

// recordsBytes is what RecordsWith looks up at a time: so much that the look-ups do not count.
const recordsBytes = 4 << 20

// Records yields the records from offset from on. It is RecordsWith with the zero ReadOptions.
func (l *Log) Records(ctx context.Context, from int64) iter.Seq2[codec.Record, error] {
	return l.RecordsWith(ctx, from, ReadOptions{})
}

// RecordsWith yields the records from offset from on, to where the isolation ended when it came there.
//
//   - They are verified, in offset order, and valid until the next step; control records are left out, and
//     so are, with ReadCommitted, those of aborted transactions.
//   - A batch that is damaged is an error, with an *fsio.PosError inside, and goes to Events.Damaged. Going
//     on yields what is behind it.
//   - Any other error ends the iteration, ctx's among them.
func (l *Log) RecordsWith(ctx context.Context, from int64, o ReadOptions) iter.Seq2[codec.Record, error] {
	o.MaxBytes, o.Strict = recordsBytes, false
	return func(yield func(codec.Record, error) bool) {
		for {
			if err := ctx.Err(); err != nil {
				yield(codec.Record{}, err)
				return
			}
			s, err := l.ReadWith(from, o)
			if err != nil {
				yield(codec.Record{}, err)
				return
			}
			next, more := l.nextOf(s), s.Len() > 0
			if more {
				more = l.yieldSlice(s, yield)
			}
			if err := s.Close(); err != nil && more {
				yield(codec.Record{}, err)
				return
			}
			if next <= from { // nothing but damage, up to the end of a segment
				next = l.behindSegment(from)
			}
			if !more || next <= from {
				return
			}
			from = next
		}
	}
}

// nextOf is the offset to go on from behind s. A damaged batch may tell one that is behind the segment.
func (l *Log) nextOf(s *segment.Slice) int64 {
	if base, _, ok := s.Place(); ok {
		return min(s.NextOffset(), max(s.Offset(), l.behindSegment(base)))
	}
	return s.NextOffset()
}

// behindSegment is where the segment that offset lies in is followed by another, or the end.
func (l *Log) behindSegment(offset int64) int64 {
	v := l.view.Load()
	return v.next(v.floor(offset))
}

// yieldSlice yields the records of s. It reports whether to go on behind it.
func (l *Log) yieldSlice(s *segment.Slice, yield func(codec.Record, error) bool) bool {
	return s.Visit(yield, func(d *segment.Damage, err error) bool {
		if d != nil {
			l.tellDamage(*d)
		}
		return yield(codec.Record{}, err) && d != nil
	})
}

// isDamage reports whether err is about bytes that are not what was written.
func isDamage(err error) bool {
	for _, class := range []error{codec.ErrCorrupt, codec.ErrShort, codec.ErrMagic, codec.ErrTooLarge, codec.ErrCompression, codec.ErrInvalid} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// tellDamage counts and tells of damage.
func (l *Log) tellDamage(d segment.Damage) {
	l.counts.damages.Add(1)
	l.warn("damaged", d.Err)
	if tell := l.o.Events.Damaged; tell != nil {
		tell(Damage{Dir: l.Dir(), Damage: d})
	}
}
