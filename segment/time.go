package segment

import (
	"errors"
	"io"
	"math"
	"sync"

	"github.com/stratalog/strata/codec"
)

// stamps are what is known of the timestamps in a segment.
type stamps struct {
	sync.Mutex
	maxKnown   bool
	max        stamp
	firstKnown bool
	first      int64
}

// grow notes the timestamps that an append has brought: the largest so far, and, if it began the segment,
// that of the first batch.
func (x *stamps) grow(largest stamp, first int64, begins bool) {
	x.Lock()
	defer x.Unlock()
	x.max, x.maxKnown = largest, true
	if begins {
		x.first, x.firstKnown = first, true
	}
}

// set puts what is known in place of what was.
func (x *stamps) set(largest stamp) {
	x.Lock()
	defer x.Unlock()
	x.max, x.maxKnown, x.firstKnown = largest, true, false
}

// told reports whether a largest timestamp was found out.
func (x *stamps) told() bool {
	x.Lock()
	defer x.Unlock()
	return x.maxKnown && x.max.timestamp >= 0
}

// FirstTimestamp is the largest timestamp of the first batch, from which a segment's age is counted, or
// NoTimestamp.
func (s *Segment) FirstTimestamp() (int64, error) {
	s.stamps.Lock()
	defer s.stamps.Unlock()
	if s.stamps.firstKnown {
		return s.stamps.first, nil
	}
	set, err := s.log.acquire()
	if err != nil {
		return 0, err
	}
	defer set.release()
	w := s.headers(set.value, 0, s.Size())
	defer w.free()
	switch first, err := w.next(); {
	case errors.Is(err, io.EOF):
		return codec.NoTimestamp, nil
	case err != nil:
		return 0, err
	default:
		s.stamps.first, s.stamps.firstKnown = first.MaxTimestamp, true
		return first.MaxTimestamp, nil
	}
}

// MaxTimestamp is the largest timestamp in the segment, as the time index and what was appended since Open
// tell, and the offset that goes with it: the last one of the first batch with that timestamp. Without
// timestamps both are −1.
//
// What it told stays: a Truncate before the first call, or the first append, leaves what the time index tells
// then, as in Kafka, otherwise what the records tell.
func (s *Segment) MaxTimestamp() (timestamp, offset int64, err error) {
	largest, err := s.learnMax()
	return largest.timestamp, largest.offset, err
}

// learnMax is what MaxTimestamp tells.
func (s *Segment) learnMax() (stamp, error) {
	s.stamps.Lock()
	defer s.stamps.Unlock()
	largest, err := s.maxStamp()
	if err == nil {
		s.stamps.max, s.stamps.maxKnown = largest, true
	}
	return largest, err
}

// PeekMaxTimestamp is what MaxTimestamp would tell, and leaves no trace.
func (s *Segment) PeekMaxTimestamp() (timestamp, offset int64, err error) {
	s.stamps.Lock()
	defer s.stamps.Unlock()
	largest, err := s.maxStamp()
	return largest.timestamp, largest.offset, err
}

// KnownMaxTimestamp is what MaxTimestamp has told, or Recover found. ok is false where nobody knows yet.
func (s *Segment) KnownMaxTimestamp() (timestamp, offset int64, ok bool) {
	s.stamps.Lock()
	defer s.stamps.Unlock()
	return s.stamps.max.timestamp, s.stamps.max.offset, s.stamps.maxKnown
}

// NoteMaxTimestamp says what MaxTimestamp shall tell, by who has read the batches: a log that is looked at
// without being recovered has time entries of batches that recovery would cut, and lacks others. A segment
// that is opened once more would forget what Recover found.
func (s *Segment) NoteMaxTimestamp(timestamp, offset int64) {
	s.stamps.set(stamp{timestamp, offset})
}

// maxStamp is that, and does not note it. stamps is held.
func (s *Segment) maxStamp() (stamp, error) {
	if s.stamps.maxKnown {
		return s.stamps.max, nil
	}
	largest := noStamp
	x, err := s.time.use()
	switch {
	case err != nil:
		return noStamp, err
	case x == nil:
		if largest, err = s.scanMax(s.base, noStamp); err != nil {
			return noStamp, err
		}
	default:
		if last, ok := x.value.Lookup(math.MaxInt64); ok {
			largest = stamp{last.Key, last.Value}
		}
		x.release()
	}
	return largest, nil
}

