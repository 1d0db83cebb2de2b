package log

import (
	"errors"
	"fmt"
	"io"

	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

// recoverSegment recovers the i-th segment, with its index of aborted transactions and the leader epochs
// that begin in it, and snapshots the producers behind it.
func (r *loader) recoverSegment(i int, keep func(string, int64, io.Reader) error) (segment.Recovery, error) {
	s := r.segs[i]
	if err := r.producersTo(i); err != nil {
		return segment.Recovery{}, err
	}
	var aborted []index.AbortedTxn
	rec, err := s.Recover(r.ctx, segment.RecoverOptions{
		From: r.resume.RecoveryPoint,
		Seen: func(b segment.Batch, bytes []byte) error {
			var err error
			if aborted, err = r.see(b, bytes, aborted[:0]); err != nil {
				return err
			}
			for _, t := range aborted {
				if err := s.AppendAborted(t); err != nil {
					return err
				}
			}
			return nil
		},
		Keep:    keep,
		Damaged: r.foundDamage,
	})
	if err != nil {
		return rec, fmt.Errorf("recover segment %d: %w", s.BaseOffset(), err)
	}
	return rec, r.snapshotTemp()
}

// snapshotTemp snapshots the producers as recovery knows them, so that no segment needs to be read again. What has
// no producers in its format gets its snapshots in openProducers.
func (r *loader) snapshotTemp() error {
	if r.force.Load().magic() < 2 {
		return nil
	}
	_, err := r.temp.TakeSnapshot(false)
	return err
}

// see takes a batch into account that recovery kept.
func (r *loader) see(b segment.Batch, bytes []byte, aborted []index.AbortedTxn) ([]index.AbortedTxn, error) {
	if err := r.noteEpoch(b.LeaderEpoch, b.BaseOffset); err != nil {
		return nil, err
	}
	return r.seeProducer(b, bytes, aborted)
}

// seeProducer takes the producer of a batch into account.
func (r *loader) seeProducer(b segment.Batch, bytes []byte, aborted []index.AbortedTxn) ([]index.AbortedTxn, error) {
	if b.Magic < 2 {
		return aborted, nil // as in Kafka, which snapshots at the end of the last batch that may have a producer
	}
	if b.ProducerID < 0 {
		r.temp.SetEnd(b.NextOffset())
		return aborted, nil
	}
	p := producer.Batch{Header: &b.Header}
	if b.Attributes.Control() {
		var err error
		if p.Marker, err = producer.ReadMarker(r.parts.Codec, bytes); err != nil {
			return aborted, damageIsNone(err)
		}
	}
	aborted, err := r.temp.Replay(aborted, p)
	if errors.Is(err, producer.ErrInvalidTxnState) {
		r.temp.SetEnd(b.NextOffset())
		return aborted, nil // what is in the log is in the log, whatever its producer should have done
	}
	return aborted, err
}

// noteEpoch notes a leader epoch that is above the last one.
func (r *loader) noteEpoch(epoch int32, offset int64) error {
	epochs := r.epochs.Load()
	latest, ok := epochs.Latest()
	if epoch < 0 || ok && epoch <= latest.Epoch || r.force.Load().magic() < 2 {
		return nil
	}
	return epochs.Assign(epoch, offset)
}

// producersTo brings the producers that recovery knows to the base of the i-th segment, with a snapshot
// there. Kafka loads them for each segment anew: of what lies below the start it knows none, and what is
// expired does not pass from a segment to the next. It repairs a segment when it comes to it, so that the last
// two segments, where it takes snapshots on the way, are those before it then.
func (r *loader) producersTo(i int) error {
	base, now := r.segs[i].BaseOffset(), r.now().UnixMilli()
	if r.temp != nil && r.temp.End() == base && base > r.resume.StartOffset {
		r.temp.Expire(now)
		return nil
	}
	var err error
	if r.temp, err = r.newProducers(); err != nil {
		return err
	}
	if r.force.Load().magic() < 2 {
		r.temp.SetEnd(base)
		return nil
	}
	r.reread = true
	v := view{segs: r.segs, start: r.resume.StartOffset, end: base}
	if r.mending {
		v.segs = r.segs[:i]
	}
	return r.temp.Rebuild(r.rebuild(&v, false))
}
