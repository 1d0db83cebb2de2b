package segment

import "github.com/stratalog/strata/codec"

// Damage is a stretch of a file that is not what was written.
type Damage struct {
	Path        string
	Pos, Size   int64 // the bytes that are lost, [Pos, Pos+Size)
	FirstOffset int64 // the offsets that are lost, [FirstOffset, NextOffset); −1 where nothing tells
	NextOffset  int64
	Err         error // an *fsio.PosError, with codec.ErrCorrupt or index.ErrCorrupt inside
}

// damaged is where the damage begins that a step has met.
func (w *walker) damaged() int64 {
	if w.bad {
		return w.last.Pos
	}
	return w.pos
}

// lost is the first offset that the damage may have held, or codec.NoOffset.
func (w *walker) lost() int64 {
	if w.bad {
		return w.before
	}
	return w.offset
}

// skip goes on behind the damage that a step has met, and returns where that begins. What comes next is a
// batch that verifies and whose offsets are above those before the damage, or the end.
func (w *walker) skip() (from int64, err error) {
	from, w.offset = w.damaged(), w.lost()
	next := w.end
	if w.bad {
		next = w.last.End()
	}
	w.pos = w.end
	if ok, err := w.goesOn(next); err != nil {
		return from, err
	} else if ok {
		w.pos = next
	}
	w.last, w.verified, w.bad = Batch{}, false, false
	return from, nil
}

// goesOn reports whether a batch at pos is what comes behind a damage.
func (w *walker) goesOn(pos int64) (bool, error) {
	if pos >= w.end {
		return pos == w.end, nil
	}
	b, err := w.peek(pos)
	if err == nil && first(b) >= w.offset && w.seg.fits(b.LastOffset) {
		_, err = w.verify(b)
	} else if err == nil {
		return false, nil
	}
	if err != nil && isDamage(err) {
		return false, nil
	}
	return err == nil, err
}

// behind is skip, and tells of the damage, which err says is there.
func (w *walker) behind(err error) (Damage, error) {
	d := Damage{Path: w.seg.path(LogExt), FirstOffset: w.lost(), NextOffset: codec.NoOffset, Err: err}
	from, failed := w.skip()
	if failed != nil {
		return Damage{}, failed
	}
	d.Pos, d.Size = from, w.pos-from
	if w.pos < w.end {
		if b, err := w.peek(w.pos); err == nil {
			d.NextOffset = first(b)
		}
	}
	return d, nil
}
