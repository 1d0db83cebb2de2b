package segment

import (
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
)

// walker goes from batch to batch. It reads headers, and bytes where they are asked for.
type walker struct {
	*window
	seg *Segment

	pos    int64 // of the next batch
	offset int64 // below which the next batch has no record; codec.NoOffset where that is not known
	top    int64 // no batch has a record at or above it

	last     Batch // the one before; its Size is 0 where there was none
	before   int64 // offset as it was before last
	verified bool  // last is what was written
	bad      bool  // last is damaged
}

// headers returns a walker from pos to end that reads little: for look-ups.
func (s *Segment) headers(set io.ReaderAt, pos, end int64) walker {
	return walker{window: lookAt(set, end), seg: s, pos: pos, offset: codec.NoOffset, top: s.lastFitting() + 1}
}

// blocks returns a walker from pos to end that reads all, in large blocks. offset is the lowest that the
// first batch may have, or codec.NoOffset.
func (s *Segment) blocks(set io.ReaderAt, pos, end, offset int64) walker {
	return walker{window: scanOf(set, end), seg: s, pos: pos, offset: offset, top: s.lastFitting() + 1}
}

// next is the next batch by its header. At the end the error is io.EOF. A header that cannot be, or a batch
// that is cut off, is damage, if it is so after a second look; the batch before may be what led there.
func (w *walker) next() (Batch, error) {
	if w.pos >= w.end {
		return Batch{}, io.EOF
	}
	b, err := w.peek(w.pos)
	if err != nil && isDamage(err) {
		w.forget()
		if b, err = w.peek(w.pos); err != nil && isDamage(err) {
			return Batch{}, w.misled(err)
		}
	}
	if err != nil {
		return Batch{}, err
	}
	w.last, w.before, w.verified, w.bad = b, w.offset, false, false
	w.pos, w.offset = b.End(), b.NextOffset()
	return b, nil
}

// misled is err, which was met at pos, or what is wrong with the batch before, whose size led there.
func (w *walker) misled(err error) error {
	if w.last.Size == 0 || w.verified || w.bad {
		return err
	}
	if _, why := w.verify(w.last); why != nil {
		return why
	}
	return err
}

// nextInOrder is next, and judges the offsets. No checksum covers a base offset: the neighbours tell that one
// is damaged. Kafka's followers take batches that lie behind a gap or overlap, as long as the last offsets
// rise, and its recovery compares no offsets. So these are damage, and nothing else is:
//
//   - offsets that leave the segment's bounds: of all batches but the first only the last offset counts;
//   - a last offset below that of the batch before, which that batch cannot be blamed for;
//   - offsets behind a gap, if the last offset of the next batch goes back below theirs, and the batch has
//     room in the gap;
//   - offsets that touch neither neighbour and overlap one, if a single flipped bit explains both: without
//     it the batch begins where the one before ends, and ends where the next begins.
func (w *walker) nextInOrder() (Batch, error) {
	b, err := w.next()
	if err != nil {
		return Batch{}, err
	}
	err = w.order(b)
	switch {
	case err == nil:
		return b, nil
	case isDamage(err):
		w.bad = true
	}
	return Batch{}, err
}

func (w *walker) order(b Batch) error {
	if b.LastOffset >= w.top {
		over, err := w.overflows(b)
		if err != nil {
			return err
		}
		if over {
			w.top = w.seg.o.Overflow
		}
	}
	switch {
	case b.LastOffset < w.seg.base || b.LastOffset >= w.top || b.Pos == 0 && first(b) < w.seg.base:
		return w.seg.damage(b.Pos, fmt.Errorf("offsets [%d, %d] in segment %d: %w",
			b.BaseOffset, b.LastOffset, w.seg.base, ErrOffsets))
	case w.before == codec.NoOffset || first(b) == w.before || b.End() >= w.end && b.LastOffset >= w.before:
		return nil
	case b.LastOffset < w.before:
		return w.seg.damage(b.Pos, fmt.Errorf("offset %d behind %d: %w", first(b), w.before-1, ErrOffsets))
	}
	behind, err := w.peek(b.End())
	switch {
	case err != nil:
		return damageIsNone(err) // which is the next step's
	case !w.pushesBack(b, behind) && !w.flipped(b, behind):
		return nil
	}
	return w.seg.damage(b.Pos, fmt.Errorf("offsets [%d, %d] between %d and %d: %w",
		b.BaseOffset, b.LastOffset, w.before, first(behind), ErrOffsets))
}

// pushesBack reports whether the last offset of behind, the next batch, goes back below that of b, which has
// room before it.
func (w *walker) pushesBack(b, behind Batch) bool {
	return behind.LastOffset <= b.LastOffset && first(behind)-w.before > b.LastOffset-first(b)
}

