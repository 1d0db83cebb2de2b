package cli

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/producer"
)

// kafkaSink shows what dump finds in the lines of kafka-dump-log, as Kafka 4.4 has it.
//
// Three things are not imitated: a file at which Kafka's tool ends with an exception gets a line that says
// what is wrong; the line "-1 is followed by N", for each log that does not begin at 0, is left out; and the
// exit status tells of problems.
type kafkaSink struct {
	*env
	data         bool
	skipMetadata bool

	file     string
	line     []byte
	problems []kafkaProblems // of the files that have some, in order
}

// kafkaProblems are the problems of one file.
type kafkaProblems struct {
	file string
	of   [trailing][]problem // by kind
}

func (s *kafkaSink) open(file string) {
	s.file = file
	fmt.Fprintf(s.out, "Dumping %s\n", file)
}

func (s *kafkaSink) note(text string) { fmt.Fprintln(s.out, text) }

func (s *kafkaSink) verdict(text string) { fmt.Fprintln(s.out, s.file, text) }

func (s *kafkaSink) batch(pos int64, h codec.Header, valid bool) {
	if h.Magic >= 2 {
		fmt.Fprintf(s.out, "baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d "+
			"partitionLeaderEpoch: %d isTransactional: %t isControl: %t deleteHorizonMs: %s",
			h.BaseOffset, h.LastOffset, h.Count, h.BaseSequence, h.LastSequence(), h.ProducerID, h.ProducerEpoch,
			h.LeaderEpoch, h.Attributes.Transactional(), h.Attributes.Control(), optionalLong(h.DeleteHorizon()))
	} else {
		fmt.Fprintf(s.out, "offset: %d", h.LastOffset)
	}
	fmt.Fprintf(s.out, " position: %d %s: %d size: %d magic: %d compresscodec: %s crc: %d isvalid: %t\n",
		pos, timestampType(h), h.MaxTimestamp, h.Size, h.Magic, h.Attributes.Compression(), h.CRC, valid)
}

func (s *kafkaSink) record(h codec.Header, r codec.Record) {
	control := h.Attributes.Control()
	if s.skipMetadata && control {
		return
	}
	line := append(s.line[:0], '|')
	if !s.skipMetadata {
		line = s.metadata(line, h, r)
	}
	if s.data && !control {
		if r.Key != nil {
			line = javaText(append(line, " key: "...), r.Key)
		}
		if r.Value != nil {
			line = javaText(append(line, " payload: "...), r.Value)
		}
	}
	s.line = append(line, '\n')
	// A failed write is kept by the bufio.Writer and comes with its Flush.
	_, _ = s.out.Write(s.line)
}

// metadata appends to line what is told of r besides key and value.
func (s *kafkaSink) metadata(line []byte, h codec.Header, r codec.Record) []byte {
	line = fmt.Appendf(line, " offset: %d %s: %d keySize: %d valueSize: %d",
		r.Offset, timestampType(h), r.Timestamp, javaSize(r.Key), javaSize(r.Value))
	if h.Magic < 2 {
		return line
	}
	line = append(line, " sequence: "...)
	line = strconv.AppendInt(line, int64(sequence(h, r.Offset)), 10)
	line = append(line, " headerKeys: ["...)
	for i, header := range r.Headers {
		if i > 0 {
			line = append(line, ',')
		}
		line = javaText(line, header.Key)
	}
	line = append(line, ']')
	if h.Attributes.Control() {
		line = appendControl(line, r)
	}
	return line
}

// appendControl appends to line what the control record r says.
func appendControl(line []byte, r codec.Record) []byte {
	kind, err := codec.ReadControl(r.Key)
	if err != nil {
		kind = codec.ControlUnknown
	}
	if line, ok := appendKRaft(line, kind, r); ok {
		return line
	}
	if kind != codec.ControlAbort && kind != codec.ControlCommit {
		return fmt.Appendf(line, " controlType: %s(%d)", controlName(kind), controlID(r.Key))
	}
	marker, err := codec.ReadMarker(r)
	if err != nil {
		return fmt.Appendf(line, " endTxnMarker: %s", controlName(kind))
	}
	return fmt.Appendf(line, " endTxnMarker: %s coordinatorEpoch: %d", controlName(kind), marker.CoordinatorEpoch)
}

