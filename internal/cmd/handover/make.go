package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/scheduler"
)

// topicID is the topic's id.
var topicID = [16]byte{0x7a, 1, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13, 14, 15}

// open opens a partition.
func (c *call) open(partition int) (*log.Log, error) {
	return log.Open(context.Background(), filepath.Join(c.dir, fmt.Sprintf("%s-%d", topic, partition)), log.Options{
		Config:  log.Config{SegmentBytes: segmentBytes, IndexIntervalBytes: 500},
		Clock:   scheduler.NewManual(scheduler.ManualOptions{Start: time.UnixMilli(c.time)}),
		TopicID: topicID,
	})
}

// make makes the partitions.
func (c *call) make() error {
	for partition := range partitions {
		l, err := c.open(partition)
		if err != nil {
			return err
		}
		p := newPlan(partition, c.time)
		for i := range p.steps {
			if err := p.steps[i].do(l); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
		if err := expect("end offset", l.EndOffset(), p.end); err != nil {
			return err
		}
		fmt.Fprintf(c.out, "RESULT made=%s-%d segments=%d records=%d end=%d stable=%d\n",
			topic, partition, l.Stats().Segments, len(p.records), p.end, p.stable())
		if c.kill {
			continue
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// do appends what s says.
func (s *step) do(l *log.Log) error {
	if len(s.records) == 0 {
		return s.mark(l)
	}
	err := s.append(l, false)
	if s.again && err == nil {
		err = s.append(l, true)
	}
	return err
}

// append appends the records, for the first time or once more.
func (s *step) append(l *log.Log, duplicate bool) error {
	h := codec.NewHeader(2)
	h.Attributes = codec.Attributes(s.compression)
	if s.by.kind != plain {
		h.ProducerID, h.ProducerEpoch, h.BaseSequence = s.by.id, s.by.epoch, s.by.sequence
	}
	if s.by.kind >= transacted {
		h.Attributes |= codec.TransactionalBit
	}
	recs := make([]codec.Record, len(s.records))
	for i, r := range s.records {
		r.Offset = int64(i)
		recs[i] = r
	}
	batch, err := codec.Kafka().Append(nil, h, recs)
	if err != nil {
		return err
	}
	got, err := l.AppendWith(batch, log.AppendOptions{LeaderEpoch: s.epoch})
	if err != nil {
		return err
	}
	return errors.Join(expect("base offset", got.BaseOffset, s.base), expect("duplicate", got.Duplicate, duplicate))
}

// mark appends the marker.
func (s *step) mark(l *log.Log) error {
	h := codec.NewHeader(2)
	h.ProducerID, h.ProducerEpoch = s.by.id, s.by.epoch
	version := log.TxnV1
	if s.by.kind == transactedV2 {
		h.ProducerEpoch++
		version = log.TxnV2
	}
	marker, err := codec.AppendMarker(nil, h, codec.Marker{Commit: s.commit, CoordinatorEpoch: s.coordinator}, s.by.time)
	if err != nil {
		return err
	}
	got, err := l.AppendWith(marker, log.AppendOptions{LeaderEpoch: s.epoch, Origin: log.FromCoordinator, TxnVersion: version})
	if err != nil {
		return err
	}
	return expect("offset of a marker", got.BaseOffset, s.base)
}

// expect complains where got is not want.
func expect[T comparable](what string, got, want T) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%s is %v, want %v: %w", what, got, want, errDiffers)
}
