package codec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stratalog/strata/codec"
)

// TestAllocations counts: nothing a record, and for a batch nothing, or a few where an iterator or a pool has a
// part in it.
func TestAllocations(t *testing.T) {
	c := codec.Kafka()
	recs := someRecords(batchShapes[0])
	batch := encode(t, codec.NewHeader(2), recs)
	packed := encode(t, compressed(2, codec.LZ4), recs)
	dst := make([]byte, 0, 2*len(batch))
	rules := codec.Rules{Magic: 2, Now: recs[0].Timestamp, MaxAge: -1, MaxAhead: -1}
	var sink codec.Header
	for _, row := range []struct {
		name string
		most float64
		run  func() error
	}{
		{"Header", 0, func() (err error) { sink, err = c.Header(batch); return err }},
		{"Header of too few bytes", 0, func() error { sink, _ = c.Header(batch[:40]); return nil }},
		{"Verify", 0, func() error { return c.Verify(batch) }},
		{"Restamp", 0, func() error {
			return c.Restamp(batch, codec.Stamp{LastOffset: 99, MaxTimestamp: 7, LogAppendTime: true})
		}},
		{"Restamp back", 0, func() error { return c.Restamp(batch, codec.Stamp{LastOffset: 99, MaxTimestamp: 7}) }},
		{"Append", 0, func() error { _, err := c.Append(dst, codec.NewHeader(2), recs); return err }},
		{"Validate", 0, func() error { _, err := codec.Validate(c, nil, batch, rules); return err }},
		{"Validate lz4", 4, func() error { _, err := codec.Validate(c, nil, packed, rules); return err }},
		{"Records, a batch", 4, func() error {
			for _, err := range c.Records(batch) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{"Records lz4, a batch", 8, func() error {
			for _, err := range c.Records(packed) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var err error
			got := testing.AllocsPerRun(50, func() {
				if e := row.run(); e != nil {
					err = e
				}
			})
			require.NoError(t, err)
			require.LessOrEqual(t, got, row.most)
		})
	}
	_ = sink
}
