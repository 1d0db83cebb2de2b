package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

// compare compares the records that a reader got.
func (p *plan) compare(got []record, committed bool) error {
	want := p.visible(committed)
	for i := range min(len(got), len(want)) {
		if err := want[i].compare(&got[i]); err != nil {
			return err
		}
	}
	return expect("the number of records", len(got), len(want))
}

// compare compares a record with what a reader got.
func (r *record) compare(got *record) error {
	same := got.Offset == r.Offset && got.Timestamp == r.Timestamp && alike(got.Key, r.Key) && alike(got.Value, r.Value) &&
		(r.epoch < 0 || got.epoch < 0 || got.epoch == r.epoch) &&
		slices.EqualFunc(got.Headers, r.Headers, func(a, b codec.RecordHeader) bool { return alike(a.Key, b.Key) && alike(a.Value, b.Value) })
	if same {
		return nil
	}
	return fmt.Errorf("record %d of epoch %d is %q, want %d of epoch %d, %q: %w", got.Offset, got.epoch, got.Value, r.Offset, r.epoch, r.Value, errDiffers)
}

// alike reports whether a and b are the same bytes, or both null.
func alike(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// compare compares what a log knows of c.
func (c *client) compare(got *segment.Producer) error {
	open := codec.NoOffset
	if c.txn != nil {
		open = c.txn.first
	}
	if got.Epoch == c.epoch && got.CoordinatorEpoch == c.ended && got.TxnFirstOffset == open && got.LastSequence() == c.last {
		return nil
	}
	return fmt.Errorf("producer is %+v, want epoch %d, coordinator epoch %d, transaction at %d, last sequence %d: %w",
		*got, c.epoch, c.ended, open, c.last, errDiffers)
}
