package log

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/segment"
)

// Roll seals the active segment, begins a new one at EndOffset, and returns its base offset.
//
// An empty segment is rolled, too, as in Kafka: where it begins below EndOffset, which a truncation may
// have left, it stays as an empty sealed one; where it begins at EndOffset, the new one takes its place.
func (l *Log) Roll() (base int64, err error) {
	l.mu.Lock()
	defer l.unlock()
	if err := l.writable(); err != nil {
		return 0, err
	}
	v, err := l.roll(l.view.Load(), 0, RollByCall)
	if err != nil {
		return 0, err
	}
	return v.active().BaseOffset(), nil
}

// rollFor rolls where the append is not to go into the active segment.
func (l *Log) rollFor(in *incoming, f *inForce, v *view) (*view, error) {
	reason, err := l.rollReason(in, f, v)
	if err != nil || reason == "" {
		return v, err
	}
	first := in.firstOffset
	if first == codec.NoOffset {
		// A wrapper does not tell its first offset. It has no more than 2³¹ of them, which gives a lower
		// bound without unpacking it; Kafka has the same.
		first = in.lastOffset - math.MaxInt32
	}
	return l.roll(v, first, reason)
}

// rollReason is why an append must not go into the active segment, or "".
func (l *Log) rollReason(in *incoming, f *inForce, v *view) (RollReason, error) {
	active, n := v.active(), int64(len(in.batches))
	if v.size > f.SegmentBytes-n {
		return RollBySize, nil
	}
	if v.size > 0 {
		waited, err := l.waited(active, in.maxStamp)
		if err != nil {
			return "", l.fail(err)
		}
		if waited > f.segmentAge()-l.jitter(f, active.BaseOffset()) {
			return RollByAge, nil
		}
	}
	switch {
	case !active.Full(n, in.lastOffset):
		return "", nil
	case in.lastOffset-active.BaseOffset() > math.MaxInt32:
		return RollByOverflow, nil
	default:
		return RollByIndex, nil
	}
}

