package main

import (
	"bytes"
	"fmt"

	"github.com/stratalog/strata/codec"
)

// checkRead reads a message set, shallow and deep, and compares it with want. If fails is true it must fail.
func checkRead(set []byte, want []record, fails bool) error {
	c := codec.Kafka()
	position, got := 0, 0
	var readErr error
	for batch, err := range codec.Batches(c, set) {
		if err != nil {
			readErr = err
			break
		}
		for r, err := range c.Records(batch.Bytes) {
			if err != nil {
				readErr = err
				break
			}
			if got == len(want) {
				return fmt.Errorf("more than %d records", len(want))
			}
			if err := compare(c, position, &batch, &r, &want[got]); err != nil {
				return fmt.Errorf("record %d: %w", got, err)
			}
			got++
		}
		position += batch.Size
	}
	switch {
	case fails && readErr == nil:
		return fmt.Errorf("%d records, want an error", got)
	case !fails && readErr != nil:
		return readErr
	case !fails && got != len(want):
		return fmt.Errorf("%d records, want %d", got, len(want))
	}
	return nil
}

// compare says where the record r of a batch differs from what Kafka read.
func compare(c codec.Codec, position int, b *codec.Batch, r *codec.Record, want *record) error {
	err := different([]field{
		{"position", position, want.Position},
		{"offset", r.Offset, want.Offset},
		{"timestamp", r.Timestamp, want.Timestamp},
		{"timestamp type", timestampType(b), want.TimestampType},
		{"compression", b.Attributes.Compression(), want.Compression.Compression},
		{"entry's validity", c.Verify(b.Bytes) == nil, want.EntryValid},
		{"key is null", r.Key == nil, want.Key == nil},
		{"value is null", r.Value == nil, want.Value == nil},
		{"number of headers", len(r.Headers), len(want.Headers)},
	})
	if err != nil {
		return err
	}
	if !bytes.Equal(r.Key, want.Key) || !bytes.Equal(r.Value, want.Value) {
		return fmt.Errorf("key %q and value %q, want %q and %q", r.Key, r.Value, want.Key, want.Value)
	}
	for i, h := range r.Headers {
		if string(h.Key) != want.Headers[i].Key || !bytes.Equal(h.Value, want.Headers[i].Value) {
			return fmt.Errorf("header %d is %q: %q, want %q: %q", i, h.Key, h.Value, want.Headers[i].Key, want.Headers[i].Value)
		}
	}
	return compareEntry(b, r, want)
}

// compareEntry says where a batch differs from what Kafka said of it with a record.
func compareEntry(b *codec.Batch, r *codec.Record, want *record) error {
	if want.WrapperOffset != nil && b.LastOffset != *want.WrapperOffset {
		return fmt.Errorf("wrapper's offset %d, want %d", b.LastOffset, *want.WrapperOffset)
	}
	if b.Magic < 2 || want.BaseOffset == nil {
		return nil
	}
	return different([]field{
		{"base offset", b.BaseOffset, *want.BaseOffset},
		{"last offset", b.LastOffset, *want.LastOffset},
		{"leader epoch", b.LeaderEpoch, want.LeaderEpoch},
		{"producer", b.ProducerID, want.ProducerID},
		{"producer epoch", b.ProducerEpoch, want.ProducerEpoch},
		{"sequence", sequenceOf(b, r), want.Sequence},
		{"transactional", b.Attributes.Transactional(), want.Transactional},
		{"control", b.Attributes.Control(), want.Control},
	})
}

// timestampType is Kafka's word. Kafka's 0.8 and 0.9 had no timestamps, and say so for magic 0.
func timestampType(b *codec.Batch) string {
	switch {
	case b.Magic == 0:
		return "NoTimestampType"
	case b.Attributes.LogAppendTime():
		return "LogAppendTime"
	}
	return "CreateTime"
}
