package log

import (
	"errors"
	"io/fs"
	"math"
	"slices"

	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// repair recovers, by themselves, the segments with an index that is missing or damaged, as far as recovery
// would not come to them: later segments stay, as in Kafka.
func (r *loader) repair() error {
	if r.o.ReadOnly {
		return nil
	}
	r.mending = true
	defer func() { r.mending = false }()
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