// waited is the age of a segment, when records with the timestamp maxStamp come: by the timestamps, or,
// where its first batch has none, or is damaged, by the clock.
func (l *Log) waited(s *segment.Segment, maxStamp int64) (time.Duration, error) {
	first, err := s.FirstTimestamp()
	switch {
	case isDamage(err):
		first = codec.NoTimestamp
	case err != nil:
		return 0, err
	}
	if first < 0 {
		born, ok := l.born[s.BaseOffset()]
		if !ok {
			born = l.opened
		}
		return l.now().Sub(born), nil
	}
	ms := maxStamp - first
	switch limit := int64(math.MaxInt64 / time.Millisecond); {
	case ms > limit:
		return math.MaxInt64, nil
	case ms < -limit:
		return math.MinInt64, nil
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// jitter is how much earlier a segment rolls by age, so that not all logs of a manager do at once. It is the
// same each time it is asked for.
func (l *Log) jitter(f *inForce, base int64) time.Duration {
	most := min(f.SegmentJitter, f.SegmentAge)
	if most <= 0 {
		return 0
	}
	return time.Duration(rand.NewPCG(l.o.Seed, uint64(base)).Uint64() % uint64(most))
}

// seedOf is a seed made of a directory's name.
func seedOf(dir string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(dir)) // never fails
	return h.Sum64()
}

// roll seals the active segment and begins a new one, at first or at the end, whichever is larger: first may
// be above it where a leader's compaction left a gap.
func (l *Log) roll(v *view, first int64, reason RollReason) (*view, error) {
	base, old := max(first, v.end), v.active()
	switch {
	case base == old.BaseOffset() && v.size == 0:
		return l.rollAgain(v, old, reason)
	case base <= old.BaseOffset():
		return nil, fmt.Errorf("roll: segment %d does not lie behind %d: %w", base, old.BaseOffset(), fs.ErrExist)
	}
	if err := l.touch(); err != nil {
		return nil, err
	}
	// The new one comes first: where there is no room for it, the old one goes on.
	active, err := l.createSegment(base)
	if err != nil {
		return nil, l.failWrite(err)
	}
	if err := l.seal(old, base); err != nil {
		return nil, l.fail(errors.Join(err, active.Remove()))
	}
	next := *v
	next.segs = append(slices.Clip(v.segs), active)
	next.size = 0
	l.prod.SetEnd(base)
	l.publish(next)
	if err := l.snapshot(); err != nil {
		return nil, err
	}
	l.rolled(base, reason)
	return l.view.Load(), nil
}

// seal seals the segment that the one at base follows. Where that leaves a gap, and the log is its own
// manager, the old one is synced at once and the recovery point moves past the gap: a recovery takes a gap
// above it for a tail that was lost.
func (l *Log) seal(old *segment.Segment, base int64) error {
	if err := old.Seal(); err != nil {
		return err
	}
	l.syncer.rolled(old.BaseOffset())
	if l.own == nil {
		return nil
	}
	next, err := old.NextOffset()
	if err != nil || next == base {
		return err
	}
	l.syncer.hold()
	defer l.syncer.release()
	if err := l.syncAll(l.view.Load()); err != nil {
		return err
	}
	l.syncer.raise(base)
	return l.own.write(l.slot, true)
}

// rollAgain puts a new segment in the place of an empty one with the same base offset, whose index may be
// too small for an entry.
func (l *Log) rollAgain(v *view, old *segment.Segment, reason RollReason) (*view, error) {
	if err := l.touch(); err != nil {
		return nil, err
	}
	born := l.born[old.BaseOffset()]
	if err := l.discard(old); err != nil {
		return nil, err
	}
	active, err := l.createSegment(old.BaseOffset())
	if err != nil {
		if err = l.failWrite(err); l.failed.Load() == nil {
			err = errors.Join(err, l.putBack(old, born))
		}
		return nil, err
	}
	next := *v
	next.segs = append(v.segs[:len(v.segs)-1:len(v.segs)-1], active)
	l.publish(next)
	l.rolled(old.BaseOffset(), reason)
	return l.view.Load(), nil
}

// createSegment makes the files of a new segment, without what an older one of that name may have left. A
// directory of such a name, which Kafka cannot open as a file either, is an error.
func (l *Log) createSegment(base int64) (*segment.Segment, error) {
	for _, ext := range []string{segment.LogExt, segment.IndexExt, segment.TimeIndexExt, segment.TxnIndexExt, segment.SumExt} {
		if err := segment.RemoveFile(l.fsys, l.path(segment.FileName(base, ext, segment.Live))); err != nil {
			return nil, err
		}
	}
	s, err := segment.Open(l.fsys, l.parts, l.Dir(), base, l.segmentOptions(false))
	if err != nil {
		return nil, fmt.Errorf("segment %d: %w", base, err)
	}
	l.born[base] = l.now()
	l.syncer.names.Store(true)
	return s, nil
}

// snapshot writes the producers as they are. One that there is no room for is done without: it is a
// shortcut.
func (l *Log) snapshot() error {
	name, err := l.prod.TakeSnapshot(false)
	if fsio.NoRoom(err) {
		l.warn("producer snapshot not written", err)
		return nil
	}
	if err != nil {
		return l.fail(err)
	}
	if name != "" {
		l.syncer.addSnapshot(name)
	}
	return nil
}

// rolled tells of a roll, and has the old segment synced.
func (l *Log) rolled(base int64, reason RollReason) {
	l.counts.rolls.Add(1)
	if tell := l.o.Events.Rolled; tell != nil {
		dir := l.Dir()
		l.news.add(func() { tell(Rolled{Dir: dir, BaseOffset: base, Reason: reason}) })
	}
	if l.o.Scheduler != nil {
		l.promised = base
		l.later("flush-log", 0, func() { l.report("sync behind a roll", l.syncTo(base, true)) })
	}
}