// scanMax is the largest timestamp of the batches from the one with offset on, if it is larger than that so
// far.
func (s *Segment) scanMax(offset int64, sofar stamp) (stamp, error) {
	set, err := s.log.acquire()
	if err != nil {
		return noStamp, err
	}
	defer set.release()
	w, err := s.walkTo(set.value, offset, s.Size())
	if err != nil {
		return noStamp, err
	}
	defer w.free()
	for {
		b, err := w.next()
		switch {
		case errors.Is(err, io.EOF):
			return sofar, nil
		case err != nil && isDamage(err):
			if _, err := w.skip(); err != nil {
				return noStamp, err
			}
		case err != nil:
			return noStamp, err
		case b.MaxTimestamp > sofar.timestamp && s.fits(b.LastOffset): // others have no place in an index
			sofar = stamp{b.MaxTimestamp, b.LastOffset}
		}
	}
}

// Found is the answer to a question for a time.
type Found struct {
	Offset      int64
	Timestamp   int64
	LeaderEpoch int32 // NoLeaderEpoch where the batch has none
}

// FindTime is the first record with the given timestamp or a later one, at offset from or above. ok is
// false where there is none.
func (s *Segment) FindTime(timestamp, from int64) (f Found, ok bool, err error) {
	for {
		e := s.era.Load()
		f, ok, err = s.findTime(timestamp, from)
		if err == nil || s.era.Load() == e {
			return f, ok, err
		}
	}
}

func (s *Segment) findTime(timestamp, from int64) (f Found, ok bool, err error) {
	set, err := s.log.acquire()
	if err != nil {
		return Found{}, false, err
	}
	defer set.release()
	end := s.Size()
	after, err := s.timeHint(set.value, timestamp, end)
	if err != nil {
		return Found{}, false, err
	}
	// The record may lie before the offset in the entry, in the batch that this is the last of.
	w, err := s.walkTo(set.value, max(after, from), end)
	if err != nil {
		return Found{}, false, err
	}
	defer w.free()
	for {
		b, err := w.next()
		switch {
		case errors.Is(err, io.EOF):
			return Found{}, false, nil
		case err != nil:
			return Found{}, false, err
		case b.MaxTimestamp < timestamp || b.LastOffset < from:
			continue
		}
		if f, ok, err = s.timeIn(&w, b, timestamp, from); ok || err != nil {
			return f, ok, err
		}
	}
}

// FindMaxTimestamp is the first record with the timestamp that MaxTimestamp tells, also where that is
// codec.NoTimestamp. As in Kafka, only the first batch whose header has it is looked through: ok is false where its
// records have not, since compaction took them or its header is wrong, and where it is of magic 0.
func (s *Segment) FindMaxTimestamp() (f Found, ok bool, err error) {
	largest, err := s.learnMax()
	if err != nil {
		return Found{}, false, err
	}
	for {
		e := s.era.Load()
		f, ok, err = s.findMax(largest)
		if err == nil || s.era.Load() == e {
			return f, ok, err
		}
	}
}

func (s *Segment) findMax(largest stamp) (f Found, ok bool, err error) {
	set, err := s.log.acquire()
	if err != nil {
		return Found{}, false, err
	}
	defer set.release()
	w, err := s.walkTo(set.value, max(largest.offset, s.base), s.Size())
	if err != nil {
		return Found{}, false, err
	}
	defer w.free()
	for {
		b, err := w.next()
		switch {
		case errors.Is(err, io.EOF):
			return Found{}, false, nil
		case err != nil:
			return Found{}, false, err
		case b.MaxTimestamp != largest.timestamp:
			continue
		case b.Magic == 0:
			return Found{}, false, nil
		}
		return s.timeIn(&w, b, largest.timestamp, s.base)
	}
}

// timeHint is an offset such that no batch that ends before it has a record with the given timestamp or a
// later one, as the time index says. An entry that is not what its batch says leads to the base.
func (s *Segment) timeHint(set MessageSet, timestamp, end int64) (int64, error) {
	x, err := s.time.use()
	if x == nil || err != nil {
		return s.base, err
	}
	e, ok := x.value.Lookup(timestamp)
	x.release()
	if !ok {
		return s.base, nil
	}
	at, err := s.locate(set, e.Value, end)
	switch {
	case err != nil && !isDamage(err):
		return s.base, err
	case err != nil || !at.ok || at.batch.MaxTimestamp != e.Key:
		return s.base, nil //nolint:nilerr // a scan meets the damage, if it matters
	}
	return e.Value, nil
}

// timeIn is the first record of b with the given timestamp or a later one, at offset from or above.
func (s *Segment) timeIn(w *walker, b Batch, timestamp, from int64) (f Found, ok bool, err error) {
	bytes, err := w.verify(b)
	if err != nil {
		return Found{}, false, err
	}
	for r, err := range s.parts.Codec.Records(bytes) {
		if err != nil {
			return Found{}, false, s.damage(b.Pos, err)
		}
		if r.Timestamp >= timestamp && r.Offset >= from {
			return Found{Offset: r.Offset, Timestamp: r.Timestamp, LeaderEpoch: b.LeaderEpoch}, true, nil
		}
	}
	return Found{}, false, nil
}
