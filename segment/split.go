package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
)

// SplitOptions say how to split.
type SplitOptions struct {
	// Seen is called with each batch that is copied, in order, with bytes that are valid until it returns,
	// and returns the aborted transactions that the batch ends, which are in dst or added to it. They become
	// the indexes of aborted transactions. Without Seen there are none.
	Seen func(b Batch, bytes []byte, dst []index.AbortedTxn) ([]index.AbortedTxn, error)
}

// Split copies a segment whose offsets are too far from its base (KAFKA-6264) into segments whose are not,
// and leaves it as it is.
//
//   - Each is named by the first offset of its first batch, and takes batches as long as their offsets fit.
//   - Together they have the same bytes, damage included, which stays behind the batch that it is behind.
//   - They are in the state Cleaned, sealed and synced, with indexes as an append makes them, and have the
//     ModTime of s.
//   - With an error nothing is left of them.
//
// To put them in the place of s is the caller's: rename them to Swap, that with the lowest base offset last.
func (s *Segment) Split(ctx context.Context, o SplitOptions) ([]*Segment, error) {
	set, err := s.log.acquire()
	if err != nil {
		return nil, err
	}
	defer set.release()
	x := splitter{seg: s, o: o, from: set.value, next: s.base}
	err = x.copy(ctx)
	if err == nil {
		err = x.finish()
	}
	if err == nil {
		return x.pieces, nil
	}
	for _, p := range x.pieces {
		err = errors.Join(err, p.Remove())
	}
	return nil, err
}

// splitBytes is about how many bytes a Split writes at a time, as Kafka.
const splitBytes = 1 << 20

// splitter is a Split at work.
type splitter struct {
	seg    *Segment
	o      SplitOptions
	from   io.ReaderAt
	pieces []*Segment
	next   int64 // behind the last batch

	copied  int64          // up to which position pieces have the bytes, those waiting included
	waiting []byte         // batches that are to be written to the last piece
	headers []codec.Header // of those
	aborted []index.AbortedTxn
}

// copy copies all batches, and what lies between them.
func (x *splitter) copy(ctx context.Context) error {
	s := x.seg
	w := s.blocks(x.from, 0, s.Size(), s.base)
	defer w.free()
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		b, err := w.nextInOrder()
		switch {
		case errors.Is(err, io.EOF):
			return x.damage(w.end)
		case err == nil:
			err = x.batch(&w, b)
		case isDamage(err):
			if _, err = w.skip(); err == nil {
				err = x.damage(w.pos)
			}
		}
		if err != nil {
			return err
		}
	}
}

// batch copies b, which w has come to, in a piece of its own where it does not fit into the last one.
func (x *splitter) batch(w *walker, b Batch) error {
	if len(x.pieces) == 0 || !x.last().fits(b.LastOffset) {
		if err := x.begin(x.lowest(w, b)); err != nil {
			return err
		}
	}
	bytes, err := w.bytes(b)
	if err != nil {
		return err
	}
	if len(x.waiting) > 0 && len(x.waiting)+b.Size > splitBytes {
		if err := x.flush(); err != nil {
			return err
		}
	}
	x.waiting, x.headers, x.copied = append(x.waiting, bytes...), append(x.headers, b.Header), b.End()
	x.next = b.NextOffset()
	return x.see(b, bytes)
}

// lowest is the offset of the first record of b, or, where a wrapper tells none that can be, of the last.
func (x *splitter) lowest(w *walker, b Batch) int64 {
	if b.BaseOffset != codec.NoOffset {
		return b.BaseOffset
	}
	if low, ok := w.lowest(b); ok && low >= x.next && b.LastOffset-low <= maxRelative {
		return low
	}
	return b.LastOffset
}

// see asks Seen about b.
func (x *splitter) see(b Batch, bytes []byte) error {
	if x.o.Seen == nil {
		return nil
	}
	var err error
	if x.aborted, err = x.o.Seen(b, bytes, x.aborted[:0]); err != nil {
		return err
	}
	for _, t := range x.aborted {
		if err := x.last().AppendAborted(t); err != nil {
			return err
		}
	}
	return nil
}

// last is the piece that is being written.
func (x *splitter) last() *Segment { return x.pieces[len(x.pieces)-1] }

// begin begins a piece.
func (x *splitter) begin(base int64) error {
	if err := x.flush(); err != nil {
		return err
	}
	s := x.seg
	s.names.RLock()
	dir := s.names.dir
	s.names.RUnlock()
	o := s.o
	o.State, o.Sealed, o.Check, o.Preallocate, o.SegmentBytes, o.SinceEntry = Cleaned, false, false, false, max(s.Size(), 1), 0
	p := newSegment(s.fsys, s.parts, dir, base, o)
	if err := errors.Join(p.removeFiles(LogExt, SumExt), p.create()); err != nil {
		return fmt.Errorf("segment %d%s: %w", base, Cleaned, err)
	}
	x.pieces = append(x.pieces, p)
	return nil
}

// flush writes what is waiting.
func (x *splitter) flush() error {
	if len(x.waiting) == 0 {
		return nil
	}
	_, err := x.last().Append(x.waiting, x.headers)
	x.waiting, x.headers = x.waiting[:0], x.headers[:0]
	return err
}

// damage copies the bytes up to the position to as they are. Those before the first batch are in a piece with
// the segment's own name.
func (x *splitter) damage(to int64) error {
	if err := x.flush(); err != nil || x.copied >= to {
		return err
	}
	if len(x.pieces) == 0 {
		if err := x.begin(x.seg.base); err != nil {
			return err
		}
	}
	for x.copied < to {
		p := make([]byte, min(to-x.copied, splitBytes))
		n, err := x.from.ReadAt(p, x.copied)
		if n < len(p) {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return x.seg.readErr(x.copied, err)
		}
		if err := x.last().appendDamage(p); err != nil {
			return err
		}
		x.copied += int64(n)
	}
	return nil
}

// finish makes the pieces what they are to be.
func (x *splitter) finish() error {
	modified, err := x.seg.ModTime()
	if err != nil {
		return err
	}
	size := int64(0)
	for _, p := range x.pieces {
		if err := errors.Join(p.Seal(), p.Sync(), p.SetModTime(modified)); err != nil {
			return err
		}
		size += p.Size()
	}
	if size != x.seg.Size() {
		return fmt.Errorf("segment %d: %d bytes of %d are in its parts: %w", x.seg.base, size, x.seg.Size(), fs.ErrInvalid)
	}
	return nil
}

// appendDamage appends bytes that are no batches.
func (s *Segment) appendDamage(p []byte) error {
	pos, err := s.w.set.Append(p)
	if err != nil {
		return err
	}
	s.next.Store(unknown)
	s.size.Store(pos + int64(len(p)))
	return nil
}
