package log

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"sync"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/epoch"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/scheduler"
	"github.com/stratalog/strata/segment"
)

// repair recovers, by themselves, the segments with an index that is missing or damaged, as far as recovery
// would not come to them: later segments stay, as in Kafka.
func (r *loader) repair() error {
	if r.o.ReadOnly {
		return nil
	}
	for i := 0; i < len(r.segs); i++ {
		s := r.segs[i]
		err, failed := r.indexErr(s)
		if failed != nil {
			return failed
		}
		if err == nil || i >= r.firstUnsynced() && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		rec, err := r.recoverSegment(i, r.keep)
		if errors.Is(err, segment.ErrOverflow) {
			n, err := r.splitInRepair(i)
			if err != nil {
				return err
			}
			i += n - 1 // their indexes are new
			continue
		}
		if err == nil {
			err = s.Sync()
		}
		if err != nil {
			return err
		}
		r.syncer.names.Store(true)
		r.report.Repaired = append(r.report.Repaired, rec)
	}
	return nil
}

// indexErr is what is wrong with the indexes of a segment, or nil, and why that could not be found out.
func (r *loader) indexErr(s *segment.Segment) (wrong, failed error) {
	if err := s.IndexErr(); err != nil {
		return err, nil
	}
	if !slices.Contains(r.list.numbered, segment.FileName(s.BaseOffset(), segment.TxnIndexExt, segment.Live)) {
		return nil, nil
	}
	_, _, err := s.Aborted(nil, 0, math.MaxInt64)
	if errors.Is(err, index.ErrCorrupt) {
		return err, nil
	}
	return nil, err
}

// firstUnsynced is the first segment that recovery has to verify.
func (r *loader) firstUnsynced() int {
	if r.resume.Clean {
		return len(r.segs)
	}
	v := view{segs: r.segs}
	return v.floor(r.resume.RecoveryPoint)
}

// recover verifies the segments from the recovery point on. Behind the first cut nothing stays: what is
// there is a prefix of what was appended.
func (r *loader) recover() error {
	if r.o.ReadOnly {
		return r.probe()
	}
	first := r.firstUnsynced()
	if first >= len(r.segs) {
		return nil
	}
	ahead, err := r.verifyAhead(first)
	if err != nil {
		return err
	}
	for i := first; i < len(r.segs); i++ {
		rec, err := r.recoverInTurn(i, ahead)
		if err != nil {
			return err
		}
		r.report.Segments = append(r.report.Segments, rec)
		if err := r.dropSnapshots(); err != nil {
			return err
		}
		if err := r.dropBehindGap(i, rec.NextOffset); err != nil {
			return err
		}
	}
	if err := r.dropSnapshots(); err != nil {
		return err
	}
	r.syncer.names.Store(true)
	return r.leaveDamagedTail()
}

// recoverInTurn recovers the i-th segment, or the first of those that it is split into, after all before it.
func (r *loader) recoverInTurn(i int, ahead map[int64]*verified) (segment.Recovery, error) {
	if v := ahead[r.segs[i].BaseOffset()]; v != nil {
		return v.Recovery, r.passOver(i, v)
	}
	rec, err := r.recoverSegment(i, r.keepAndDrop(i))
	if !errors.Is(err, segment.ErrOverflow) {
		return rec, err
	}
	n, err := r.split(i)
	if err == nil {
		err = r.count(r.segs[i+n-1])
	}
	if err != nil {
		return rec, err
	}
	return r.recoverSegment(i, r.keepAndDrop(i))
}

// verified is a segment that was recovered ahead of its turn.
type verified struct {
	segment.Recovery
	epochs []epoch.Entry // the leader epochs that begin in it
}

