package cli

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/producer"
)

// textSink shows what dump finds to people.
type textSink struct {
	*env
	data        bool
	skipControl bool
	file        string
}

func (s *textSink) open(file string) {
	s.file = file
	fmt.Fprintf(s.out, "%s\n", file)
}

func (s *textSink) note(string) {} // the file's name tells it

func (s *textSink) verdict(text string) { fmt.Fprintf(s.out, "  %s\n", text) }

func (s *textSink) batch(pos int64, h codec.Header, valid bool) {
	fmt.Fprintf(s.out, "  batch %d-%d at %d: %d bytes, magic %d, %s", h.BaseOffset, h.LastOffset, pos, h.Size, h.Magic, h.Attributes.Compression())
	if h.Count >= 0 {
		fmt.Fprintf(s.out, ", %d records", h.Count)
	}
	fmt.Fprintf(s.out, ", %s %s", timestampType(h), timeText(h.MaxTimestamp))
	if h.LeaderEpoch >= 0 {
		fmt.Fprintf(s.out, ", leader epoch %d", h.LeaderEpoch)
	}
	if h.ProducerID >= 0 {
		fmt.Fprintf(s.out, ", producer %d epoch %d sequence %d-%d", h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.LastSequence())
	}
	if h.Attributes.Transactional() {
		fmt.Fprint(s.out, ", transactional")
	}
	if h.Attributes.Control() {
		fmt.Fprint(s.out, ", control")
	}
	if ms, ok := h.DeleteHorizon(); ok {
		fmt.Fprintf(s.out, ", delete horizon %s", timeText(ms))
	}
	if !valid {
		fmt.Fprint(s.out, ", CHECKSUM WRONG")
	}
	fmt.Fprintln(s.out)
	if !valid {
		s.notice("%s: batch at position %d, offsets %d to %d: the checksum does not fit", s.file, pos, h.BaseOffset, h.LastOffset)
	}
}

func (s *textSink) record(h codec.Header, r codec.Record) {
	if h.Attributes.Control() {
		if control := newControlLine(r); !s.skipControl {
			fmt.Fprintf(s.out, "    %d %s %s\n", r.Offset, timeText(r.Timestamp), control.Type)
		}
		return
	}
	fmt.Fprintf(s.out, "    %d %s", r.Offset, timeText(r.Timestamp))
	if !s.data {
		fmt.Fprintf(s.out, " key %d bytes, value %d bytes, %d headers\n", javaSize(r.Key), javaSize(r.Value), len(r.Headers))
		return
	}
	fmt.Fprintf(s.out, " key=%s value=%s", bytesText(r.Key), bytesText(r.Value))
	for _, header := range r.Headers {
		fmt.Fprintf(s.out, " %s=%s", bytesText(header.Key), bytesText(header.Value))
	}
	fmt.Fprintln(s.out)
}

func (s *textSink) entry(x *indexFile, e index.Entry) {
	if x.layout == index.TimeLayout {
		fmt.Fprintf(s.out, "  %s (%d) offset %d\n", timeText(e.Key), e.Key, e.Value)
		return
	}
	fmt.Fprintf(s.out, "  offset %d position %d\n", e.Key, e.Value)
}

func (s *textSink) aborted(_ int16, t index.AbortedTxn) {
	fmt.Fprintf(s.out, "  producer %d aborted offsets %d to %d, last stable offset then %d\n",
		t.ProducerID, t.FirstOffset, t.LastOffset, t.StableOffset)
}

func (s *textSink) producer(p producer.Entry) {
	fmt.Fprintf(s.out, "  producer %d epoch %d, last timestamp %s", p.ProducerID, p.Epoch, timeText(p.Timestamp))
	if p.LastOffset >= 0 {
		fmt.Fprintf(s.out, ", last batch sequence %d-%d up to offset %d", firstSequence(p), p.LastSequence, p.LastOffset)
	}
	if p.TxnFirstOffset >= 0 {
		fmt.Fprintf(s.out, ", transaction open since offset %d", p.TxnFirstOffset)
	}
	fmt.Fprintln(s.out)
}

func (s *textSink) problem(p problem) {
	if p.kind == gap {
		fmt.Fprintf(s.out, "    (%s)\n", p.text())
		return
	}
	s.notice("%s%s: %s", s.file, p.place(), p.text())
}

// place is where in its file p is, as it follows the file's name.
func (p problem) place() string {
	if p.pos < 0 {
		return ""
	}
	return fmt.Sprintf(" at %d", p.pos)
}

func (s *textSink) close() error { return nil }

// timeText is the time ms, or "-" where there is none.
func timeText(ms int64) string {
	if ms < 0 {
		return "-"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// bytesText is b for people: quoted, or as hexadecimal digits where it is not UTF-8.
func bytesText(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case utf8.Valid(b):
		return strconv.Quote(string(b))
	}
	return fmt.Sprintf("0x%x", b)
}
