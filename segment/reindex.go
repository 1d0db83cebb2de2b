package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
)

// Reindex builds the indexes anew from the batches, and changes no batch. What cannot be read is an
// *fsio.PosError.
//
//   - Where batches are damaged, the first damage is the error, and the indexes are built of all others.
//   - The index of aborted transactions stays as it is: see RecoverOptions.Seen.
func (s *Segment) Reindex(ctx context.Context) error {
	if err := s.changeable(); err != nil {
		return err
	}
	set, err := s.log.acquire()
	if err != nil {
		return err
	}
	defer set.release()
	w := s.blocks(set.value, 0, s.Size(), s.base)
	defer w.free()
	x := s.newEntries()
	var damage error
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		b, _, err := w.nextVerified()
		switch {
		case errors.Is(err, io.EOF):
			return errors.Join(damage, s.putIndexes(x), s.renewSum())
		case err == nil:
			x.take(b)
		case !isDamage(err):
			return err
		default:
			if damage == nil {
				damage = err
			}
			if _, err := w.skip(); err != nil {
				return err
			}
		}
	}
}

// adder is the part of an Index that entries are added to.
type adder interface {
	Append(e index.Entry) error
	At(i int) index.Entry
	Len() int
}

// list is an adder in memory.
type list []index.Entry

func (l *list) Append(e index.Entry) error {
	*l = append(*l, e)
	return nil
}

func (l *list) At(i int) index.Entry { return (*l)[i] }

func (l *list) Len() int { return len(*l) }

// entries are the indexes of a segment while they are built anew: in memory, so that nothing is changed
// before all is read.
type entries struct {
	seg          *Segment
	sparse       sparse
	offset, time list
}

func (s *Segment) newEntries() *entries { return &entries{seg: s, sparse: s.sparseFrom(0)} }

// take takes the next batch. The indexes have no room for offsets that are too far from the base.
func (x *entries) take(b Batch) {
	if x.seg.fits(b.LastOffset) && x.sparse.take(&b.Header, b.Pos) {
		// A list takes every entry.
		_ = x.seg.addEntries(&x.offset, &x.time, x.sparse.max, index.Entry{Key: b.LastOffset, Value: b.Pos})
	}
}

// putIndexes makes x the segment's indexes, with the last time entry.
func (s *Segment) putIndexes(x *entries) error {
	_ = addTime(&x.time, x.sparse.max) // a list takes every entry
	for _, f := range []struct {
		*indexFile
		entries list
		to      **lenient
	}{{&s.offset, x.offset, &s.w.offset}, {&s.time, x.time, &s.w.time}} {
		opened, err := s.putIndex(f.indexFile, f.entries)
		if err != nil {
			return err
		}
		if opened != nil && !s.sealed.Load() {
			*f.to = &lenient{Index: opened, file: f.indexFile}
		}
	}
	size := s.Size()
	s.stamps.set(x.sparse.max)
	s.w.sparse = s.sparseFrom(size)
	s.w.sparse.max = x.sparse.max
	return nil
}

// putIndex makes entries those of f, in a file of its own, unless they are: then nothing is written, and
// opened is nil.
func (s *Segment) putIndex(f *indexFile, entries list) (opened index.Index, err error) {
	if same, err := f.holds(entries); same || err != nil {
		return nil, err
	}
	if err := s.dropSum(); err != nil {
		return nil, err
	}
	f.doWithout(fmt.Errorf("%s is being built anew: %w", s.path(f.extension), index.ErrCorrupt))
	if err := errors.Join(f.close(), s.removeFiles(f.extension)); err != nil {
		return nil, err
	}
	opened, err = s.openIndex(f, false)
	if err != nil {
		return nil, err
	}
	sealed := s.sealed.Load()
	for i := 0; i < len(entries) && err == nil; i++ {
		err = opened.Append(entries[i])
	}
	if err == nil && sealed {
		err = opened.Seal()
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	if _, err := f.replace(opened, !sealed); err != nil {
		return nil, err
	}
	f.fault.Store(nil)
	return opened, nil
}

// holds reports whether the entries of f are those given.
func (f *indexFile) holds(entries list) (bool, error) {
	l, err := f.use()
	if l == nil || err != nil {
		return false, err
	}
	defer l.release()
	if l.value.Len() != len(entries) {
		return false, nil
	}
	for i, e := range entries {
		if l.value.At(i) != e {
			return false, nil
		}
	}
	return true, nil
}

// dropAborted drops the aborted transactions whose markers are at offset or above.
func (s *Segment) dropAborted(offset int64) error {
	txn, err := s.txn.acquire()
	if errors.Is(err, index.ErrCorrupt) { // it stays, with nothing in it, as Kafka's does
		f, err := s.fsys.OpenFile(s.path(TxnIndexExt), os.O_RDWR|os.O_TRUNC, 0)
		if err != nil {
			return err
		}
		return f.Close()
	}
	if err != nil {
		return err
	}
	defer txn.release()
	return txn.value.Truncate(offset)
}

// putAborted makes ts the aborted transactions of the segment.
func (s *Segment) putAborted(ts []index.AbortedTxn) error {
	if same, err := s.hasAborted(ts); same || err != nil {
		return err
	}
	defer s.unsure.Store(true)
	if err := errors.Join(s.dropSum(), s.dropAborted(codec.NoOffset)); err != nil {
		return err
	}
	if len(ts) == 0 {
		return nil
	}
	txn, err := s.txn.acquire()
	if err != nil {
		return err
	}
	defer txn.release()
	for _, t := range ts {
		if err := txn.value.Append(t); err != nil {
			return err
		}
	}
	return nil
}

// hasAborted reports whether ts are the aborted transactions of the segment.
func (s *Segment) hasAborted(ts []index.AbortedTxn) (bool, error) {
	txn, err := s.txn.acquire()
	if err != nil {
		if errors.Is(err, index.ErrCorrupt) {
			err = nil
		}
		return false, err
	}
	defer txn.release()
	n := txn.value.Len()
	for i := 0; i < n && n == len(ts); i++ {
		if txn.value.At(i) != ts[i] {
			return false, nil
		}
	}
	return n == len(ts), nil
}
