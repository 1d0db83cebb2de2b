package segment

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// indexCheck holds the entries of an index against the batches, side by side. It keeps what is wrong until
// the log is done.
type indexCheck struct {
	judge
	file    *indexFile
	name    string
	opened  index.Index // nil of an active segment: its own is asked, and held for one entry only
	at      int         // the next entry
	damages []Damage
	corrupt error // the file is no index
}

// judge says of one kind of entry whether it is right.
type judge interface {
	// due reports whether e is to be judged by b, or has been passed by it.
	due(e index.Entry, b Batch) bool
	// wrong is what is wrong with e, which is due at b. before is the offset behind the batch before b, or
	// codec.NoOffset.
	wrong(e index.Entry, b Batch, before int64) error
	// took notes b, when all entries that were due are judged.
	took(b Batch) error
	// past is what is wrong with e, which no batch was due for.
	past(e index.Entry) error
	// ended is what is wrong with the last entry, when all batches were taken.
	ended() error
	// damaged notes that the log is damaged between the positions from and to.
	damaged(from, to int64)
}

// openIndex begins to check x. That of an active segment is taken as it is in use, since its file may have
// entries behind the last one that were truncated; others are read anew, to check them in full.
func (v *verifier) openIndex(x *indexFile, j judge) error {
	check := &indexCheck{judge: j, file: x, name: v.seg.path(x.extension)}
	if !v.seg.sealed.Load() {
		l, err := x.use()
		if l == nil || err != nil {
			return err
		}
		l.release()
		v.indexes = append(v.indexes, check)
		return nil
	}
	o := v.seg.indexOptions(x, true)
	o.Check, o.ReadOnly = true, true
	opened, err := v.seg.parts.OpenIndex(v.seg.fsys, check.name, o)
	if errors.Is(err, index.ErrCorrupt) { // or who has it in use has sealed it meanwhile, which makes it shorter
		opened, err = v.seg.parts.OpenIndex(v.seg.fsys, check.name, o)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), fsio.NotAFile(err):
		return nil
	case errors.Is(err, index.ErrCorrupt):
		check.corrupt = err
	case err != nil:
		return err
	default:
		check.opened = opened
	}
	v.indexes = append(v.indexes, check)
	return nil
}

// close closes what it has opened.
func (x *indexCheck) close() {
	if x.opened != nil {
		_ = x.opened.Close() // it was only read
	}
}

// next is the next entry. ok is false where there is none.
func (x *indexCheck) next(s *Segment) (e index.Entry, ok bool) {
	if x.corrupt != nil {
		return index.Entry{}, false
	}
	if x.opened != nil {
		return x.nextOf(x.opened)
	}
	l, err := x.file.use()
	if l == nil || err != nil {
		return index.Entry{}, false // done without meanwhile
	}
	defer l.release()
	s.shorter.RLock()
	defer s.shorter.RUnlock()
	return x.nextOf(l.value)
}

func (x *indexCheck) nextOf(all index.Index) (e index.Entry, ok bool) {
	if x.at >= all.Len() {
		return index.Entry{}, false
	}
	return all.At(x.at), true
}

// take judges the entries that are due at b.
func (x *indexCheck) take(s *Segment, b Batch, before int64) {
	for {
		e, ok := x.next(s)
		if !ok || !x.due(e, b) {
			break
		}
		x.note(x.at, x.wrong(e, b, before))
		x.at++
	}
	x.note(x.at-1, x.took(b))
}

// note notes what is wrong with entry i, if anything is.
func (x *indexCheck) note(i int, why error) {
	if why == nil {
		return
	}
	size := int64(x.file.layout.EntryBytes())
	err := fmt.Errorf("entry %d: %w: %w", i, why, index.ErrCorrupt)
	x.damages = append(x.damages, Damage{
		Path: x.name, Pos: int64(i) * size, Size: size, FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset,
		Err: &fsio.PosError{Op: "verify", Path: x.name, Pos: int64(i) * size, Err: err},
	})
}

