package model

import (
	"math"
	"time"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// Append appends a batch as the leader does, and gives it its place (UnifiedLog.appendAsLeader).
func (m *Log) Append(b Batch, o log.AppendOptions) (log.Appended, error) {
	a := noAppend(m.Start)
	note(&a, &b)
	switch {
	case b.Base != 0 && o.Origin == log.FromClient, b.Epoch != o.LeaderEpoch && o.Origin == log.FromRaftLeader:
		return a, log.ErrInvalidRecord
	case b.Size > m.MessageBytes:
		return a, log.ErrRecordTooLarge
	case b.Damaged:
		return a, codec.ErrCorrupt
	}
	if o.Origin == log.FromRaftLeader {
		return m.appendDue(a, []Batch{b}, o)
	}
	if err := m.validate(&b, o); err != nil {
		return a, err
	}
	b.place(m.End, o.LeaderEpoch)
	var err error
	if a.Converted, err = m.recompress(&b); err != nil {
		return a, err
	}
	if m.Timestamps == log.LogAppendTime { // the bytes of the records keep their times
		b.date(m.Now)
		a.AppendTimestamp = m.Now
	}
	a.BaseOffset, a.LastOffset, a.MaxTimestamp = b.Base, b.Last, b.Max
	return m.append(a, []Batch{b}, b.Base, o)
}

// validate is what of Kafka's LogValidator can fail here (LogValidator).
func (m *Log) validate(b *Batch, o log.AppendOptions) error {
	if o.Origin == log.FromClient && (b.Control || b.Producer >= 0 && b.Sequence < 0) {
		return log.ErrInvalidRecord
	}
	for _, r := range b.Records {
		if m.Cleanup&log.Compact != 0 && !r.Keyed && !b.Control {
			return log.ErrInvalidRecord // all records of a batch have a key, or none
		}
	}
	for _, r := range b.Records {
		old, ahead := m.Now-r.Time > limit(m.TimestampBefore), r.Time-m.Now > limit(m.TimestampAfter)
		if m.Timestamps == log.CreateTime && r.Time != codec.NoTimestamp && (old || ahead) {
			return log.ErrInvalidTimestamp
		}
	}
	return nil
}

// recompress encodes a batch anew where the log has its own compression, and returns how many records that were. Markers
// stay as they are (LogValidator.validateMessagesAndAssignOffsetsCompressed).
func (m *Log) recompress(b *Batch) (converted int, err error) {
	wanted := codec.Compression(m.Compression - log.CompressionNone)
	if m.Compression == log.CompressionProducer || b.Compression == wanted || b.Control {
		return 0, nil
	}
	b.Compression = wanted
	if _, err := encode(nil, b); err != nil {
		return 0, err
	}
	if b.Size > m.MessageBytes {
		return 0, log.ErrRecordTooLarge
	}
	return len(b.Records), nil
}

// limit is an age in ms.
func limit(d time.Duration) int64 { return d.Milliseconds() }

// AppendAssigned appends batches as a follower does (UnifiedLog.appendAsFollower).
func (m *Log) AppendAssigned(batches []Batch, epoch int32) (log.Appended, error) {
	a := noAppend(m.Start)
	last := int64(-1)
	order := true
	for i := range batches {
		b := &batches[i]
		if b.Epoch > epoch {
			batches = batches[:i]
			break
		}
		if b.Damaged {
			return a, codec.ErrCorrupt
		}
		order = order && b.Last > last
		last = b.Last
		note(&a, b)
	}
	switch {
	case !order:
		return a, log.ErrOffsetOrder
	case len(batches) == 0:
		return a, nil
	}
	return m.appendDue(a, batches, log.AppendOptions{Origin: follower})
}

// appendDue appends batches that have their offsets.
func (m *Log) appendDue(a log.Appended, batches []Batch, o log.AppendOptions) (log.Appended, error) {
	if a.BaseOffset = batches[0].Base; a.BaseOffset < m.End {
		return a, log.ErrUnexpectedOffset
	}
	return m.append(a, batches, a.BaseOffset, o)
}

// follower is no log.Origin: a follower checks less.
const follower = math.MaxUint8

// noAppend is the answer to an append of nothing.
func noAppend(start int64) log.Appended {
	return log.Appended{
		BaseOffset: codec.NoOffset, LastOffset: codec.NoOffset, LeaderEpoch: codec.NoLeaderEpoch,
		MaxTimestamp: codec.NoTimestamp, AppendTimestamp: codec.NoTimestamp, StartOffset: start,
	}
}

// note counts a batch as it came.
func note(a *log.Appended, b *Batch) {
	a.Batches++
	a.Records += len(b.Records)
	a.Bytes += b.Size
	a.LeaderEpoch, a.LastOffset, a.MaxTimestamp = b.Epoch, b.Last, max(a.MaxTimestamp, b.Max)
	if b.Compression != codec.None {
		a.Compression = b.Compression
	}
}

// append is what leaders and followers have in common (UnifiedLog.append).
func (m *Log) append(a log.Appended, batches []Batch, first int64, o log.AppendOptions) (log.Appended, error) {
	for _, b := range batches {
		if b.Epoch < 0 {
			return a, log.ErrInvalidRecord
		}
		m.assign(b.Epoch, b.Base)
	}
	written := int64(0)
	for _, b := range batches {
		written += b.Size
	}
	if written > m.SegmentBytes {
		return a, log.ErrBatchTooLarge
	}
	r := rules{
		client: o.Origin == log.FromClient, follower: o.Origin == follower, version: o.TxnVersion,
		verify: m.Verify && o.Origin != log.FromRaftLeader, guard: o.Guard,
	}
	c, twice, err := m.check(batches, r)
	if (err == nil || first <= m.End) && m.mustRoll(written, a.LastOffset, a.MaxTimestamp) {
		m.Roll(first) // for one that is refused behind a gap only Kafka does
	}
	if err != nil {
		return a, err
	}
	if twice != nil {
		a.Duplicate, a.BaseOffset, a.LastOffset, a.AppendTimestamp = true, twice.FirstOffset, twice.LastOffset, twice.Timestamp
		return a, nil
	}
	m.touched = true
	for _, b := range batches {
		m.active().append(b)
	}
	m.End = a.LastOffset + 1
	m.take(c, m.active())
	m.upTo = m.End
	m.settle()
	a.WrittenBytes = written
	if m.End-max(m.RecoveryPoint, m.promised) >= m.FlushMessages {
		m.Sync(m.End)
	}
	return a, nil
}
