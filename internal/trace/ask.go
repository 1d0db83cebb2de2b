package trace

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// ask makes an operation that only asks.
func (w *world) ask(op *Op, m Meta) (any, error) {
	switch l := w.log; op.Op {
	case "read":
		return w.read(op, m)
	case "offsetForTimestamp":
		f, ok, err := l.OffsetForTime(op.Timestamp)
		if err != nil || !ok {
			return none{true}, err
		}
		return found{f.Timestamp, f.Offset, f.LeaderEpoch}, nil
	case "endOffsetForEpoch":
		end, ok := l.OffsetForEpoch(op.Epoch)
		if !ok {
			return none{true}, nil
		}
		return epochEnd{end.Epoch, end.EndOffset}, nil
	case "epochForOffset":
		epoch, ok := l.EpochForOffset(op.Offset)
		if !ok {
			return none{true}, nil
		}
		return answer[int32]{"epoch": epoch}, nil
	case "abortedTxns":
		return w.abortedTxns(op)
	default:
		return w.state()
	}
}

// abortedTxns asks for the whole of the segment that the range begins in, as Kafka does.
func (w *world) abortedTxns(op *Op) (any, error) {
	st := w.log.State()
	from := st.Segments[0].BaseOffset
	if op.Start < from {
		return answer[[][4]int64]{"aborted": {}}, nil
	}
	for _, s := range st.Segments {
		if s.BaseOffset <= op.Start {
			from = s.BaseOffset
		}
	}
	all, err := w.log.Aborted(max(from, st.StartOffset), or(op.UpTo, 0))
	return answer[[][4]int64]{"aborted": txns(all)}, err
}

type none struct {
	None bool `json:"none"`
}

type found struct {
	Timestamp int64 `json:"ts"`
	Offset    int64 `json:"offset"`
	Epoch     int32 `json:"epoch"`
}

type epochEnd struct {
	Epoch  int32 `json:"epoch"`
	Offset int64 `json:"offset"`
}

// txns are aborted transactions as traces have them.
func txns(all []index.AbortedTxn) [][4]int64 {
	rows := make([][4]int64, len(all))
	for i, t := range all {
		rows[i] = [4]int64{t.ProducerID, t.FirstOffset, t.LastOffset, t.StableOffset}
	}
	return rows
}

// readAnswer is the answer to read.
type readAnswer struct {
	Offset     int64       `json:"offset"`
	Segment    int64       `json:"segment"`
	Position   int64       `json:"position"`
	Size       int         `json:"size"`
	CRC        string      `json:"crc"`
	Decoded    string      `json:"decoded,omitempty"`
	Incomplete bool        `json:"incomplete"`
	Aborted    *[][2]int64 `json:"aborted,omitempty"`

	hole bool // no batch has the offset or a later one
}

// isolations are the names of what bounds a read.
var isolations = map[string]log.Isolation{
	"": log.ReadToEnd, "log_end": log.ReadToEnd, "high_watermark": log.ReadUncommitted, "txn_committed": log.ReadCommitted,
}

// read reads. Kafka fills a read up to its limit with a part of the next batch. Our slices hold whole batches:
// the rest comes from a second one without a limit, of which the first must be the whole batches.
func (w *world) read(op *Op, m Meta) (any, error) {
	limit := or(op.MaxBytes, 1<<20)
	o := log.ReadOptions{MaxBytes: int(limit), Isolation: isolations[op.Isolation], Strict: !op.MinOne}
	if limit == 0 {
		o.MaxBytes = 1 // 0 is the default
	}
	slice, err := w.log.ReadWith(op.Offset, o)
	if err != nil {
		return nil, err
	}
	defer slice.Close()
	all, err := w.readAll(op.Offset, o.Isolation)
	if err != nil {
		return nil, err
	}
	r, err := w.placeOf(slice, op.Offset, w.limit(o.Isolation))
	if err != nil {
		return nil, err
	}
	first, err := w.firstSize(op.Offset, o.Isolation, all)
	if err != nil {
		return nil, err
	}
	if op.MinOne {
		limit = max(limit, int64(first))
	}
	part := all[:min(int64(len(all)), limit)]
	r.Size, r.CRC, r.Incomplete = len(part), checksum(part), limit > 0 && limit < int64(first)
	if m.decoded() {
		if _, r.Decoded, err = decode(part); err != nil {
			return nil, err
		}
	}
	if o.Isolation == log.ReadCommitted && !r.hole {
		aborted := make([][2]int64, 0)
		for _, t := range slice.Aborted() {
			aborted = append(aborted, [2]int64{t.ProducerID, t.FirstOffset})
		}
		r.Aborted = &aborted
	}
	return r, sameBatches(slice, part)
}

// limit is where reads end.
func (w *world) limit(i log.Isolation) int64 {
	switch i {
	case log.ReadToEnd:
		return w.log.EndOffset()
	case log.ReadCommitted:
		return w.log.StableOffset()
	default:
		return w.log.HighWatermark()
	}
}

// readAll reads as far as a read may go in a segment.
func (w *world) readAll(offset int64, i log.Isolation) ([]byte, error) {
	s, err := w.log.ReadWith(offset, log.ReadOptions{MaxBytes: math.MaxInt32, Isolation: i})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var b bytes.Buffer
	_, err = s.WriteTo(&b)
	return b.Bytes(), err
}

// firstSize is the size of the first batch of a read that gave b, or 0. Kafka also looks at the one that a read
// from below its bound begins with where that one lies at the bound.
func (w *world) firstSize(offset int64, i log.Isolation, b []byte) (int, error) {
	if len(b) == 0 && offset < w.limit(i) {
		var err error
		if b, err = w.readAll(offset, log.ReadToEnd); err != nil {
			return 0, err
		}
	}
	if len(b) == 0 {
		return 0, nil
	}
	h, err := codec.Kafka().Header(b)
	return h.Size, err
}

// placeOf is where a slice lies, and the first offset of the batch there, or the limit of the read.
func (w *world) placeOf(s *segment.Slice, offset, limit int64) (r readAnswer, err error) {
	r = readAnswer{Offset: offset, Segment: -1, Position: -1}
	base, pos, ok := s.Place()
	if !ok {
		return r, nil
	}
	r.Segment, r.Position = base, pos
	if offset == limit {
		return r, nil
	}
	b, err := w.readAll(offset, log.ReadToEnd)
	if err != nil {
		return r, err
	}
	if len(b) == 0 {
		r.Offset, r.hole = w.log.EndOffset(), true // Kafka answers with the end, and without transactions
		return r, nil
	}
	r.Offset, err = firstOffset(b)
	return r, err
}

// firstOffset is the first offset of the batch that b begins with.
func firstOffset(b []byte) (int64, error) {
	h, err := codec.Kafka().Header(b)
	if err != nil || h.BaseOffset != codec.NoOffset {
		return h.BaseOffset, err
	}
	for r, err := range codec.Kafka().Records(b[:h.Size]) {
		return r.Offset, err
	}
	return 0, io.ErrUnexpectedEOF
}

// sameBatches sees that a slice holds the whole batches of part.
func sameBatches(s *segment.Slice, part []byte) error {
	whole := 0
	for whole < len(part) {
		h, err := codec.Kafka().Header(part[whole:])
		if err != nil || whole+h.Size > len(part) {
			break
		}
		whole += h.Size
	}
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		return err
	}
	if !bytes.Equal(b.Bytes(), part[:whole]) {
		return fmt.Errorf("trace: a slice of %d bytes, which are not the %d of the whole batches", b.Len(), whole)
	}
	return nil
}