// finish tells of all that was wrong, and of entries that lead past the end.
func (x *indexCheck) finish(v *verifier) error {
	if x.corrupt != nil {
		return v.damagedIndex(x.name, x.corrupt)
	}
	info, err := v.seg.fsys.Stat(v.seg.path(LogExt))
	if err != nil {
		return err
	}
	if info.Size() <= v.end { // otherwise it has grown since its size was taken
		x.note(x.at-1, x.ended())
		for e, ok := x.next(v.seg); ok; e, ok = x.next(v.seg) {
			x.note(x.at, x.past(e))
			x.at++
		}
	}
	for _, d := range x.damages {
		if err := v.tell(d); err != nil {
			return err
		}
	}
	return nil
}

// errPast is what is wrong with an entry for something that the log does not have.
var errPast = errors.New("leads past the last batch")

// offsetJudge judges entries of an offset index. The key of one may be
//
//   - the last offset of the batch, since Kafka 3.9.1;
//   - from 2.0 on that of a later batch, which ended the append;
//   - before, the first offset of the batch, or one in the hole before it, where an append was that a
//     truncation has taken.
type offsetJudge struct {
	append   int64 // the key of an entry whose append has not ended yet
	open     bool
	from, to int64 // the last damage
}

func (*offsetJudge) due(e index.Entry, b Batch) bool { return e.Value <= b.Pos }

func (j *offsetJudge) damaged(from, to int64) {
	if from != j.to {
		j.from = from
	}
	j.to, j.open = to, false // the append may have ended there
}

func (j *offsetJudge) wrong(e index.Entry, b Batch, before int64) error {
	j.open = false
	switch {
	case j.lost(e):
		return nil
	case e.Value < b.Pos:
		return fmt.Errorf("position %d is not that of a batch", e.Value)
	case e.Key > b.LastOffset:
		j.append, j.open = e.Key, true
		return nil
	case e.Key == b.LastOffset, e.Key <= first(b) && e.Key >= before:
		return nil
	case b.BaseOffset == codec.NoOffset && e.Key >= before:
		return nil
	}
	return fmt.Errorf("offset %d for a batch of [%d, %d]", e.Key, b.BaseOffset, b.LastOffset)
}

func (j *offsetJudge) took(b Batch) error {
	if !j.open || b.LastOffset < j.append {
		return nil
	}
	j.open = false
	if b.LastOffset == j.append {
		return nil
	}
	return fmt.Errorf("offset %d is not the last of a batch", j.append)
}

// lost reports whether e leads into damage.
func (j *offsetJudge) lost(e index.Entry) bool { return j.from <= e.Value && e.Value < j.to }

func (j *offsetJudge) past(e index.Entry) error {
	if j.lost(e) {
		return nil
	}
	return errPast
}

func (j *offsetJudge) ended() error {
	if !j.open {
		return nil
	}
	return fmt.Errorf("offset %d is behind the last batch", j.append)
}

// timeJudge judges entries of a time index: no record up to the offset of one has a later timestamp, and
// one has it.
type timeJudge struct {
	max, before int64 // the largest timestamp so far, with and without the last batch
	blind       bool  // there may have been larger ones, in damage, or before batches lost their timestamps
}

func (j *timeJudge) due(e index.Entry, b Batch) bool {
	if e.Value > b.LastOffset {
		return false
	}
	j.max = max(j.before, b.MaxTimestamp)
	j.blind = j.blind || b.Magic == 0 // Kafka 0.10 indexed the timestamps before it converted to magic 0
	return true
}

func (j *timeJudge) past(index.Entry) error {
	if j.blind {
		return nil
	}
	return errPast
}

func (*timeJudge) ended() error { return nil }

func (j *timeJudge) damaged(int64, int64) { j.blind = true }

func (j *timeJudge) wrong(e index.Entry, b Batch, _ int64) error {
	switch {
	case e.Key < j.before, e.Value == b.LastOffset && e.Key < j.max:
		return fmt.Errorf("timestamp %d at offset %d, where %d came before", e.Key, e.Value, max(j.before, j.max))
	case e.Key > j.max && !j.blind:
		return fmt.Errorf("timestamp %d at offset %d, where %d is the largest", e.Key, e.Value, j.max)
	}
	return nil
}

func (j *timeJudge) took(b Batch) error {
	j.before = max(j.before, b.MaxTimestamp)
	return nil
}
