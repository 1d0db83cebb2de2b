package log

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/internal/epoch"
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
	end     int64
	gone    bool // all that was left lay below the start
	counted partCount
	edge    int64 // ReadOnly: the size up to which the last segment is good
	start   int64
}

// ownState is what strata.checkpoint says.
type ownState struct {
	slot slot
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
	r.was.slot, r.was.at, r.was.ok, err = readOwn(r.fsys, r.path(ownName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s := r.was.slot
	r.resume = Resume{Clean: s.clean, RecoveryPoint: s.point, StartOffset: s.start}
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

// tidy removes what a crash left, and finishes the compactions and splits that were complete. The .swap files
// without worth go first, durably: without a .cleaned one they would seem complete.
func (r *loader) tidy() error {
	if r.o.ReadOnly {
		return nil
	}
	if err := r.removeAll(r.list.void); err != nil {
		return err
	}
	if len(r.list.void) > 0 {
		if err := r.fsys.SyncDir(r.Dir()); err != nil {
			return err
		}
	}
	if err := r.removeAll(r.list.leftover); err != nil {
		return err
	}
	r.report.Undone = r.list.undone
	if err := r.finishSwaps(); err != nil {
		return err
	}
	return r.removeAll(r.list.orphans())
}

// removeAll removes files, and notes that.
func (r *loader) removeAll(names []string) error {
	for _, name := range names {
		if err := r.fsys.Remove(r.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		r.syncer.names.Store(true)
	}
	r.report.Removed = append(r.report.Removed, names...)
	return nil
}

// finishSwaps puts the segments of complete compactions and splits in the place of the older ones. Those go
// first, and durably: a crash must not leave both under their final names.
func (r *loader) finishSwaps() error {
	if len(r.list.swapped) == 0 {
		return nil
	}
	swap, err := r.swap()
	if err != nil {
		return err
	}
	if err := r.removeAll(r.list.replaced(swap)); err != nil {
		return err
	}
	if err := r.fsys.SyncDir(r.Dir()); err != nil {
		return err
	}
	if err := r.unswap(r.list.swapped); err != nil {
		return err
	}
	r.report.Finished = r.list.swaps
	return r.readDir()
}

// unswap gives files that are named .swap their final names. As long as a .log.swap is there, what is named by
// an offset in the range of all that are there is of the old ones, and goes. So the logs come first, the lowest
// before the others, each durably.
func (r *loader) unswap(names []string) error {
	unswap := func(name string) error {
		return r.fsys.Rename(r.path(name), r.path(strings.TrimSuffix(name, string(segment.Swap))))
	}
	var others []string
	for _, name := range slices.Sorted(slices.Values(names)) {
		if _, ext, _, _ := segment.ParseFileName(name); ext != segment.LogExt {
			others = append(others, name)
			continue
		}
		if err := errors.Join(unswap(name), r.fsys.SyncDir(r.Dir())); err != nil {
			return err
		}
	}
	for _, name := range others {
		if err := unswap(name); err != nil {
			return err
		}
	}
	return r.fsys.SyncDir(r.Dir())
}

// swap is what complete compactions and splits put in the place of what is there.
type swap struct {
	first, next int64         // the range of their offsets
	size        int64         // of their logs
	begins      segment.Batch // their first batch
	split       int64         // the base offset of what was split, where it is below first and there; or codec.NoOffset
}

// replaces reports whether the files that are named by base make way for it.
func (x swap) replaces(base int64) bool { return x.first <= base && base < x.next || base == x.split }

// swap looks at the .swap files.
func (r *loader) swap() (x swap, err error) {
	x.split = codec.NoOffset
	for i, base := range r.list.swaps {
		begins, next, size, err := r.look(base, segment.Swap)
		if err != nil {
			return x, err
		}
		if i == 0 {
			x.first, x.begins = base, begins
		}
		x.next, x.size = max(x.next, next), x.size+size
	}
	// What was split may have a base offset below that of its first batch, which is where its first part
	// begins.
	below, _ := slices.BinarySearch(r.list.segments, x.first)
	if len(r.list.swaps) == 0 || below == 0 {
		return x, nil
	}
	base := r.list.segments[below-1]
	begins, _, size, err := r.look(base, segment.Live)
	switch {
	case isDamage(err):
		return x, nil
	case err != nil:
		return x, err
	case size == x.size && begins == x.begins:
		x.split = base
	}
	return x, nil
}

// look is the first batch of a segment, the offset behind its last one, and its size.
func (r *loader) look(base int64, state segment.State) (begins segment.Batch, next, size int64, err error) {
	o := r.segmentOptions(true)
	o.State, o.ReadOnly = state, true
	s, err := segment.Open(r.fsys, r.parts, r.Dir(), base, o)
	if err != nil {
		return segment.Batch{}, 0, 0, err
	}
	next, err = s.NextOffset()
	if err == nil {
		for begins, err = range s.Batches(0) {
			break
		}
	}
	size = s.Size()
	if err = errors.Join(err, s.Close()); err != nil {
		err = fmt.Errorf("segment %d%s: %w", base, state, err)
	}
	return begins, next, size, err
}

// openSegments opens the segments, the last one first: it tells whether the stop was clean, and that tells
// how closely to look at the indexes of the others.
func (r *loader) openSegments() error {
	places, err := r.places()
	if err != nil {
		return err
	}
	r.segs = make([]*segment.Segment, 0, len(places))
	for i, at := range slices.Backward(places) {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		last, next := i == len(places)-1, int64(math.MaxInt64)
		if !last {
			next = places[i+1].base
		}
		// The last one, too, as it is where it may have to be dropped: as in Kafka its indexes reserve space
		// when it is known that it is to be appended to.
		dubious := !r.resume.Clean || at.base < r.resume.StartOffset
		s, err := r.openSegment(at, next, !last || dubious || r.o.ReadOnly)
		if err != nil {
			return err
		}
		r.segs = append(r.segs, s)
		if last {
			if err := r.believeClean(s); err != nil {
				return err
			}
		}
	}
	slices.Reverse(r.segs)
	return nil
}

// openSegment opens the segment at a place, which the one at next follows.
func (r *loader) openSegment(at place, next int64, sealed bool) (*segment.Segment, error) {
	o := r.segmentOptions(sealed)
	o.State, o.Check = at.state, !r.resume.Clean || next == math.MaxInt64 && r.o.Resume == nil
	o.Overflow = r.overflow(next)
	s, err := segment.Open(r.fsys, r.parts, r.Dir(), at.base, o)
	if err != nil {
		return nil, fmt.Errorf("segment %d: %w", at.base, err)
	}
	return s, nil
}

// place is where a segment lies.
type place struct {
	base  int64
	state segment.State
}

// places are where the segments lie. A log that changes nothing reads those of complete compactions where
// they are, and passes over what they take the place of.
func (r *loader) places() ([]place, error) {
	var all []place
	x := swap{split: codec.NoOffset}
	if r.o.ReadOnly && len(r.list.swaps) > 0 {
		var err error
		if x, err = r.swap(); err != nil {
			return nil, err
		}
		for _, base := range r.list.swaps {
			all = append(all, place{base, segment.Swap})
		}
	}
	for _, base := range r.list.segments {
		if !x.replaces(base) {
			all = append(all, place{base, segment.Live})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.base, b.base) })
	return all, nil
}

// believeClean finds out whether the clean mark may be believed: where the log keeps its own checkpoint, only
// if the end is the one that it was written with; and nowhere, if the tail is damaged.
func (r *loader) believeClean(active *segment.Segment) error {
	if !r.resume.Clean {
		return nil
	}
	end, err := active.NextOffset()
	switch {
	case isDamage(err):
		r.resume.Clean = false
	case err != nil:
		return fmt.Errorf("segment %d: %w", active.BaseOffset(), err)
	case r.o.Resume == nil:
		s := r.was.slot
		// A truncation into a gap leaves an end above that of the last batch.
		r.resume.Clean = active.Size() == s.activeSize && end <= s.end
	}
	return nil
}

// openEpochs opens the leader epochs, in a file that is empty at first, as Kafka's. A damaged one is done
// without, unless others rely on it: a replica must know leaders, too, of whom no batch is left.
func (r *loader) openEpochs() error {
	o := epoch.Options{ReadOnly: r.o.ReadOnly, Empty: r.force.Load().magic() < 2}
	name := r.path(checkpoint.LeaderEpochs)
	if !r.o.ReadOnly && !o.Empty {
		f, err := r.fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			r.syncer.names.Store(true)
			err = f.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	cache, err := epoch.Open(r.fsys, name, o)
	if errors.Is(err, checkpoint.ErrCorrupt) && (!r.o.Replicated || r.o.ReadOnly) {
		r.warn("epoch file", err)
		o.Empty, r.report.Epochs = true, true
		cache, err = epoch.Open(r.fsys, name, o)
	}
	switch {
	case errors.Is(err, checkpoint.ErrCorrupt):
		return fmt.Errorf("leader epochs, which a replica does not make up; without the file it opens, and has none: %w", err)
	case err != nil:
		return fmt.Errorf("leader epochs: %w", err)
	}
	r.epochs.Store(cache)
	return nil
}

// rereadEpochs reads the leader epochs from all batches where their file is damaged. Of leaders without batches
// nothing is known then. A segment is read up to damage in it, which others tell of.
func (r *loader) rereadEpochs() error {
	if !r.report.Epochs {
		return nil
	}
	for _, s := range r.segs {
		for b, err := range s.Batches(0) {
			if isDamage(err) {
				break
			}
			if err == nil {
				err = r.noteEpoch(b.LeaderEpoch, b.BaseOffset)
			}
			if err != nil {
				return fmt.Errorf("leader epochs of segment %d: %w", s.BaseOffset(), err)
			}
		}
	}
	return nil
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

// activate sees that the last segment can be appended to.
func (r *loader) activate() error {
	if r.o.ReadOnly {
		if len(r.segs) == 0 {
			return fmt.Errorf("%s holds no segment: %w", r.Dir(), fs.ErrNotExist)
		}
		return nil
	}
	if len(r.segs) > 0 {
		last := r.segs[len(r.segs)-1]
		if !last.Sealed() {
			return nil
		}
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
	s, err := r.createSegment(r.resume.StartOffset)
	if err != nil {
		return err
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
	if err := prod.Rebuild(r.rebuild(&v, r.resume.Clean)); err != nil {
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

// publish makes the log visible, with all that loading changed durable.
func (r *loader) publish() error {
	active := r.segs[len(r.segs)-1]
	size := active.Size()
	if r.o.ReadOnly {
		size = r.edge
	}
	point := min(r.resume.RecoveryPoint, r.end)
	if r.resume.Clean {
		point = r.end
	}
	r.syncer.init(max(point, r.start))
	hw := r.start
	if r.o.Resume != nil {
		hw = max(hw, r.o.Resume.HighWatermark)
	}
	v := view{segs: r.segs, size: size, start: r.start, end: r.end, hw: hw, unstable: codec.NoOffset}
	if r.o.Replicated { // as in Kafka, the high watermark is an offset at first, and has no place in a file
		v.hw = min(hw, r.end)
		r.txnsOf(&v)
		r.show(v)
	} else {
		r.Log.publishTxns(v)
	}
	if r.o.ReadOnly {
		return nil
	}
	if r.o.Resume != nil {
		if r.syncer.names.Swap(false) {
			return r.fsys.SyncDir(r.Dir())
		}
		return nil
	}
	return r.publishOwn()
}

// publishOwn syncs what was recovered, so that the next recovery begins behind it, and says so in
// strata.checkpoint.
func (r *loader) publishOwn() error {
	c, err := openOwn(r.fsys, r.path(ownName), r.was.slot, r.was.at)
	if err != nil {
		return err
	}
	r.Log.own = c
	if r.resume.Clean && !r.syncer.names.Load() {
		return nil
	}
	c.touched = true
	r.syncer.names.Store(true)
	if err := r.syncAll(r.view.Load()); err != nil {
		return err
	}
	r.syncer.raise(r.end)
	return c.write(r.slot(), true)
}

// tell tells what was put in order, if anything was.
func (r *loader) tell() {
	x := &r.report
	x.Clean, x.From, x.EndOffset, x.Elapsed = r.resume.Clean, r.resume.RecoveryPoint, r.end, r.now().Sub(r.began)
	some := len(x.Repaired) + len(x.Split) + len(x.Segments) + len(x.Dropped) + len(x.Finished) + len(x.Undone) + len(x.Removed)
	if some == 0 && !x.Epochs {
		return
	}
	r.info("recovered", "end", r.end, "cut", x.CutBytes())
	if tell := r.o.Events.Recovered; tell != nil {
		report := *x
		r.news.add(func() { tell(report) })
	}
}
