package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// Verify yields all damage in the segment's files, in order, and goes on behind each. It looks at every
// batch and its records, at every index entry, at the fields that no checksum covers (by their neighbours
// and the index), and at .sum where it is there. It changes nothing. An error other than damage is yielded
// last, without a Damage.
//
//   - The order is that of the files, LogExt, IndexExt, TimeIndexExt, TxnIndexExt, and of the positions.
//     What only .sum tells comes behind all that.
//   - An index that is missing, or in whose place something lies that is no file, is no damage: see IndexErr.
func (s *Segment) Verify(ctx context.Context) iter.Seq2[Damage, error] {
	return s.VerifyWith(ctx, VerifyOptions{})
}

// VerifyOptions say how to verify. The zero value looks at everything.
type VerifyOptions struct {
	Shallow bool // pass over the records inside of batches, and inflate nothing

	// Seen is told of each good batch, in order, and of its bytes, which are valid until it returns. Its
	// error ends the verification.
	Seen func(b Batch, bytes []byte) error
}

// VerifyWith is Verify with options. What Seen is told of comes in the order of the damage in the log: what
// lies before a batch was yielded before.
func (s *Segment) VerifyWith(ctx context.Context, o VerifyOptions) iter.Seq2[Damage, error] {
	return func(yield func(Damage, error) bool) {
		v := verifier{seg: s, o: o, yield: yield, epoch: codec.NoLeaderEpoch}
		if err := v.run(ctx); err != nil && !errors.Is(err, errStopped) {
			yield(Damage{}, err)
		}
	}
}

// errStopped says that nobody wants to hear of more damage.
var errStopped = errors.New("stopped")

// verifier is a Verify at work.
type verifier struct {
	seg     *Segment
	o       VerifyOptions
	yield   func(Damage, error) bool
	end     int64
	epoch   int32 // the last one
	indexes []*indexCheck
	damages []Damage // that were told of, without their errors
}

// run verifies the log, with the indexes beside it, and tells of damage in those afterwards.
func (v *verifier) run(ctx context.Context) error {
	set, err := v.seg.log.acquire()
	if err != nil {
		return err
	}
	defer set.release()
	defer func() {
		for _, x := range v.indexes {
			x.close()
		}
	}()
	for _, check := range []struct {
		*indexFile
		judge
	}{{&v.seg.offset, &offsetJudge{}}, {&v.seg.time, &timeJudge{max: codec.NoTimestamp, before: codec.NoTimestamp}}} {
		if err := v.openIndex(check.indexFile, check.judge); err != nil {
			return err
		}
	}
	v.end = v.seg.Size()
	if err := v.batches(ctx, set.value); err != nil {
		return err
	}
	for _, x := range v.indexes {
		if err := x.finish(v); err != nil {
			return err
		}
	}
	if err := v.txn(); err != nil {
		return err
	}
	return v.sums()
}

// tell yields d.
func (v *verifier) tell(d Damage) error {
	if !v.yield(d, nil) {
		return errStopped
	}
	d.Err = nil
	v.damages = append(v.damages, d)
	return nil
}

// told reports whether a damage that was told of lies in the given stretch.
func (v *verifier) told(path string, pos, size int64) bool {
	return slices.ContainsFunc(v.damages, func(d Damage) bool {
		return d.Path == path && d.Pos < pos+size && pos < d.Pos+max(1, d.Size)
	})
}

// batches verifies the log.
func (v *verifier) batches(ctx context.Context, set io.ReaderAt) error {
	w := v.seg.blocks(set, 0, v.end, v.seg.base)
	defer w.free()
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		b, bytes, err := w.nextVerified()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			if err := v.batch(&w, b, bytes); err != nil {
				return err
			}
		case !isDamage(err):
			return err
		default:
			d, err := w.behind(err)
			if err != nil {
				return err
			}
			for _, x := range v.indexes {
				x.damaged(d.Pos, w.pos)
			}
			if err := v.tell(d); err != nil {
				return err
			}
		}
	}
}

// batch looks at what a checksum that fits does not tell.
func (v *verifier) batch(w *walker, b Batch, bytes []byte) error {
	why := v.records(b, bytes)
	if why == nil {
		var err error
		if why, err = v.oddEpoch(w, b); err != nil {
			return err
		}
	}
	for _, x := range v.indexes {
		x.take(v.seg, b, w.before)
	}
	switch {
	case why == nil && v.o.Seen != nil:
		return v.o.Seen(b, bytes)
	case why == nil:
		return nil
	}
	return v.tell(Damage{
		Path: v.seg.path(LogExt), Pos: b.Pos, Size: int64(b.Size),
		FirstOffset: first(b), NextOffset: b.NextOffset(), Err: v.seg.damage(b.Pos, why),
	})
}

// records is what is wrong with the records of b, or nil.
func (v *verifier) records(b Batch, bytes []byte) error {
	if v.o.Shallow {
		return nil
	}
	for r, err := range v.seg.parts.Codec.Records(bytes) {
		if err != nil {
			return err
		}
		if r.Offset > b.LastOffset || b.BaseOffset != codec.NoOffset && r.Offset < b.BaseOffset {
			return fmt.Errorf("record %d in a batch of [%d, %d]: %w", r.Offset, b.BaseOffset, b.LastOffset, ErrOffsets)
		}
	}
	if inner, ok := v.seg.parts.Codec.(codec.InnerVerifier); ok {
		return inner.VerifyInner(bytes)
	}
	return nil
}

// oddEpoch is what is wrong with the leader epoch of b, which no checksum covers, or nil: alone between
// neighbours that agree, it is above or below both.
func (v *verifier) oddEpoch(w *walker, b Batch) (why, err error) {
	before := v.epoch
	switch {
	case b.LeaderEpoch == codec.NoLeaderEpoch || b.LeaderEpoch == before:
		return nil, nil
	case b.LeaderEpoch < 0:
		return fmt.Errorf("leader epoch %d: %w", b.LeaderEpoch, ErrEpoch), nil
	}
	v.epoch = b.LeaderEpoch
	if b.End() >= v.end {
		return nil, nil
	}
	behind, err := w.peek(b.End())
	if err != nil {
		if isDamage(err) {
			err = nil
		}
		return nil, err
	}
	after := behind.LeaderEpoch
	if after == codec.NoLeaderEpoch || after < before || before <= b.LeaderEpoch && b.LeaderEpoch <= after {
		return nil, nil
	}
	v.epoch = before
	return fmt.Errorf("leader epoch %d between %d and %d: %w", b.LeaderEpoch, before, after, ErrEpoch), nil
}

// txn looks at the index of aborted transactions.
func (v *verifier) txn() error {
	name := v.seg.path(TxnIndexExt)
	txn, err := index.OpenTxn(v.seg.fsys, name, v.seg.base)
	if fsio.NotAFile(err) {
		return nil
	}
	if err == nil {
		return txn.Close()
	}
	if !errors.Is(err, index.ErrCorrupt) {
		return err
	}
	return v.damagedIndex(name, err)
}

// damagedIndex tells of an index file that cannot be read as one, from where err says on.
func (v *verifier) damagedIndex(name string, err error) error {
	info, failed := v.seg.fsys.Stat(name)
	if failed != nil {
		return failed
	}
	d := Damage{Path: name, FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, Err: err}
	if at, ok := errors.AsType[*fsio.PosError](err); ok {
		d.Pos = at.Pos
	} else {
		d.Err = &fsio.PosError{Op: "verify", Path: name, Err: err}
	}
	d.Size = max(0, info.Size()-d.Pos)
	return v.tell(d)
}
