package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/stratalog/strata/codec"
)

const (
	batchesOfLog = 150
	someTime     = 1_480_000_000_000 // ms, around which the records were
)

// makeLogs writes a log for each magic: of batches of that and of lower ones, with every compression and
// feature, as a directory that a Kafka can be given.
func makeLogs(dir string, seed uint64, out io.Writer) error {
	for magic := range int8(3) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, uint64(magic))), magic: magic}
		for range batchesOfLog {
			if err := g.batch(); err != nil {
				return err
			}
		}
		sub := filepath.Join(dir, fmt.Sprintf("magic%d", magic))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return err
		}
		name := filepath.Join(sub, "00000000000000000000.log")
		if err := os.WriteFile(name, g.log, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(out, name)
	}
	return nil
}

// generator makes a log.
type generator struct {
	*rand.Rand
	magic  int8
	log    []byte
	offset int64
}

// oneIn is true once in n times.
func (g *generator) oneIn(n int) bool { return g.IntN(n) == 0 }

func (g *generator) batch() error {
	h := g.header()
	recs := make([]codec.Record, 1+g.IntN(20))
	for i := range recs {
		recs[i] = g.record(h.Magic)
	}
	var err error
	g.log, err = codec.Kafka().Append(g.log, h, recs)
	return err
}

// header chooses format and features of a batch.
func (g *generator) header() codec.Header {
	magic := g.magic
	if g.oneIn(4) {
		magic = int8(g.IntN(int(g.magic) + 1))
	}
	h := codec.NewHeader(magic)
	h.BaseOffset = g.offset
	h.Attributes = codec.Attributes(g.IntN(4))
	if magic > 0 && g.oneIn(4) {
		h.Attributes |= codec.LogAppendTimeBit
		h.MaxTimestamp = someTime + g.Int64N(100_000)
	}
	if magic < 2 {
		return h
	}
	if g.oneIn(5) {
		h.Attributes = h.Attributes&^codec.CompressionMask | codec.Attributes(codec.Zstd)
	}
	h.LeaderEpoch = int32(g.offset / 500)
	if g.oneIn(3) {
		h.ProducerID, h.ProducerEpoch, h.BaseSequence = g.Int64N(5), int16(g.IntN(3)), g.Int32N(1000)
		if g.oneIn(2) {
			h.Attributes |= codec.TransactionalBit
		}
	}
	if g.oneIn(6) {
		h.Attributes |= codec.DeleteHorizonBit
		h.BaseTimestamp = someTime
	}
	return h
}

// record is the next record. In magic 2 it may leave a gap behind it, as compaction does.
func (g *generator) record(magic int8) codec.Record {
	r := codec.Record{Offset: g.offset, Timestamp: someTime + g.Int64N(1_000_000)}
	g.offset++
	if g.oneIn(10) {
		r.Timestamp = codec.NoTimestamp
	}
	if !g.oneIn(4) {
		r.Key = g.text(20)
	}
	switch g.IntN(10) {
	case 0: // null
	case 1:
		r.Value = []byte{}
	case 2:
		r.Value = g.text(70_000) // more than a block of lz4, or of snappy
	default:
		r.Value = g.text(200)
	}
	if magic < 2 {
		return r
	}
	for range g.IntN(4) {
		r.Headers = append(r.Headers, codec.RecordHeader{Key: g.text(4), Value: g.text(9)})
	}
	if g.oneIn(9) {
		g.offset++
	}
	return r
}

// text is fewer than n bytes that compress to about a half.
func (g *generator) text(n int) []byte {
	b := make([]byte, g.IntN(n))
	for i := range b {
		b[i] = "0123456789abcdef"[g.IntN(16)]
	}
	return b
}

// compareLog compares a log with the records that a Kafka read from it, one JSON object a line.
func compareLog(log, records string, out io.Writer) (failed bool, err error) {
	set, err := os.ReadFile(log)
	if err != nil {
		return false, err
	}
	f, err := os.Open(records)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var want []record
	for lines := json.NewDecoder(f); ; {
		var r record
		err := lines.Decode(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", records, err)
		}
		want = append(want, r)
	}
	if err := checkRead(set, want, false); err != nil {
		fmt.Fprintf(out, "%s: %v\n", log, err)
		fmt.Fprintf(out, "RESULT records=%d differences=1\n", len(want))
		return true, nil
	}
	fmt.Fprintf(out, "RESULT records=%d differences=0\n", len(want))
	return false, nil
}
