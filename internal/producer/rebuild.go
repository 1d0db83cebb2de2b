package producer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
)

// Replayer calls add for each batch of the segment with the given base offset whose last offset lies in
// [from, end), in order. It returns add's error.
type Replayer func(base, from, end int64, add func(b Batch) error) error

// Rebuild says how to bring a State to the end of a log.
type Rebuild struct {
	Start, End int64   // of the log
	Bases      []int64 // the base offsets of all segments, rising
	Now        int64

	// Clean says that the log was closed cleanly. Without any snapshot it then has no producers, as in
	// Kafka: nothing is replayed, and snapshots without entries are written.
	Clean bool

	// NoProducers says that the log's format knows none: snapshots without entries are written, whatever
	// is there.
	NoProducers bool

	Replay Replayer
}

// Rebuild brings the State to r.End: from the newest good snapshot that lies in (Start, End], through the
// batches behind it. Snapshots outside of that range, and damaged ones, are removed. Snapshots are taken at
// the base offsets of the last two segments, where the replay passes them, and at End, as far as there is room.
//
// After loading, the State has to be new, RemoveStraySnapshots comes first; after a truncation it is called
// as it is.
func (s *State) Rebuild(r Rebuild) error {
	points := r.Bases[max(0, len(r.Bases)-2):]
	if r.NoProducers || r.Clean && len(s.snapshots) == 0 {
		return s.begin(append(slices.Clone(points), r.End))
	}
	// Whoever had no producers up to here gets none by a truncation: the batches are not read for nothing.
	none := s.producers.n == 0 && len(s.decided) == 0 && s.end >= r.End
	if err := s.Reload(r.Start, r.End, r.Now); err != nil {
		return err
	}
	if s.end < r.End && !none {
		if err := s.replay(r, points); err != nil {
			return err
		}
	}
	s.end = r.End
	return s.takeIfRoom()
}

// takeIfRoom takes a snapshot, durably. One that there is no room for is done without: all that it says is in
// older ones and in the batches, and a truncation must go on where the disk is full.
func (s *State) takeIfRoom() error {
	_, err := s.TakeSnapshot(true)
	if fsio.NoRoom(err) {
		return nil
	}
	return err
}

// begin goes on without producers behind the last of points, at which it takes snapshots. What was above that is
// removed.
func (s *State) begin(points []int64) error {
	end := points[len(points)-1]
	if err := s.forgetSnapshots(func(offset int64) bool { return offset > end }); err != nil {
		return err
	}
	s.forget()
	s.snapshot = 0
	for _, offset := range points {
		s.end = offset
		if err := s.takeIfRoom(); err != nil {
			return err
		}
	}
	return nil
}

// replay goes through the batches in [s.end, r.End), and takes snapshots at points.
func (s *State) replay(r Rebuild, points []int64) error {
	first, found := slices.BinarySearch(r.Bases, s.end)
	if !found {
		first = max(0, first-1) // the segment that has s.end
	}
	for _, base := range r.Bases[first:] {
		if base >= r.End {
			break
		}
		s.end = max(s.end, base, r.Start)
		if slices.Contains(points, base) {
			if err := s.takeIfRoom(); err != nil {
				return err
			}
		}
		err := r.Replay(base, s.end, r.End, func(b Batch) error {
			_, err := s.Replay(nil, b)
			return err
		})
		if err != nil {
			return fmt.Errorf("producers of segment %d: %w", base, err)
		}
	}
	return nil
}

// Reload is the first half of Rebuild: it removes the snapshots that are above end, durably, and those that
// are not above start, and, where End is not end, begins anew with the newest good one. The batches in
// [End, end) are to be replayed then.
func (s *State) Reload(start, end, now int64) error {
	if err := s.forgetSnapshots(func(offset int64) bool { return offset > end }); err != nil {
		return err
	}
	if err := s.removeSnapshots(func(offset int64) bool { return offset <= start }); err != nil {
		return err
	}
	if s.end == end {
		s.SetStart(start)
		return nil
	}
	s.forget()
	for n := len(s.snapshots); n > 0; n = len(s.snapshots) {
		newest := s.snapshots[n-1]
		entries, err := ReadSnapshot(s.fsys, s.name(newest))
		if err == nil {
			s.load(entries, now)
			s.end, s.snapshot = newest, newest
			return nil
		}
		if !errors.Is(err, ErrCorrupt) {
			return fmt.Errorf("producer snapshot: %w", err)
		}
		if err := s.RemoveSnapshot(newest); err != nil {
			return err
		}
	}
	s.end, s.snapshot = start, start
	return nil
}

// load takes the producers of a snapshot that are not expired at the time now. s has none.
func (s *State) load(entries []Entry, now int64) {
	s.producers = newTable(len(entries))
	for i := range entries {
		var e entry
		e.restore(&entries[i])
		if e.txnFirst != codec.NoOffset {
			s.open = append(s.open, txn{first: e.txnFirst, last: codec.NoOffset, producer: e.id})
		} else if s.expired(e.lastTimestamp, now) {
			continue
		}
		s.producers.put(&e)
	}
	s.open.sort()
}
