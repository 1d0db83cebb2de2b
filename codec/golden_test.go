package codec_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/fixture"
)

// readRecord is a record with its batch and that one's position.
type readRecord struct {
	position int64
	batch    codec.Batch
	valid    bool
	record   *codec.Record // nil: the batch is empty, or err
	err      error
}

// readLog reads a .log file as Kafka's own reader does: without a look at checksums, up to the first bytes that
// are no batch.
func readLog(tb testing.TB, c codec.Codec, path string) (all []readRecord) {
	tb.Helper()
	b, err := os.ReadFile(path)
	require.NoError(tb, err)
	position := int64(0)
	for batch, err := range codec.Batches(c, b) {
		at := readRecord{position: position, batch: batch, valid: err == nil && c.Verify(batch.Bytes) == nil, err: err}
		if err != nil {
			return append(all, at)
		}
		recs, err := collect(c, batch.Bytes)
		for i := range recs {
			with := at
			with.record = &recs[i]
			all = append(all, with)
		}
		if at.err = err; err != nil || len(recs) == 0 {
			all = append(all, at)
		}
		reencode(tb, c, at, recs)
		position += int64(batch.Size)
	}
	return all
}

// reencode checks that a good batch that is not compressed comes out of Append as it is.
func reencode(tb testing.TB, c codec.Codec, at readRecord, recs []codec.Record) {
	tb.Helper()
	h := at.batch.Header
	if !at.valid || h.Attributes.Compression() != codec.None {
		return
	}
	if h.Magic == 2 && h.Attributes.LogAppendTime() { // the records' own times show without it
		own := bytes.Clone(at.batch.Bytes)
		require.NoError(tb, c.Restamp(own, codec.Stamp{LastOffset: h.LastOffset, LeaderEpoch: h.LeaderEpoch, MaxTimestamp: h.MaxTimestamp}))
		var err error
		recs, err = collect(c, own)
		require.NoError(tb, err)
	}
	got, err := c.Append(nil, at.batch.Header, recs)
	require.NoError(tb, err)
	require.Equal(tb, at.batch.Bytes, got, "the batch of offset %d encoded anew", at.batch.BaseOffset)
}

// TestGolden reads what Kafka has written since 3.9.
func TestGolden(t *testing.T) {
	c := codec.Kafka()
	for _, version := range []string{"3.9.2", "4.0.2", "4.4.0"} {
		if testing.Short() && version != "4.4.0" {
			continue
		}
		for _, name := range fixture.Cases(t, version) {
			t.Run(name, func(t *testing.T) {
				dir := fixture.Golden(t, name)
				want := map[string][]fixture.Record{}
				for _, r := range fixture.Records(t, filepath.Join(dir, "expected", "records.jsonl")) {
					want[r.File] = append(want[r.File], r)
				}
				for file, want := range want {
					got := readLog(t, c, filepath.Join(dir, "data", file))
					if last := want[len(want)-1]; last.Error != "" {
						want = want[:len(want)-1]
						got = readTo(t, got, last.ValidBytes)
					}
					for i, w := range want {
						require.Less(t, i, len(got), "%s: only %d records", file, len(got))
						compareRecord(t, fmt.Sprintf("%s: record %d", file, i), &got[i], &w)
					}
					require.Len(t, got, len(want), file)
				}
			})
		}
	}
}

// readTo checks that what was read of a damaged file ends at position, and returns it without the error.
func readTo(tb testing.TB, got []readRecord, position int64) []readRecord {
	tb.Helper()
	end := int64(0)
	if n := len(got); n > 0 && got[n-1].err != nil {
		end, got = got[n-1].position, got[:n-1]
	} else if n > 0 {
		end = got[n-1].position + int64(got[n-1].batch.Size)
	}
	require.Equal(tb, position, end, "the end of what can be read")
	return got
}

// fields pairs what was read with what was expected.
type fields map[string][2]any

func (f fields) compare(tb testing.TB, what string) {
	tb.Helper()
	for name, pair := range f {
		require.Equal(tb, pair[1], pair[0], "%s: %s", what, name)
	}
}

