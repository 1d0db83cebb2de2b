package cli

import (
	"encoding/json"
	"fmt"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/producer"
)

// jsonSink shows what dump finds as objects, one a line.
type jsonSink struct {
	*env
	lines       *json.Encoder
	skipControl bool

	file      string
	partition partitionName
	summary   summaryLine
	failed    error // the first that the encoder had
}

// summaryLine ends what a verb tells with -o json.
type summaryLine struct {
	Type     string `json:"type"` // summary
	Files    int    `json:"files"`
	Batches  int    `json:"batches"`
	Records  int    `json:"records"`
	Entries  int    `json:"entries"`
	Problems int    `json:"problems"`
}

// offsetEntryLine is an entry of an offset index.
type offsetEntryLine struct {
	Type     string `json:"type"` // offsetIndexEntry
	File     string `json:"file"`
	Offset   int64  `json:"offset"`
	Position int64  `json:"position"`
}

// timeEntryLine is an entry of a time index.
type timeEntryLine struct {
	Type      string `json:"type"` // timeIndexEntry
	File      string `json:"file"`
	Timestamp int64  `json:"timestamp"`
	Offset    int64  `json:"offset"`
}

// abortedLine is an entry of an index of aborted transactions.
type abortedLine struct {
	Type         string `json:"type"` // abortedTransaction
	File         string `json:"file"`
	Version      int16  `json:"version"`
	ProducerID   int64  `json:"producerId"`
	FirstOffset  int64  `json:"firstOffset"`
	LastOffset   int64  `json:"lastOffset"`
	StableOffset int64  `json:"lastStableOffset"`
}

// producerLine is an entry of a producer snapshot.
type producerLine struct {
	Type             string `json:"type"` // producer
	File             string `json:"file"`
	ProducerID       int64  `json:"producerId"`
	ProducerEpoch    int16  `json:"producerEpoch"`
	CoordinatorEpoch int32  `json:"coordinatorEpoch"`
	TxnFirstOffset   *int64 `json:"currentTxnFirstOffset"`
	LastTimestamp    int64  `json:"lastTimestamp"`
	FirstSequence    int32  `json:"firstSequence"`
	LastSequence     int32  `json:"lastSequence"`
	LastOffset       int64  `json:"lastOffset"`
	OffsetDelta      int32  `json:"offsetDelta"`
}

// verdictLine is what was found of a file as a whole.
type verdictLine struct {
	Type string `json:"type"` // verdict
	File string `json:"file"`
	Text string `json:"text"`
}

func (s *jsonSink) open(file string) {
	s.file, s.partition = file, namePartitionOf(file)
	s.summary.Files++
}

func (s *jsonSink) note(string) {} // a batch and its file's name tell it

func (s *jsonSink) verdict(text string) {
	s.line(verdictLine{"verdict", s.file, text})
}

func (s *jsonSink) batch(pos int64, h codec.Header, valid bool) {
	s.summary.Batches++
	s.line(newBatchLine(s.file, pos, h, valid))
}

func (s *jsonSink) record(h codec.Header, r codec.Record) {
	if s.skipControl && h.Attributes.Control() {
		return
	}
	s.summary.Records++
	s.line(newRecordLine(s.partition, h, r))
}

func (s *jsonSink) entry(x *indexFile, e index.Entry) {
	s.summary.Entries++
	if x.layout == index.TimeLayout {
		s.line(timeEntryLine{"timeIndexEntry", s.file, e.Key, e.Value})
		return
	}
	s.line(offsetEntryLine{"offsetIndexEntry", s.file, e.Key, e.Value})
}

func (s *jsonSink) aborted(version int16, t index.AbortedTxn) {
	s.summary.Entries++
	s.line(abortedLine{"abortedTransaction", s.file, version, t.ProducerID, t.FirstOffset, t.LastOffset, t.StableOffset})
}

func (s *jsonSink) producer(p producer.Entry) {
	s.summary.Entries++
	line := producerLine{
		Type: "producer", File: s.file, ProducerID: p.ProducerID, ProducerEpoch: p.Epoch,
		CoordinatorEpoch: p.CoordinatorEpoch, LastTimestamp: p.Timestamp, FirstSequence: codec.NoSequence,
		LastSequence: p.LastSequence, LastOffset: p.LastOffset, OffsetDelta: p.OffsetDelta,
	}
	if p.TxnFirstOffset >= 0 {
		line.TxnFirstOffset = &p.TxnFirstOffset
	}
	if p.LastOffset >= 0 {
		line.FirstSequence = firstSequence(p)
	}
	s.line(line)
}

func (s *jsonSink) problem(p problem) {
	if p.kind != gap {
		s.summary.Problems++
	}
	s.line(p.line(s.file))
}

func (s *jsonSink) close() error {
	s.summary.Type = "summary"
	s.line(s.summary)
	return s.failed
}

// line writes one object.
func (s *jsonSink) line(v any) {
	if s.failed == nil {
		s.failed = s.lines.Encode(v)
	}
}

// line is the finding that p is, in file.
func (p problem) line(file string) findingLine {
	f := findingLine{
		Type: "finding", Severity: "warning", File: file, Position: p.pos,
		Offsets: [2]int64{p.a, p.a + 1}, Message: p.text(), Repair: "reindex", SeekTo: codec.NoOffset,
	}
	switch p.kind {
	case indexMismatch:
		f.Code = "INDEX_INVALID"
	case timeMismatch:
		f.Code, f.Offsets = "TIMEINDEX_INVALID", [2]int64{codec.NoOffset, codec.NoOffset}
	case timeOrder:
		f.Code, f.Offsets = "TIMEINDEX_INVALID", [2]int64{codec.NoOffset, codec.NoOffset}
	case offsetNotFound:
		f.Code = "TIMEINDEX_INVALID"
	case gap:
		f.Severity, f.Code, f.Offsets, f.Repair = "info", "OFFSET_GAP", [2]int64{p.a + 1, p.b}, "none"
	case trailing:
		f.Code, f.Offsets, f.Repair = "TRAILING_BYTES", [2]int64{codec.NoOffset, codec.NoOffset}, "truncate"
	case damage:
		f.Severity, f.Code, f.Offsets, f.Repair, f.SeekTo = "error", "BATCH_INVALID", [2]int64{p.offset, p.next}, "none", p.next
	}
	return f
}

// text says in a sentence what p is.
func (p problem) text() string {
	switch p.kind {
	case indexMismatch:
		return fmt.Sprintf("the entry of offset %d leads to a batch whose last offset is %d", p.a, p.b)
	case timeMismatch:
		return fmt.Sprintf("the entry has timestamp %d, and the batch %d", p.a, p.b)
	case timeOrder:
		return fmt.Sprintf("timestamp %d comes behind %d", p.a, p.b)
	case offsetNotFound:
		return fmt.Sprintf("offset %d is no batch's last; the batch there ends at %d", p.a, p.b)
	case gap:
		return fmt.Sprintf("offset %d is followed by %d", p.a, p.b)
	case trailing:
		return fmt.Sprintf("%d bytes behind the last batch", p.a)
	default: // damage
	}
	if p.offset == codec.NoOffset {
		return p.err.Error()
	}
	if p.next == codec.NoOffset {
		return fmt.Sprintf("%d bytes cannot be read, nothing from offset %d on: %v", p.a, p.offset, p.err)
	}
	return fmt.Sprintf("%d bytes cannot be read, offsets %d to %d: %v", p.a, p.offset, p.next-1, p.err)
}
