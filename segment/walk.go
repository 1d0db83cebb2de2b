package segment

import (
	"errors"
	"fmt"
	"io"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
)

// walker goes from batch to batch. It reads headers, and bytes where they are asked for.
type walker struct {
	*window
	seg  *Segment
	pos  int64 // of the next batch
	last Batch // the one before; its Size is 0 where there was none
	bad  bool  // last was not what was written
}

// headers returns a walker from pos to end that reads little: for look-ups.
func (s *Segment) headers(set MessageSet, pos, end int64) walker {
	return walker{window: lookAt(set, end), seg: s, pos: pos}
}

// blocks returns a walker from pos to end that reads all in large blocks.
func (s *Segment) blocks(set io.ReaderAt, pos, end int64) walker {
	return walker{window: scanOf(set, end), seg: s, pos: pos}
}

// next is the batch at pos, and moves behind it. At the end the error is io.EOF. A header that cannot be,
// or a batch that is cut off, is a damage, and pos stays.
func (w *walker) next() (b Batch, err error) {
	if w.pos >= w.end {
		return Batch{}, io.EOF
	}
	if b, err = w.peek(); err != nil {
		return Batch{}, err
	}
	w.pos, w.last = b.End(), b
	return b, nil
}

// peek is the batch at pos.
func (w *walker) peek() (Batch, error) {
	head, err := w.at(w.pos, codec.MaxHeaderBytes)
	if err != nil {
		return Batch{}, w.seg.readErr(w.pos, err)
	}
	h, err := w.seg.parts.Codec.Header(head)
	if err != nil {
		return Batch{}, w.seg.damage(w.pos, err)
	}
	if left := w.end - w.pos; int64(h.Size) > left {
		return Batch{}, w.seg.damage(w.pos, fmt.Errorf("%d bytes of a batch of %d: %w", left, h.Size, codec.ErrShort))
	}
	return Batch{Header: h, Pos: w.pos}, nil
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

// verified are the bytes of b, if it is what was written. A batch that seems not to be is read once more
// before that is believed.
func (w *walker) verified(b Batch) ([]byte, error) {
	for again := false; ; again = true {
		p, err := w.bytes(b)
		if err != nil {
			return nil, err
		}
		err = w.seg.parts.Codec.Verify(p)
		if err == nil {
			return p, nil
		}
		if again {
			return p, w.seg.damage(b.Pos, err)
		}
		w.buf = w.buf[:0]
	}
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

// isDamage tells damage from an error of reading.
func isDamage(err error) bool { return errors.Is(err, codec.ErrCorrupt) }

// nextVerified is next, with the bytes, if they are what was written.
func (w *walker) nextVerified() (Batch, []byte, error) {
	b, err := w.next()
	if err != nil {
		return Batch{}, nil, err
	}
	p, err := w.verified(b)
	w.bad = err != nil
	return b, p, err
}
