package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/stratalog/strata/codec"
)

const (
	leastBatches = 150               // of a log
	someTime     = 1_480_000_000_000 // ms, around which the records were
)

// makeLogs writes a log for each magic: of batches of that and of lower ones, with every compression and
// feature, as a directory that a Kafka can be given.
func makeLogs(dir string, seed uint64, out io.Writer) error {
	for magic := range int8(3) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, uint64(magic))), magic: magic}
		if err := g.fill(); err != nil {
			return err
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
	magic   int8
	log     []byte
	batches int
	offset  int64
}

// oneIn is true once in n times.
func (g *generator) oneIn(n int) bool { return g.IntN(n) == 0 }

// fill goes through all features with all compressions, and puts some batches of lower magic between them,
// until there are enough.
func (g *generator) fill() error {
	for g.batches < leastBatches {
		for i := range features {
			f := &features[i]
			for c := codec.None; c <= codec.Zstd; c++ {
				if g.magic < f.since || g.magic < 2 && c == codec.Zstd || f.plain && c != codec.None {
					continue
				}
				if err := g.batch(g.magic, c, f); err != nil {
					return fmt.Errorf("%s with %s: %w", f.name, c, err)
				}
			}
		}
		for magic := range g.magic {
			if err := g.batch(magic, codec.Compression(g.IntN(4)), &features[0]); err != nil {
				return fmt.Errorf("magic %d: %w", magic, err)
			}
		}
	}
	return nil
}

func (g *generator) batch(magic int8, c codec.Compression, f *feature) error {
	h := codec.NewHeader(magic)
	h.Attributes = codec.Attributes(c)
	if magic == 2 {
		h.LeaderEpoch = int32(g.offset / 500)
	}
	h.BaseOffset = g.offset
	recs := f.make(g, &h)
	var err error
	g.log, err = codec.Kafka().Append(g.log, h, recs)
	g.offset = max(g.offset, h.LastOffset+1)
	g.batches++
	return err
}

// records are the records of a batch of data.
func (g *generator) records(magic int8) []codec.Record {
	recs := make([]codec.Record, 1+g.IntN(20))
	for i := range recs {
		recs[i] = g.record(magic)
	}
	return recs
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
		r.Value = g.text(140_000) // more than a block of lz4, or of snappy
	default:
		r.Value = g.text(200)
	}
	if magic < 2 {
		return r
	}
	for range g.IntN(4) {
		h := codec.RecordHeader{Key: g.text(4)}
		if !g.oneIn(4) {
			h.Value = g.text(9)
		}
		r.Headers = append(r.Headers, h)
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
