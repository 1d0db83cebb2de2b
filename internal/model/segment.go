package model

import (
	"slices"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
)

// Segment is a segment as lists.
type Segment struct {
	Base    int64
	Batches []Batch
	Offsets []place // the offset index (LogSegment.append)
	Times   []stamp // the time index
	Aborted []index.AbortedTxn

	created         int64
	interval, bytes int64 // index.interval.bytes and segment.index.bytes when it was opened
	unindexed       int64 // bytes since the last index entry
	largest         stamp
}

// place is where the batch with a last offset lies.
type place struct{ offset, pos int64 }

// stamp is a timestamp and the last offset of the first batch that has it.
type stamp struct{ time, offset int64 }

var noStamp = stamp{codec.NoTimestamp, codec.NoOffset}

// epochStart is how old files without timestamps are: the driver dates them so.
const epochStart int64 = 1_600_000_000_000

// Size is the number of bytes of its batches.
func (s *Segment) Size() (n int64) {
	for _, b := range s.Batches {
		n += b.Size
	}
	return n
}

// end is the offset behind the last batch.
func (s *Segment) end() int64 {
	if n := len(s.Batches); n > 0 {
		return s.Batches[n-1].Last + 1
	}
	return s.Base
}

// full reports whether an index has no room; in the time index one place is kept (OffsetIndex.isFull, TimeIndex.isFull).
func (s *Segment) full() bool { return !s.offsetRoom() || !s.timeRoom() }

func (s *Segment) offsetRoom() bool { return int64(len(s.Offsets)) < s.bytes/8 }

func (s *Segment) timeRoom() bool { return int64(len(s.Times)) < s.bytes/12-1 }

// append appends a batch, and indexes it (LogSegment.append).
func (s *Segment) append(b Batch) {
	if b.Max > s.largest.time {
		s.largest = stamp{b.Max, b.Last}
	}
	if s.unindexed > s.interval {
		if s.offsetRoom() {
			s.Offsets = append(s.Offsets, place{b.Last, s.Size()})
		}
		if s.timeRoom() {
			s.addTime()
		}
		s.unindexed = 0
	}
	s.unindexed += b.Size
	s.Batches = append(s.Batches, b)
}

// addTime adds an entry for the largest timestamp, if that is larger than the last entry's (TimeIndex.maybeAppend).
func (s *Segment) addTime() {
	if n := len(s.Times); s.largest.time >= 0 && (n == 0 || s.largest.time > s.Times[n-1].time) {
		s.Times = append(s.Times, s.largest)
	}
}

// abort adds an aborted transaction (LogSegment.updateTxnIndex).
func (s *Segment) abort(t txn, stable int64) {
	s.Aborted = append(s.Aborted, index.AbortedTxn{
		ProducerID: t.producer, FirstOffset: t.first, LastOffset: t.last, StableOffset: stable,
	})
}

// seal ends it (LogSegment.onBecomeInactive).
func (s *Segment) seal() { s.addTime() }

// reindex builds the indexes anew, as recovery does (LogSegment.recover).
func (s *Segment) reindex() {
	all := s.Batches
	s.Batches, s.Offsets, s.Times, s.largest, s.unindexed = nil, nil, nil, noStamp, 0
	for _, b := range all {
		s.append(b)
	}
	s.seal()
}

// load opens it anew: what there is to know of timestamps comes from the time index.
func (s *Segment) load(now, interval, bytes int64) {
	s.created, s.interval, s.bytes, s.unindexed, s.largest = now, interval, bytes, 0, noStamp
	if n := len(s.Times); n > 0 {
		s.largest = s.Times[n-1]
	}
}

// truncate drops batches with records at offset or above, and the entries for them (LogSegment.truncateTo).
func (s *Segment) truncate(offset, now int64) {
	s.Batches = slices.DeleteFunc(s.Batches, func(b Batch) bool { return b.Last >= offset })
	s.Offsets = slices.DeleteFunc(s.Offsets, func(p place) bool { return p.offset >= offset })
	s.Times = slices.DeleteFunc(s.Times, func(t stamp) bool { return t.offset >= offset })
	s.Aborted = slices.DeleteFunc(s.Aborted, func(t index.AbortedTxn) bool { return t.LastOffset >= offset })
	s.unindexed, s.largest = 0, noStamp
	for _, b := range s.Batches {
		if b.Max > s.largest.time {
			s.largest = stamp{b.Max, b.Last}
		}
	}
	if len(s.Batches) == 0 {
		s.created = now
	}
}

// newest is the largest timestamp, or without one the file's (LogSegment.largestTimestamp).
func (s *Segment) newest() int64 {
	if s.largest.time >= 0 {
		return s.largest.time
	}
	return epochStart
}

// findTime is the first record with a timestamp of ms or later at from or above (FileRecords.searchForTimestamp).
func (s *Segment) findTime(ms, from int64) (offset, time int64, epoch int32, ok bool) {
	for _, b := range s.Batches {
		for _, r := range b.Records {
			if r.Time >= ms && r.Offset >= from {
				return r.Offset, r.Time, b.Epoch, true
			}
		}
	}
	return 0, 0, 0, false
}

// findLargest is the first record with the largest timestamp, in the first batch that has it, also where it is none.
func (s *Segment) findLargest() (offset, time int64, epoch int32, ok bool) {
	for _, b := range s.Batches {
		if b.Max != s.largest.time {
			continue
		}
		for _, r := range b.Records {
			if r.Time == b.Max {
				return r.Offset, r.Time, b.Epoch, true
			}
		}
		break
	}
	return 0, 0, 0, false
}