// verifyAhead recovers segments side by side, where Options.RecoverWorkers says so, as far as they are whole,
// without producers, and not to be split: others have to wait for those before them. The result is by base
// offset.
func (r *loader) verifyAhead(first int) (map[int64]*verified, error) {
	ahead := map[int64]*verified{}
	if r.o.RecoverWorkers <= 1 {
		return ahead, nil
	}
	var mu sync.Mutex
	err := scheduler.Each(r.ctx, r.o.RecoverWorkers, len(r.segs)-first, func(ctx context.Context, i int) error {
		s, v, latest := r.segs[first+i], &verified{}, codec.NoLeaderEpoch
		var err error
		v.Recovery, err = s.Recover(ctx, segment.RecoverOptions{
			From: r.resume.RecoveryPoint,
			Seen: func(b segment.Batch, _ []byte) error {
				if b.ProducerID >= 0 {
					return errWait
				}
				if b.LeaderEpoch > latest {
					latest = b.LeaderEpoch
					v.epochs = append(v.epochs, epoch.Entry{Epoch: latest, StartOffset: b.BaseOffset})
				}
				return nil
			},
			Keep: func(string, int64, io.Reader) error { return errWait },
			Damaged: func(d segment.Damage) {
				mu.Lock()
				defer mu.Unlock()
				r.foundDamage(d)
			},
		})
		switch {
		case errors.Is(err, errWait) || errors.Is(err, segment.ErrOverflow):
			return nil
		case err == nil:
			mu.Lock()
			defer mu.Unlock()
			ahead[s.BaseOffset()] = v
		}
		return err
	})
	return ahead, err
}

// errWait says that a segment has to wait for those before it.
var errWait = errors.New("log: segment waits for its turn")

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

// passOver takes into account what is in the i-th segment, which has no batches of producers.
func (r *loader) passOver(i int, v *verified) error {
	if err := r.producersTo(i); err != nil {
		return err
	}
	for _, e := range v.epochs {
		if err := r.noteEpoch(e.Epoch, e.StartOffset); err != nil {
			return err
		}
	}
	r.temp.SetEnd(v.NextOffset)
	return r.snapshotTemp()
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
	p := producer.Batch{Header: b.Header}
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
// expired does not pass from a segment to the next.
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
	v := view{segs: r.segs, start: r.resume.StartOffset, end: base}
	return r.temp.Rebuild(r.rebuild(&v, false))
}

// keepAndDrop keeps the bytes that are about to be cut from the i-th segment, and drops those behind it
// first, durably: a crash in between must not leave them behind a hole.
func (r *loader) keepAndDrop(i int) func(string, int64, io.Reader) error {
	return func(path string, pos int64, cut io.Reader) error {
		if err := r.drop(i+1, fmt.Errorf("behind the cut at %d of %s: %w", pos, path, codec.ErrCorrupt)); err != nil {
			return err
		}
		return r.keep(path, pos, cut)
	}
}

// drop drops the segments from the i-th on, the last one first.
func (r *loader) drop(i int, cause error) error {
	if i >= len(r.segs) {
		return nil
	}
	dropped := r.segs[i:]
	for _, s := range slices.Backward(dropped) {
		name := r.path(segment.FileName(s.BaseOffset(), segment.LogExt, segment.Live))
		if err := r.keepFile(name); err != nil {
			return err
		}
		next, err := s.NextOffset()
		if err != nil {
			next = codec.NoOffset
		}
		d := segment.Damage{Path: name, Size: s.Size(), FirstOffset: s.BaseOffset(), NextOffset: next, Err: cause}
		if err := r.discard(s); err != nil {
			return err
		}
		r.report.Dropped = append(r.report.Dropped, d)
		r.dropped = append(r.dropped, s.BaseOffset())
	}
	r.segs = r.segs[:i]
	return r.fsys.SyncDir(r.Dir())
}

// dropSnapshots drops the producer snapshots of the segments that were dropped since the last call.
func (r *loader) dropSnapshots() error {
	for _, base := range r.dropped {
		if !r.hadSnapshot(base) {
			continue
		}
		name, err := r.temp.MarkSnapshot(base)
		if err != nil {
			return err
		}
		if name != "" {
			r.doom(doomed{snapshot: name})
		}
	}
	r.dropped = nil
	return nil
}

// hadSnapshot reports whether there was a producer snapshot at base before this load.
func (r *loader) hadSnapshot(base int64) bool {
	return slices.Contains(r.list.numbered, segment.FileName(base, producer.SnapshotExt, segment.Live))
}

