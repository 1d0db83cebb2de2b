package segment

import (
	"errors"
	"io"

	"github.com/stratalog/strata/codec"
)

// Damage is a stretch of a file that is not what was written.
type Damage struct {
	Path        string
	Pos, Size   int64 // the bytes that are lost, [Pos, Pos+Size)
	FirstOffset int64 // the offsets that are lost, [FirstOffset, NextOffset); −1 where nothing tells
	NextOffset  int64
	Err         error // an *fsio.PosError, with codec.ErrCorrupt or index.ErrCorrupt inside
}

// lost is the damage to a batch whose header can be believed.
func (s *Segment) lost(b Batch, why error) Damage {
	return Damage{
		Path: s.path(LogExt), Pos: b.Pos, Size: int64(b.Size),
		FirstOffset: first(b), NextOffset: b.NextOffset(), Err: s.damage(b.Pos, why),
	}
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
// batch that is verified and fits those before the damage, or the end.
func (w *walker) skip() (from int64, err error) {
	from, w.offset = w.damaged(), w.lost()
	expect := codec.Expect{
		Offset: max(w.offset, w.seg.base),
		End:    max(w.top, w.seg.o.Overflow),
		Bytes:  w.end - from,
	}
	rest := io.NewSectionReader(w.from, from, w.end-from)
	damage, err := codec.NewScanner(w.seg.parts.Codec, rest, expect).Next()
	switch {
	case errors.Is(err, io.EOF): // the set was cut meanwhile
		w.pos = w.end
	case err != nil:
		return from, w.seg.readErr(from, err)
	default:
		w.pos = from + damage.Size
	}
	w.last, w.verified, w.bad = Batch{}, false, false
	return from, nil
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
