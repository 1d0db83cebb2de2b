package log

import (
	"fmt"

	"github.com/stratalog/strata/codec"
)

// AppendRecords encodes recs in the log's format, in as few batches as MessageBytes and SegmentBytes allow,
// and appends them as Append does, one after the other.
//
//   - Their Offset does not count, and a Timestamp of 0 is now.
//   - A record that no batch has room for is ErrRecordTooLarge, and none is appended.
//   - With any other error the batches before it are in the log, and Appended tells of them.
func (l *Log) AppendRecords(recs ...codec.Record) (Appended, error) {
	if err := l.writable(); err != nil {
		return Appended{}, err
	}
	sets, err := l.encodeRecords(recs)
	if err != nil {
		return Appended{}, err
	}
	total := takeIncoming(appendRules{})
	defer total.give()
	total.result.StartOffset = l.StartOffset()
	for i, set := range sets {
		got, err := l.Append(set)
		if err != nil {
			return total.result, err
		}
		if i == 0 {
			total.result = got
			continue
		}
		total.result.add(got)
	}
	return total.result, nil
}

// add adds what another append did, which came behind.
func (a *Appended) add(b Appended) {
	a.LastOffset, a.LeaderEpoch, a.StartOffset = b.LastOffset, b.LeaderEpoch, b.StartOffset
	a.Batches += b.Batches
	a.Records += b.Records
	a.Bytes += b.Bytes
	a.WrittenBytes += b.WrittenBytes
	a.Converted += b.Converted
	a.MaxTimestamp = max(a.MaxTimestamp, b.MaxTimestamp)
	a.AppendTimestamp = b.AppendTimestamp
}

// encodeRecords encodes records, in batches that are not larger than allowed.
func (l *Log) encodeRecords(recs []codec.Record) (sets [][]byte, err error) {
	f := l.force.Load()
	limit, key := int(f.MessageBytes), "max.message.bytes"
	if f.SegmentBytes < f.MessageBytes {
		limit, key = int(f.SegmentBytes), "segment.bytes"
	}
	h := codec.NewHeader(f.magic())
	if c := f.Compression; c != CompressionProducer {
		h.Attributes |= codec.Attributes(c - CompressionNone)
	}
	now := l.now().UnixMilli()
	b := codec.NewBuilder(f.codec, h, limit)
	flush := func() error {
		set, err := b.AppendTo(nil)
		if err != nil {
			return err
		}
		if len(set) > limit {
			return fmt.Errorf("append: %d bytes are more than %s, %d: %w", len(set), key, limit, ErrRecordTooLarge)
		}
		sets = append(sets, set)
		b.Reset(h)
		return nil
	}
	for i, r := range recs {
		if r.Timestamp == 0 {
			r.Timestamp = now
		}
		ok, err := b.Add(r)
		if err == nil && !ok {
			if err = flush(); err == nil {
				_, err = b.Add(r) // the first always fits
			}
		}
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
	}
	if b.Len() > 0 {
		err = flush()
	}
	return sets, err
}