// dropBehindGap drops what is behind the i-th segment where offsets are missing between: a crash took the
// end of a segment that was rolled and not synced. Only a log that keeps its own checkpoint can tell: it
// moves the recovery point past the gaps that appends, truncations and compactions make. A gap that is there
// since what is behind it is too far from the base of the i-th segment is none of those: a split has left it.
func (r *loader) dropBehindGap(i int, next int64) error {
	if !r.was.ok || i+1 >= len(r.segs) {
		return nil
	}
	base := r.segs[i+1].BaseOffset()
	if next >= base || base <= r.resume.RecoveryPoint {
		return nil
	}
	if b, ok, err := r.segs[i+1].Find(base); err != nil && !isDamage(err) || ok && b.LastOffset-r.segs[i].BaseOffset() > math.MaxInt32 {
		return err
	}
	return r.drop(i+1, fmt.Errorf("offsets [%d, %d) are missing before it: %w", next, base, codec.ErrCorrupt))
}

// foundDamage tells of damage below the recovery point, once Open is done.
func (r *loader) foundDamage(d segment.Damage) {
	r.news.add(func() { r.tellDamage(d) })
	last := r.segs[len(r.segs)-1]
	if d.Path == r.path(segment.FileName(last.BaseOffset(), segment.LogExt, segment.Live)) && d.Pos+d.Size >= last.Size() {
		r.end = max(r.end, d.NextOffset, r.resume.RecoveryPoint)
	}
}

// leaveDamagedTail begins a new segment behind one that ends in bytes that cannot be read and must not be
// cut: nothing is appended behind those, and no offset below the recovery point is given out again.
func (r *loader) leaveDamagedTail() error {
	last := r.segs[len(r.segs)-1]
	next, err := last.NextOffset()
	if err != nil || r.end <= next || r.end <= last.BaseOffset() {
		return err
	}
	if err := last.Seal(); err != nil {
		return err
	}
	s, err := r.createSegment(r.end)
	if err != nil {
		return err
	}
	r.segs = append(r.segs, s)
	return nil
}

// keep hands bytes that are about to be cut to the quarantine.
func (r *loader) keep(name string, pos int64, cut io.Reader) error {
	q := r.o.Quarantine
	if q == nil {
		return nil
	}
	if err := q.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := q.OpenFile(fmt.Sprintf("%s.%d", name, pos), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.NewOffsetWriter(f, 0), cut)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	return q.SyncDir(path.Dir(name))
}

// keepFile hands a whole file to the quarantine.
func (r *loader) keepFile(name string) error {
	if r.o.Quarantine == nil {
		return nil
	}
	f, err := r.fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	err = r.keep(name, 0, io.NewSectionReader(f, 0, math.MaxInt64))
	return errors.Join(err, f.Close())
}

// probe finds out, for a log that is opened to be looked at, how far recovery would let it reach. It changes
// nothing.
func (r *loader) probe() error {
	for i := range r.segs {
		s := r.segs[i]
		r.edge = s.Size()
		if i < r.firstUnsynced() && i < len(r.segs)-1 {
			continue
		}
		good, next, err := r.probeSegment(i)
		if err != nil {
			return err
		}
		r.edge, r.end = good, next
		if good < s.Size() {
			for _, behind := range r.segs[i+1:] {
				if err := behind.Close(); err != nil {
					return err
				}
			}
			r.segs = r.segs[:i+1]
			break
		}
	}
	return nil
}

// probeSegment is how far the i-th segment is good, and the offset behind that. Of one that recovery would
// change, the largest timestamp is that of what is good.
func (r *loader) probeSegment(i int) (good, next int64, err error) {
	s := r.segs[i]
	next = s.BaseOffset()
	largest, at := codec.NoTimestamp, codec.NoOffset
	var buf []byte
	for b, err := range s.Batches(0) {
		if err == nil && b.NextOffset() <= next { // also where there is no offset behind it
			break
		}
		if err == nil && !r.resume.Clean && b.LastOffset >= r.resume.RecoveryPoint {
			if buf, err = s.ReadBatch(buf[:0], b); err == nil {
				err = r.parts.Codec.Verify(buf)
			}
		}
		if isDamage(err) {
			break
		}
		if err != nil {
			return 0, 0, err
		}
		good, next = b.End(), b.NextOffset()
		if b.MaxTimestamp > largest {
			largest, at = b.MaxTimestamp, b.LastOffset
		}
	}
	if i >= r.firstUnsynced() || good < s.Size() {
		s.NoteMaxTimestamp(largest, at)
	}
	return good, next, nil
}
