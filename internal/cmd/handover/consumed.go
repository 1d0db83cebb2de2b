package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stratalog/strata/codec"
)

// consumedRecord is a record as a consumer's output has it.
type consumedRecord struct {
	Partition   int          `json:"partition"`
	Offset      int64        `json:"offset"`
	Timestamp   int64        `json:"timestamp"`
	LeaderEpoch *int32       `json:"leaderEpoch"`
	Key         []byte       `json:"key"`
	Value       []byte       `json:"value"`
	Headers     [][2]*string `json:"headers"` // the value in base64, or null
}

// record is c as the model has it.
func (c *consumedRecord) record() (record, error) {
	r := record{Record: codec.Record{Offset: c.Offset, Timestamp: c.Timestamp, Key: c.Key, Value: c.Value}, epoch: -1}
	if c.LeaderEpoch != nil {
		r.epoch = *c.LeaderEpoch
	}
	for _, h := range c.Headers {
		header := codec.RecordHeader{Key: []byte(*h[0])}
		if h[1] != nil {
			value, err := base64.StdEncoding.DecodeString(*h[1])
			if err != nil {
				return record{}, err
			}
			header.Value = value
		}
		r.Headers = append(r.Headers, header)
	}
	return r, nil
}

// consumed compares what a consumer got.
func (c *call) consumed(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var got [partitions][]record
	for lines := json.NewDecoder(f); ; {
		var line consumedRecord
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if line.Partition < 0 || line.Partition >= partitions {
			return fmt.Errorf("%s: partition %d", name, line.Partition)
		}
		r, err := line.record()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		got[line.Partition] = append(got[line.Partition], r)
	}
	for partition, records := range got {
		p := newPlan(partition, c.time)
		p.broker()
		if err := p.compare(records, c.committed); err != nil {
			return fmt.Errorf("partition %d: %w", partition, err)
		}
	}
	fmt.Fprintf(c.out, "RESULT consumed=%d,%d committed=%t differences=0\n", len(got[0]), len(got[1]), c.committed)
	return nil
}
