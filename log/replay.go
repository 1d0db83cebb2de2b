package log

import (
	"errors"
	"fmt"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

// rebuild says how the producers are brought to the end of v.
func (l *Log) rebuild(v *view, clean bool) producer.Rebuild {
	return producer.Rebuild{
		Start: v.start, End: v.end, Bases: v.bases(), Now: l.now().UnixMilli(),
		Clean: clean, NoProducers: l.force.Load().magic() < 2,
		Replay: func(base, from, end int64, add func(b producer.Batch) error) error {
			return replay(v.segs[v.floor(base)], from, end, add)
		},
	}
}

// replay calls add with each batch of s that has records in [from, end). Of damaged ones only those are left
// out whose headers cannot be read: the rest of what a producer did counts.
func replay(s *segment.Segment, from, end int64, add func(b producer.Batch) error) error {
	first, ok, err := s.Find(from)
	if err != nil {
		return damageIsNone(fmt.Errorf("replay producers: %w", err))
	}
	if !ok || first.LastOffset >= end {
		return nil
	}
	var header codec.Header // one for all: what goes to add is on the heap
	var buf []byte
	for b, err := range s.Batches(first.Pos) {
		if err != nil {
			return damageIsNone(fmt.Errorf("replay producers: %w", err))
		}
		if b.LastOffset >= end {
			return nil
		}
		header = b.Header
		p := producer.Batch{Header: &header}
		if b.ProducerID >= 0 && b.Attributes.Control() {
			if buf, err = s.ReadBatch(buf[:0], b); err != nil {
				return damageIsNone(err)
			}
			if p.Marker, err = producer.ReadMarker(s.Codec(), buf); err != nil {
				if err := damageIsNone(err); err != nil {
					return err
				}
				continue
			}
		}
		if err := add(p); err != nil && !errors.Is(err, producer.ErrInvalidTxnState) {
			return err // what is in the log is in the log, whatever its producer should have done
		}
	}
	return nil
}

// damageIsNone is err, or nil where it is about damage: that does not keep a log from being opened.
func damageIsNone(err error) error {
	if isDamage(err) {
		return nil
	}
	return err
}
