package main

import (
	"errors"
	"fmt"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/fixture"
)

// checkBatches reads a message set and compares all of its batches and records with want, in which a batch
// without records is a line of its own.
func checkBatches(set []byte, want []fixture.Record) error {
	c := codec.Kafka()
	position, line := int64(0), 0
	next := func(b *codec.Batch, base int64, r *codec.Record) error {
		if line == len(want) {
			return fmt.Errorf("more than %d lines", len(want))
		}
		w := &want[line]
		line++
		if err := errors.Join(compareBatch(c, position, b, base, w), compareRecord(b, r, w)); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		return nil
	}
	for b, err := range codec.Batches(c, set) {
		if err != nil {
			return err
		}
		base, records := b.BaseOffset, 0
		for r, err := range c.Records(b.Bytes) {
			if err != nil {
				return err
			}
			if base == codec.NoOffset { // of a wrapper
				base = r.Offset
			}
			if err := next(&b, base, &r); err != nil {
				return err
			}
			records++
		}
		if records == 0 {
			if err := next(&b, base, nil); err != nil {
				return err
			}
		}
		position += int64(b.Size)
	}
	if line < len(want) {
		return fmt.Errorf("%d lines, want %d", line, len(want))
	}
	return nil
}

// compareBatch says where a batch differs from what Kafka says of it.
func compareBatch(c codec.Codec, position int64, b *codec.Batch, base int64, want *fixture.Record) error {
	count, horizon, wantHorizon := b.Count, codec.NoTimestamp, codec.NoTimestamp
	if b.Magic < 2 {
		count = 0 // as nothing in the line
	}
	if ms, ok := b.DeleteHorizon(); ok {
		horizon = ms
	}
	if want.DeleteHorizon != nil {
		wantHorizon = *want.DeleteHorizon
	}
	return different([]field{
		{"error", want.Error, ""},
		{"position", position, want.Position},
		{"validity", c.Verify(b.Bytes) == nil, want.Valid},
		{"base offset", base, want.BatchBaseOffset},
		{"last offset", b.LastOffset, want.BatchLastOffset},
		{"size", b.Size, want.BatchSize},
		{"magic", b.Magic, want.Magic},
		{"count", count, want.BatchCount},
		{"timestamp type", timestampType(b), want.TimestampType},
		{"max timestamp", b.MaxTimestamp, want.BatchMaxTimestamp},
		{"leader epoch", b.LeaderEpoch, want.LeaderEpoch},
		{"producer", b.ProducerID, want.ProducerID},
		{"producer epoch", b.ProducerEpoch, want.ProducerEpoch},
		{"base sequence", b.BaseSequence, want.BaseSequence},
		{"transactional", b.Attributes.Transactional(), want.Transactional},
		{"control", b.Attributes.Control(), want.Control},
		{"compression", b.Attributes.Compression().String(), want.Compression},
		{"delete horizon", horizon, wantHorizon},
		{"checksum", fmt.Sprintf("%08x", b.CRC), want.CRC},
	})
}

// compareRecord says where a record, or nil for that there is none, differs from what Kafka read.
func compareRecord(b *codec.Batch, r *codec.Record, want *fixture.Record) error {
	if r == nil || want.EmptyBatch {
		return different([]field{{"emptiness", r == nil, want.EmptyBatch}})
	}
	kind, epoch, err := controlOf(b, r)
	if err != nil {
		return err
	}
	differences := []field{
		{"offset", r.Offset, want.Offset},
		{"timestamp", r.Timestamp, want.Timestamp},
		{"sequence", sequenceOf(b, r), want.Sequence},
		{"control type", kind, want.ControlType},
		{"coordinator epoch", epoch, want.CoordinatorEpoch},
		{"key " + want.Key.String(), want.Key.Equal(r.Key), true},
		{"value " + want.Value.String(), want.Value.Equal(r.Value), true},
		{"number of headers", len(r.Headers), len(want.Headers)},
	}
	for i := range min(len(r.Headers), len(want.Headers)) {
		h, w := &r.Headers[i], &want.Headers[i]
		differences = append(differences,
			field{"header's key", string(h.Key), w.Key},
			field{"header's value " + w.Value.String(), w.Value.Equal(h.Value), true})
	}
	return different(differences)
}

// controlNames are Kafka's.
var controlNames = map[codec.ControlType]string{
	codec.ControlAbort: "ABORT", codec.ControlCommit: "COMMIT", codec.ControlLeaderChange: "LEADER_CHANGE",
	codec.ControlSnapshotHeader: "SNAPSHOT_HEADER", codec.ControlSnapshotFooter: "SNAPSHOT_FOOTER",
	codec.ControlKRaftVersion: "KRAFT_VERSION", codec.ControlKRaftVoters: "KRAFT_VOTERS", codec.ControlUnknown: "UNKNOWN",
}

// controlOf is the kind of a control record and the coordinator's epoch of a marker, otherwise nothing.
func controlOf(b *codec.Batch, r *codec.Record) (kind string, epoch int32, err error) {
	if !b.Attributes.Control() {
		return "", 0, nil
	}
	number, err := codec.ReadControl(r.Key)
	if err != nil || number != codec.ControlAbort && number != codec.ControlCommit {
		return controlNames[number], 0, err
	}
	marker, err := codec.ReadMarker(*r)
	return controlNames[number], marker.CoordinatorEpoch, err
}

// sequenceOf is a record's sequence.
func sequenceOf(b *codec.Batch, r *codec.Record) int32 {
	if b.BaseSequence == codec.NoSequence {
		return codec.NoSequence
	}
	return codec.NextSequence(b.BaseSequence, int(r.Offset-b.BaseOffset))
}

// field is something that was read, and what it should be.
type field struct {
	name      string
	got, want any
}

// different names the first field that is not as it should be.
func different(fields []field) error {
	for _, f := range fields {
		if f.got != f.want {
			return fmt.Errorf("%s %v, want %v", f.name, f.got, f.want)
		}
	}
	return nil
}
