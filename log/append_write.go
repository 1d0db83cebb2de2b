package log

import (
	"errors"
	"fmt"
	"math"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

// append is an append of any kind: what does not depend on the log's state is checked without the lock, the
// rest with it, in Kafka's order.
func (l *Log) append(batches []byte, r appendRules) (Appended, error) {
	if err := l.writable(); err != nil {
		return Appended{}, err
	}
	in := takeIncoming(r)
	defer in.give()
	f := l.force.Load()
	if err := in.check(f.codec, batches, f); err != nil {
		return Appended{}, err
	}
	if in.result.Bytes == 0 {
		in.result.StartOffset = l.StartOffset()
		return in.result, nil
	}
	if !in.assign {
		in.readWrapped(f.codec)
	}
	// What is of magic 2 then only has to be moved if somebody else appends meanwhile.
	early := in.assign && f.magic() >= 2 && f.Timestamps == CreateTime
	if early {
		if err := in.validate(f, l.EndOffset(), l.now().UnixMilli()); err != nil {
			return Appended{}, err
		}
	}
	flush, err := l.appendLocked(in, f, early)
	if err != nil {
		return Appended{}, err
	}
	if flush {
		if err := l.Sync(in.result.LastOffset + 1); err != nil {
			return Appended{}, err
		}
	}
	return in.result, nil
}

// appendLocked does what is done under the lock. flush says that so many records are not synced that
// FlushMessages asks for it.
func (l *Log) appendLocked(in *incoming, f *inForce, validated bool) (flush bool, err error) {
	l.mu.Lock()
	defer l.unlock()
	if err := l.writable(); err != nil {
		return false, err
	}
	if err := l.writeTopicID(); err != nil {
		return false, err
	}
	v := l.view.Load()
	if err := l.place(in, f, v.end, validated); err != nil {
		return false, err
	}
	if err := l.noteEpochs(in); err != nil {
		return false, err
	}
	if n := int64(len(in.batches)); n > f.SegmentBytes {
		return false, fmt.Errorf("append: %d bytes are more than segment.bytes, %d: %w", n, f.SegmentBytes, ErrBatchTooLarge)
	}
	analysis, duplicate, refused := l.analyze(in, f)
	// As in Kafka an append that is refused may have rolled, but not to behind a gap: what is appended next
	// would lie below its segment's base.
	if refused == nil || in.firstOffset <= v.end {
		if v, err = l.rollFor(in, f, v); err != nil {
			return false, err
		}
	}
	if refused != nil {
		return false, refused
	}
	in.result.StartOffset = v.start
	if duplicate {
		return false, nil
	}
	if err := l.write(in, v, analysis); err != nil {
		return false, err
	}
	return in.lastOffset+1-max(l.syncer.recoveryPoint(), l.promised) >= f.FlushMessages, nil
}

// place gives the batches their place behind end, or sees that the one that they have is there.
func (l *Log) place(in *incoming, f *inForce, end int64, validated bool) error {
	if !in.assign {
		return in.expect(end)
	}
	in.firstOffset = end
	if !validated {
		return in.validate(f, end, l.now().UnixMilli())
	}
	return in.shift(f.codec, end)
}

// expect sees that the offsets that the batches have are not below end: a gap is a leader's compaction.
func (in *incoming) expect(end int64) error {
	first := in.firstOffset
	if first == codec.NoOffset {
		first = in.lastOfFirst
	}
	if first < end {
		if in.firstOffset == codec.NoOffset && in.baseOfFirst != codec.NoOffset {
			first = in.baseOfFirst
		}
		return &UnexpectedOffset{First: first, Last: in.lastOffset, EndOffset: end}
	}
	if in.lastOffset == math.MaxInt64 {
		return fmt.Errorf("append: offset %d: %w", in.lastOffset, ErrInvalidRecord)
	}
	return nil
}

// noteEpochs notes where a leader epoch begins. Formats without epochs take all of them back: what comes
// behind them cannot be told by epochs.
func (l *Log) noteEpochs(in *incoming) error {
	epochs := l.epochs.Load()
	for i := range in.hs {
		h := &in.hs[i]
		switch {
		case h.Magic < 2:
			if len(epochs.Entries()) > 0 {
				epochs.Clear()
			}
			if err := l.writeEpochs(); err != nil {
				return err
			}
		case h.LeaderEpoch < 0:
			return fmt.Errorf("append: batch without leader epoch: %w", ErrInvalidRecord)
		default:
			if err := epochs.Assign(h.LeaderEpoch, h.BaseOffset); err != nil {
				return l.failWrite(err)
			}
		}
	}
	return nil
}

// analyze asks what the producers of the batches are allowed. Of a duplicate the result tells where the
// first is.
func (l *Log) analyze(in *incoming, f *inForce) (a *producer.Analysis, duplicate bool, err error) {
	a = l.prod.Analyze(in.producers)
	pos := 0
	for i := range in.hs {
		h := &in.hs[i]
		end := pos + h.Size
		if h.ProducerID < 0 {
			pos = end
			continue
		}
		b := producer.Batch{Header: h}
		if h.Attributes.Control() {
			if b.Marker, err = producer.ReadMarker(f.codec, in.batches[pos:end]); err != nil {
				return nil, false, fmt.Errorf("append: marker: %w", err)
			}
		}
		dup, duplicate, err := a.Add(b)
		if err != nil {
			return nil, false, fmt.Errorf("append: %w", err)
		}
		if duplicate {
			r := &in.result
			r.Duplicate = true
			r.BaseOffset, r.LastOffset, r.AppendTimestamp = dup.FirstOffset, dup.LastOffset, dup.Timestamp
			return nil, true, nil
		}
		pos = end
	}
	return a, false, nil
}

// write writes the batches and publishes the new end.
func (l *Log) write(in *incoming, v *view, a *producer.Analysis) error {
	if err := l.touch(); err != nil {
		return err
	}
	active := v.active()
	in.aborted = a.Aborted(in.aborted[:0])
	_, err := active.Append(in.batches, in.hs, in.aborted...)
	if len(in.aborted) > 0 {
		l.syncer.names.Store(true) // the first one makes the file
	}
	if err != nil {
		if errors.Is(err, segment.ErrOverflow) || errors.Is(err, segment.ErrRange) {
			return fmt.Errorf("append: %w", err)
		}
		return l.failWrite(err)
	}
	next := *v
	next.end, next.size = in.lastOffset+1, active.Size()
	a.Commit()
	l.prod.SetEnd(next.end)
	l.publishTxns(next)

	r := &in.result
	if in.assign {
		r.BaseOffset = v.end
	}
	r.LastOffset, r.MaxTimestamp = in.lastOffset, in.maxStamp
	r.WrittenBytes = int64(len(in.batches))
	l.counts.appends.Add(1)
	l.counts.appendedRecords.Add(int64(r.Records))
	l.counts.appendedBytes.Add(r.WrittenBytes)
	return nil
}
