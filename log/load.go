package log

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

// loader opens a Log, in the order of Kafka's LogLoader.
type loader struct {
	*Log
	ctx    context.Context
	began  time.Time
	resume Resume
	was    ownState
	list   listing
	ours   bool // this package has written last, as far as strata.checkpoint tells
	report Recovery

	segs    []*segment.Segment // by rising base offset
	dropped []int64            // base offsets of segments whose snapshots are to go, too
	temp    *producer.State    // the producers as recovery needs them, up to the segment that it is at
	reread  bool               // that removes the snapshots behind that segment: that there is none tells nothing then
	mending bool               // repair is at work: the segments behind that segment are not known yet
	end     int64
	gone    bool // all that was left lay below the start
	counted partCount
	edge    int64 // ReadOnly: the size up to which the last segment is good
	start   int64
}

// ownState is what strata.checkpoint says.
type ownState struct {
	slot checkpoint.Slot
	at   int
	ok   bool
}

// load loads what is in the directory.
func (l *Log) load(ctx context.Context) error {
	r := &loader{Log: l, ctx: ctx, began: l.now()}
	steps := []func() error{
		r.readResume, r.readDir, r.openEpochs, r.tidy, r.openSegments, r.rereadEpochs,
		r.repair, r.recover, r.settleEnd, r.activate, r.settleStart, r.openProducers, r.publish,
	}
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return errors.Join(err, r.abandon())
		}
		if err := step(); err != nil {
			return errors.Join(err, r.abandon())
		}
	}
	r.tell()
	return nil
}

// abandon frees the segments of a log that could not be loaded, and leaves their files as they are.
func (r *loader) abandon() error {
	if r.view.Load() != nil {
		return nil
	}
	return abandon(r.segs...)
}

// readResume finds out what is known from before.
func (r *loader) readResume() error {
	r.report.Dir = r.Dir()
	if r.o.Resume != nil {
		r.resume = *r.o.Resume
		return nil
	}
	var err error
	r.was.slot, r.was.at, r.was.ok, err = checkpoint.ReadSlot(r.fsys, r.path(checkpoint.Strata))
	if errors.Is(err, fs.ErrNotExist) || r.o.ReadOnly && fsio.NotAFile(err) {
		return nil
	}
	s := r.was.slot
	r.resume = Resume{Clean: s.Clean, RecoveryPoint: s.RecoveryPoint, StartOffset: s.StartOffset}
	return err
}

// readDir lists the directory.
func (r *loader) readDir() error {
	entries, err := r.fsys.ReadDir(r.Dir())
	if err != nil {
		return err
	}
	r.list = list(entries)
	return r.findWriter()
}

// settleEnd finds the end of the log. Where it is below the start, all that was left is older than that, and
// goes.
func (r *loader) settleEnd() error {
	if len(r.segs) == 0 {
		r.end = r.resume.StartOffset
		return nil
	}
	last := r.segs[len(r.segs)-1]
	if r.o.ReadOnly {
		return nil // recover found it
	}
	end, err := last.NextOffset()
	if err != nil {
		return fmt.Errorf("segment %d: %w", last.BaseOffset(), err)
	}
	if r.end = max(end, r.end); r.end >= r.resume.StartOffset {
		return nil
	}
	for _, s := range slices.Backward(r.segs) {
		if err := r.discard(s); err != nil {
			return err
		}
	}
	r.segs, r.end, r.gone = nil, r.resume.StartOffset, true
	r.epochs.Load().Clear()
	return nil
}

// activate sees that there is a last segment, which can be appended to.
func (r *loader) activate() error {
	switch {
	case len(r.segs) == 0 && r.o.ReadOnly:
		return fmt.Errorf("%s holds no segment: %w", r.Dir(), fs.ErrNotExist)
	case len(r.segs) == 0:
		s, err := r.createSegment(r.resume.StartOffset)
		if err != nil {
			return err
		}
		r.segs = append(r.segs, s)
		return nil
	case r.o.ReadOnly || !r.segs[len(r.segs)-1].Sealed():
		return nil
	}
	return r.unseal()
}

// unseal opens the last segment anew, to be appended to.
func (r *loader) unseal() error {
	last := r.segs[len(r.segs)-1]
	largest, at, told := last.KnownMaxTimestamp()
	if err := last.Close(); err != nil {
		return err
	}
	r.segs = r.segs[:len(r.segs)-1]
	o := r.segmentOptions(false)
	o.Overflow = r.overflow(math.MaxInt64)
	if last.BaseOffset() == r.counted.base {
		o.SinceEntry = r.counted.sinceEntry
	}
	s, err := segment.Open(r.fsys, r.parts, r.Dir(), last.BaseOffset(), o)
	if err != nil {
		return fmt.Errorf("segment %d: %w", last.BaseOffset(), err)
	}
	if told {
		s.NoteMaxTimestamp(largest, at)
	}
	r.segs = append(r.segs, s)
	return nil
}

// settleStart finds the start of the log, and where its leader epochs begin and end.
func (r *loader) settleStart() error {
	r.start = max(r.resume.StartOffset, r.segs[0].BaseOffset())
	r.start = min(r.start, r.end)
	epochs := r.epochs.Load()
	epochs.TruncateFromEnd(r.end)
	epochs.TruncateFromStart(r.resume.StartOffset)
	if r.o.ReadOnly {
		return nil
	}
	return epochs.Flush()
}

// openProducers brings the producers to the end.
func (r *loader) openProducers() error {
	prod, err := r.newProducers()
	if err != nil {
		return err
	}
	if r.gone {
		if err := prod.Reset(r.end); err != nil {
			return err
		}
	}
	v := view{segs: r.segs, start: r.start, end: r.end}
	removed, err := prod.RemoveStraySnapshots(v.bases())
	if err != nil {
		return err
	}
	for _, offset := range removed {
		r.report.Removed = append(r.report.Removed, segment.FileName(offset, producer.SnapshotExt, segment.Live))
		r.syncer.names.Store(true)
	}
	if err := prod.Rebuild(r.rebuild(&v, r.resume.Clean && !r.reread)); err != nil {
		return err
	}
	r.prod = prod
	return nil
}

// newProducers is a producer.State that knows none.
func (r *loader) newProducers() (*producer.State, error) {
	return producer.Open(r.fsys, r.Dir(), producer.Options{
		ExpireAfter: r.force.Load().ProducerAge, TxnTimeout: r.o.TxnTimeout,
		VerifyTxns: r.o.VerifyTransactions, ReadOnly: r.o.ReadOnly,
	})
}
