package model

import (
	"strings"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

// encode gives the bytes of b, and completes what they tell.
func encode(dst []byte, b *Batch) ([]byte, error) {
	h := codec.NewHeader(2)
	h.BaseOffset, h.LeaderEpoch = b.Base, b.Epoch
	h.ProducerID, h.ProducerEpoch, h.BaseSequence = b.Producer, b.ProducerEpoch, b.Sequence
	h.Attributes = codec.Attributes(b.Compression)
	if b.Txn {
		h.Attributes |= codec.TransactionalBit
	}
	at := len(dst)
	var err error
	if b.Control {
		dst, err = codec.AppendMarker(dst, h, b.Marker, b.Records[0].Time)
	} else {
		records := make([]codec.Record, len(b.Records))
		for i, r := range b.Records {
			records[i] = codec.Record{Offset: r.Offset, Timestamp: r.Time, Value: []byte(r.Value)}
			if r.Keyed {
				records[i].Key = []byte("key")
			}
		}
		dst, err = codec.Kafka().Append(dst, h, records)
	}
	if err != nil {
		return dst, err
	}
	if h, err = codec.Kafka().Header(dst[at:]); err != nil {
		return dst, err
	}
	b.Size, b.Max, b.Last = int64(h.Size), h.MaxTimestamp, h.LastOffset
	if b.Damaged {
		dst[len(dst)-1] ^= 1
	}
	return dst, nil
}

// decode is what a slice holds.
func decode(s *segment.Slice) (all []Batch, err error) {
	for raw, err := range s.Batches() {
		if err != nil {
			return nil, err
		}
		h := raw.Header
		b := Batch{
			Base: h.BaseOffset, Last: h.LastOffset, Size: int64(h.Size), Epoch: h.LeaderEpoch, Max: h.MaxTimestamp,
			Compression: h.Attributes.Compression(), Producer: h.ProducerID, ProducerEpoch: h.ProducerEpoch,
			Sequence: h.BaseSequence, Txn: h.Attributes.Transactional(), Control: h.Attributes.Control(),
		}
		for r, err := range codec.Kafka().Records(raw.Bytes) {
			if err != nil {
				return nil, err
			}
			if b.Control {
				if b.Marker, err = codec.ReadMarker(r); err != nil {
					return nil, err
				}
				b.Records = append(b.Records, Record{Offset: r.Offset, Time: r.Timestamp})
				continue
			}
			b.Records = append(b.Records, record(r))
		}
		all = append(all, b)
	}
	return all, nil
}

// record is one as the model has it.
func record(r codec.Record) Record {
	return Record{Offset: r.Offset, Time: r.Timestamp, Keyed: r.Key != nil, Value: string(r.Value)}
}

// padded is s with so many bytes behind it.
func padded(s string, n int) string { return s + strings.Repeat(".", n) }
