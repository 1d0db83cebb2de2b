package log

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

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