// flipped reports whether one flipped bit of its base offset explains why b does not begin where the batch
// before ends, and end where behind, the next one, begins. Of a wrapper, whose last offset lies in that field,
// only the end tells.
func (w *walker) flipped(b, behind Batch) bool {
	shift := b.NextOffset() - first(behind)
	was := first(b) - shift
	return bits.OnesCount64(uint64(was^first(b))) == 1 &&
		(was == w.before || b.BaseOffset == codec.NoOffset && shift > 0 && was > w.before)
}

// overflows reports whether b, which is last and whose offsets are too far from the base, may have them all
// the same: it is what was written, and from there to the end of the segment, or up to a header that cannot
// be, the offsets go on rising and stay below Options.Overflow. No checksum covers a base offset: where a
// later batch is back within the bounds, it is damaged.
func (w *walker) overflows(b Batch) (bool, error) {
	s, limit := w.seg, w.seg.o.Overflow
	switch {
	case b.LastOffset <= s.lastFitting() || b.LastOffset >= limit:
		return false, nil
	case b.Pos >= s.over.Load():
		return true, nil
	}
	if _, err := w.verify(b); err != nil {
		return false, damageIsNone(err)
	}
	ahead := s.headers(w.from, b.End(), max(w.end, s.Size()))
	defer ahead.free()
	for last := b.LastOffset; ; {
		next, err := ahead.next()
		switch {
		case errors.Is(err, io.EOF) || err != nil && isDamage(err):
			s.over.Store(b.Pos)
			return true, nil
		case err != nil:
			return false, err
		case next.LastOffset <= last || next.LastOffset >= limit:
			return false, nil
		}
		last = next.LastOffset
	}
}

// nextVerified is nextInOrder, with the bytes, if they are what was written. Of a batch that is not, the
// header comes, too, where it can be read.
func (w *walker) nextVerified() (Batch, []byte, error) {
	b, err := w.nextInOrder()
	if err != nil {
		return Batch{}, nil, err
	}
	p, err := w.verify(b)
	return b, p, err
}

// verify are the bytes of b, which is last, if they are what was written. If they seem not to be, they are
// read once more before that is believed.
func (w *walker) verify(b Batch) (p []byte, err error) {
	for range 2 {
		if p, err = w.bytes(b); err != nil {
			return nil, err
		}
		if err = w.seg.parts.Codec.Verify(p); err == nil {
			w.verified = true
			return p, nil
		}
		w.forget()
	}
	w.bad = true
	return nil, w.seg.damage(b.Pos, err)
}

// bytes are those of b, valid until the next step.
func (w *walker) bytes(b Batch) ([]byte, error) {
	p, err := w.at(b.Pos, b.Size)
	if err == nil && len(p) < b.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, w.seg.readErr(b.Pos, err)
	}
	return p, nil
}

// peek is the batch at pos, by its header.
func (w *walker) peek(pos int64) (Batch, error) {
	head, err := w.at(pos, codec.MaxHeaderBytes)
	if err != nil {
		return Batch{}, w.seg.readErr(pos, err)
	}
	h, err := w.seg.parts.Codec.Header(head)
	if err != nil {
		return Batch{}, w.seg.damage(pos, err)
	}
	if left := w.end - pos; int64(h.Size) > left {
		return Batch{}, w.seg.damage(pos, fmt.Errorf("%d bytes of a batch of %d: %w", left, h.Size, codec.ErrShort))
	}
	return Batch{Header: h, Pos: pos}, nil
}

// first is the lowest offset that b is known to have: of a wrapper the header tells the last one only.
func first(b Batch) int64 {
	if b.BaseOffset == codec.NoOffset {
		return b.LastOffset
	}
	return b.BaseOffset
}

// damage says that the bytes at pos are not what was written.
func (s *Segment) damage(pos int64, err error) error {
	if !errors.Is(err, codec.ErrCorrupt) {
		err = fmt.Errorf("%w: %w", codec.ErrCorrupt, err)
	}
	return &fsio.PosError{Op: "verify", Path: s.path(LogExt), Pos: pos, Err: err}
}

// readErr says that the bytes at pos could not be read, which says nothing about them.
func (s *Segment) readErr(pos int64, err error) error {
	return &fsio.PosError{Op: "read", Path: s.path(LogExt), Pos: pos, Err: err}
}

// damageIsNone is err, or nil where it is damage.
func damageIsNone(err error) error {
	if isDamage(err) {
		return nil
	}
	return err
}

// isDamage tells damage from an error of reading.
func isDamage(err error) bool { return errors.Is(err, codec.ErrCorrupt) }
