package segment

import (
	"math"

	"github.com/stratalog/strata/index"
)

// Truncate drops all batches with records at offset or above, whole, and the entries that lead to them. It
// returns the number of bytes dropped.
//
//   - A sealed segment is active again afterwards. Until then it waits for the look-ups in its indexes.
//   - Damage that may have held offset goes, too.
func (s *Segment) Truncate(offset int64) (int64, error) {
	if err := s.changeable(); err != nil {
		return 0, err
	}
	at, err := s.find(offset)
	if err != nil {
		return 0, err
	}
	size, cut := s.Size(), s.Size()
	if at.there() {
		cut = at.from
	}
	if err := s.reactivate(); err != nil {
		return 0, err
	}
	// The indexes first: an entry must not lead behind the end, also after a crash.
	if err := s.dropFrom(offset); err != nil {
		return 0, err
	}
	if err := s.cut(s.w.set, cut); err != nil {
		return 0, err
	}
	return size - cut, s.relearn(cut)
}

// reactivate opens a sealed segment to be appended to.
func (s *Segment) reactivate() error {
	if !s.sealed.Load() {
		return nil
	}
	if err := s.activate(); err != nil {
		return err
	}
	if err := s.activateIndexes(); err != nil {
		return err
	}
	s.sealed.Store(false)
	return nil
}

// dropFrom drops the entries of the indexes for offset and above.
func (s *Segment) dropFrom(offset int64) error {
	if x := s.w.offset; x != nil {
		if err := s.shorten(x, index.CountBelow(x, offset)); err != nil {
			return err
		}
	}
	if x := s.w.time; x != nil {
		if err := s.shorten(x, index.CountBelowValue(x, offset)); err != nil {
			return err
		}
	}
	txn, err := s.txn.acquire()
	if err != nil {
		return err
	}
	defer txn.release()
	err = txn.value.Truncate(offset)
	s.unsure.Store(true)
	return err
}

// shorten keeps the first n entries of x.
func (s *Segment) shorten(x index.Index, n int) error {
	s.shorter.Lock()
	defer s.shorter.Unlock()
	return x.Truncate(n)
}

// cut cuts the message set, after telling the slices that reach behind the cut.
func (s *Segment) cut(set MessageSet, size int64) error {
	if size == s.Size() {
		return nil
	}
	if err := s.dropSum(); err != nil {
		return err
	}
	old, next := s.era.Load(), &era{}
	old.cut = size
	old.next.Store(next)
	s.era.Store(next)
	s.size.Store(size)
	s.next.Store(unknown)
	s.over.Store(math.MaxInt64)
	if err := set.Truncate(size); err != nil {
		s.size.Store(set.Size())
		return err
	}
	return nil
}

// relearn finds out what is known of timestamps after a cut, and begins to count for the next index entry.
func (s *Segment) relearn(size int64) error {
	s.w.sparse = s.sparseFrom(size)
	if size == 0 {
		s.next.Store(s.base)
		s.stamps.set(noStamp)
		return nil
	}
	largest := noStamp
	if x := s.w.time; x != nil && x.Len() > 0 {
		last := x.At(x.Len() - 1)
		largest = stamp{last.Key, last.Value}
	}
	if s.stamps.told() || largest.timestamp >= 0 { // as in Kafka
		var err error
		if largest, err = s.scanMax(max(largest.offset, s.base), largest); err != nil {
			return err
		}
	}
	s.stamps.set(largest)
	s.w.sparse.max = largest
	return nil
}