// controlID is the number of a kind of control record, also of one that is not known; −1 where there is none.
func controlID(key []byte) int16 {
	if len(key) < 4 {
		return int16(codec.ControlUnknown)
	}
	return int16(binary.BigEndian.Uint16(key[2:]))
}

func (s *kafkaSink) entry(x *indexFile, e index.Entry) {
	if x.layout == index.TimeLayout {
		fmt.Fprintf(s.out, "timestamp: %d offset: %d\n", e.Key, e.Value)
		return
	}
	fmt.Fprintf(s.out, "offset: %d position: %d\n", e.Key, e.Value)
}

func (s *kafkaSink) aborted(version int16, t index.AbortedTxn) {
	fmt.Fprintf(s.out, "version: %d producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d\n",
		version, t.ProducerID, t.FirstOffset, t.LastOffset, t.StableOffset)
}

func (s *kafkaSink) producer(p producer.Entry) {
	fmt.Fprintf(s.out, "producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: %s lastTimestamp: %d",
		p.ProducerID, p.Epoch, p.CoordinatorEpoch, optionalLong(p.TxnFirstOffset, p.TxnFirstOffset >= 0), p.Timestamp)
	if p.LastOffset >= 0 {
		fmt.Fprintf(s.out, " firstSequence: %d lastSequence: %d lastOffset: %d offsetDelta: %d timestamp: %d",
			firstSequence(p), p.LastSequence, p.LastOffset, p.OffsetDelta, p.Timestamp)
	}
	fmt.Fprintln(s.out)
}

func (s *kafkaSink) problem(p problem) {
	switch p.kind {
	case trailing:
		fmt.Fprintf(s.out, "Found %d invalid bytes at the end of %s\n", p.a, filepath.Base(s.file))
	case damage:
		if words, ok := errors.AsType[*kafkaError](p.err); ok {
			_ = s.out.Flush() // as in notice
			fmt.Fprintln(s.errs, words.words)
			return
		}
		s.notice("%s%s: %s", s.file, p.place(), p.text())
	default:
		if n := len(s.problems); n == 0 || s.problems[n-1].file != s.file {
			s.problems = append(s.problems, kafkaProblems{file: s.file})
		}
		of := &s.problems[len(s.problems)-1].of[p.kind]
		*of = append(*of, p)
	}
}

// kafkaTexts are the heading and the line for each kind of problem that is told at the end.
var kafkaTexts = [trailing]struct{ heading, line string }{
	indexMismatch:  {"Mismatches in :%s", "  Index offset: %d, log offset: %d"},
	timeMismatch:   {"Found timestamp mismatch in :%s", "  Index timestamp: %d, log timestamp: %d"},
	timeOrder:      {"Found out of order timestamp in :%s", "  Index timestamp: %d, Previously indexed timestamp: %d"},
	offsetNotFound: {"The following indexed offsets are not found in :%s", "Indexed offset: %d, found log offset: %d"},
	gap:            {"Non-consecutive offsets in %s", "  %d is followed by %d"},
}

// close tells the problems, by kind and file.
func (s *kafkaSink) close() error {
	if err := s.out.Flush(); err != nil {
		return err
	}
	for kind, text := range kafkaTexts {
		for _, file := range s.problems {
			problems := file.of[kind]
			if len(problems) == 0 {
				continue
			}
			name, err := filepath.Abs(file.file)
			if err != nil {
				name = file.file
			}
			fmt.Fprintf(s.errs, text.heading+"\n", name)
			for i := range problems {
				p := problems[i]
				if problemKind(kind) == indexMismatch { // Kafka has the newest first
					p = problems[len(problems)-1-i]
				}
				fmt.Fprintf(s.errs, text.line+"\n", p.a, p.b)
			}
		}
	}
	return nil
}

// firstSequence is that of the batch that p remembers; sequences wrap.
func firstSequence(p producer.Entry) int32 {
	first := int64(p.LastSequence) - int64(p.OffsetDelta)
	if first < 0 {
		first += 1 << 31
	}
	return int32(first)
}

// optionalLong is a Java OptionalLong's text.
func optionalLong(n int64, ok bool) string {
	if !ok {
		return "OptionalLong.empty"
	}
	return fmt.Sprintf("OptionalLong[%d]", n)
}

// javaSize is the size of b, −1 of null.
func javaSize(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}