func timestampType(b *codec.Batch) string {
	if b.Attributes.LogAppendTime() {
		return "LogAppendTime"
	}
	return "CreateTime"
}

func compareRecord(tb testing.TB, what string, got *readRecord, want *fixture.Record) {
	tb.Helper()
	b := &got.batch
	var horizon *int64
	if ms, ok := b.DeleteHorizon(); ok {
		horizon = &ms
	}
	fields{
		"position": {got.position, want.Position}, "valid": {got.valid, want.Valid},
		"batch size": {b.Size, want.BatchSize}, "batch count": {b.Count, want.BatchCount},
		"base offset": {b.BaseOffset, want.BatchBaseOffset}, "last offset": {b.LastOffset, want.BatchLastOffset},
		"max timestamp": {b.MaxTimestamp, want.BatchMaxTimestamp}, "magic": {b.Magic, want.Magic},
		"timestamp type": {timestampType(b), want.TimestampType}, "leader epoch": {b.LeaderEpoch, want.LeaderEpoch},
		"producer": {b.ProducerID, want.ProducerID}, "producer epoch": {b.ProducerEpoch, want.ProducerEpoch},
		"base sequence": {b.BaseSequence, want.BaseSequence}, "control": {b.Attributes.Control(), want.Control},
		"transactional": {b.Attributes.Transactional(), want.Transactional}, "delete horizon": {horizon, want.DeleteHorizon},
		"compression": {b.Attributes.Compression().String(), want.Compression},
		"empty":       {got.record == nil, want.EmptyBatch},
	}.compare(tb, what)
	if want.EmptyBatch {
		return
	}
	r := got.record
	require.Equal(tb, want.Offset, r.Offset, "%s: offset", what)
	require.Equal(tb, want.Timestamp, r.Timestamp, "%s: timestamp", what)
	if b.Attributes.Control() && want.ControlType != "" {
		compareControl(tb, what, r, want)
		return
	}
	compareBytes(tb, what, r, want.Key, want.Value, want.Headers)
}

func compareControl(tb testing.TB, what string, r *codec.Record, want *fixture.Record) {
	tb.Helper()
	kind, err := codec.ReadControl(r.Key)
	require.NoError(tb, err, what)
	wanted, ok := map[string]codec.ControlType{
		"ABORT": codec.ControlAbort, "COMMIT": codec.ControlCommit, "LEADER_CHANGE": codec.ControlLeaderChange,
		"SNAPSHOT_HEADER": codec.ControlSnapshotHeader, "SNAPSHOT_FOOTER": codec.ControlSnapshotFooter,
		"KRAFT_VERSION": codec.ControlKRaftVersion, "KRAFT_VOTERS": codec.ControlKRaftVoters,
	}[want.ControlType]
	require.True(tb, ok, "control type %s", want.ControlType)
	require.Equal(tb, wanted, kind, "%s: control type", what)
	if kind > codec.ControlCommit {
		return
	}
	marker, err := codec.ReadMarker(*r)
	require.NoError(tb, err, what)
	require.Equal(tb, codec.Marker{Commit: kind == codec.ControlCommit, CoordinatorEpoch: want.CoordinatorEpoch}, marker, what)
}

func compareBytes(tb testing.TB, what string, r *codec.Record, key, value fixture.Bytes, headers []fixture.Header) {
	tb.Helper()
	require.True(tb, key.Equal(r.Key), "%s: key %q, want %s", what, r.Key, key)
	require.True(tb, value.Equal(r.Value), "%s: value %q, want %s", what, r.Value, value)
	require.Len(tb, r.Headers, len(headers), what)
	for i, h := range r.Headers {
		require.Equal(tb, headers[i].Key, string(h.Key), "%s: header %d", what, i)
		require.True(tb, headers[i].Value.Equal(h.Value), "%s: header %d: %q, want %s", what, i, h.Value, headers[i].Value)
	}
}

