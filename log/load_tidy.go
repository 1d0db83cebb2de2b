package log

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

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

// replaces reports whether the files that are named by base make way for it.
func (x swap) replaces(base int64) bool { return x.first <= base && base < x.next || base == x.split }

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