// TestGoldenLegacy reads what Kafka wrote from 0.8 to 2.8, deep and shallow.
func TestGoldenLegacy(t *testing.T) {
	c := codec.Kafka()
	for _, version := range fixture.Versions() {
		if version >= "3" || testing.Short() && version != "0.10.2.2" && version != "2.8.2" {
			continue
		}
		for _, name := range fixture.Cases(t, version) {
			t.Run(name, func(t *testing.T) {
				dir := fixture.Golden(t, name)
				want := map[int64][]fixture.LegacyRecord{}
				for _, r := range fixture.LegacyRecords(t, filepath.Join(dir, "expected", "records.jsonl")) {
					want[r.Segment] = append(want[r.Segment], r)
				}
				for segment, want := range want {
					compareLegacy(t, readLog(t, c, filepath.Join(dir, "data", fmt.Sprintf("%020d.log", segment))), want)
				}
			})
		}
	}
}

// compareLegacy compares the records of a file, up to where that Kafka could not read on: we may.
func compareLegacy(tb testing.TB, got []readRecord, want []fixture.LegacyRecord) {
	tb.Helper()
	got = slices.DeleteFunc(got, func(r readRecord) bool { return r.record == nil && r.err == nil }) // empty batches
	for i := range want {
		w := &want[i]
		what := fmt.Sprintf("segment %d: record %d", w.Segment, i)
		if w.Error != "" {
			return
		}
		require.Less(tb, i, len(got), what)
		g := &got[i]
		require.NoError(tb, g.err, what)
		require.NotNil(tb, g.record, what)
		b := &g.batch
		fields{
			"position": {g.position, w.Position}, "offset": {g.record.Offset, w.Offset},
			"timestamp": {g.record.Timestamp, w.Timestamp}, "entry's size": {b.Size, w.EntrySize},
			"compression": {b.Attributes.Compression().String(), w.Compression},
			"valid":       {g.valid, w.EntryValid},
		}.compare(tb, what)
		if w.WrapperOffset != nil {
			require.Equal(tb, *w.WrapperOffset, b.LastOffset, "%s: wrapper's offset", what)
		}
		if b.Magic == 2 {
			fields{
				"base offset": {b.BaseOffset, w.BaseOffset}, "last offset": {b.LastOffset, w.LastOffset},
				"leader epoch": {b.LeaderEpoch, w.LeaderEpoch}, "producer": {b.ProducerID, w.ProducerID},
				"producer epoch": {b.ProducerEpoch, w.ProducerEpoch}, "control": {b.Attributes.Control(), w.Control},
				"transactional": {b.Attributes.Transactional(), w.Transactional},
			}.compare(tb, what)
		}
		compareBytes(tb, what, g.record, w.Key, w.Value, w.Headers)
	}
}

// TestGoldenScanner: every good case is read without a piece of damage, and in the damaged ones all batches
// that Kafka wrote and nobody hit are found.
func TestGoldenScanner(t *testing.T) {
	c := codec.Kafka()
	for _, name := range []string{"4.4.0/codecs", "4.4.0/damaged", "4.4.0/compaction", "0.10.2.2/outer-crc", "2.8.2/v0-v1-v2"} {
		dir := fixture.Golden(t, name)
		for _, file := range fixture.Files(t, filepath.Join(dir, "data"), "*.log") {
			t.Run(name+"/"+file, func(t *testing.T) {
				b, err := os.ReadFile(filepath.Join(dir, "data", file))
				require.NoError(t, err)
				var base int64
				_, err = fmt.Sscanf(filepath.Base(file), "%d.log", &base)
				require.NoError(t, err)
				damage := 0
				for _, p := range scan(t, c, bytes.NewReader(b), codec.Expect{Offset: base, Bytes: int64(len(b))}, len(b)) {
					if p.Err != nil {
						damage++
						t.Logf("%d bytes at %d, offsets %d to %d: %v", p.Size, p.Position, p.FirstOffset, p.NextOffset, p.Err)
					}
				}
				if !strings.Contains(name, "damaged") && !strings.Contains(name, "crc") {
					require.Zero(t, damage)
				}
				require.LessOrEqual(t, damage, 1)
			})
		}
	}
}
