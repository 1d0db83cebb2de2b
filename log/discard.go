package log

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/stratalog/strata/segment"
)

// doomed is a segment, or the snapshot of one, whose files are named .deleted, and go when they are due.
type doomed struct {
	due      time.Time
	seg      *segment.Segment // nil of a snapshot
	snapshot string
}

// discard renames the files of a segment to .deleted, to be removed when DeleteDelay is over. Readers that
// have it go on. The caller holds mu.
func (l *Log) discard(s *segment.Segment) error {
	base := s.BaseOffset()
	if older := l.discarded[base]; older != nil {
		older.Disown()
	}
	if err := s.Rename(segment.Deleted); err != nil {
		return l.fail(err)
	}
	delete(l.born, base)
	l.discarded[base] = s
	l.doom(doomed{seg: s})
	return nil
}

// putBack takes the last discard back, that of s, whose name is free again. born is when s began, if that was known.
func (l *Log) putBack(s *segment.Segment, born time.Time) error {
	base := s.BaseOffset()
	if err := s.Rename(segment.Live); err != nil {
		return l.fail(err)
	}
	if !born.IsZero() {
		l.born[base] = born
	}
	delete(l.discarded, base)
	l.doomed = l.doomed[:len(l.doomed)-1]
	return nil
}

// discardSnapshot does that to the producer snapshot at offset, if there is one.
func (l *Log) discardSnapshot(offset int64) error {
	name, err := l.prod.MarkSnapshot(offset)
	if err != nil {
		return l.fail(err)
	}
	if name != "" {
		l.doom(doomed{snapshot: name})
	}
	return nil
}

// doom notes when a file is to be removed.
func (l *Log) doom(d doomed) {
	delay := l.force.Load().DeleteDelay
	d.due = l.now().Add(delay)
	l.doomed = append(l.doomed, d)
	l.syncer.names.Store(true)
	l.later("delete-file", delay, func() {
		_, err := l.Reap(context.Background())
		l.report("remove deleted files", err)
	})
}

// later has something done after delay, where there is a scheduler.
func (l *Log) later(name string, delay time.Duration, do func()) {
	if l.o.Scheduler != nil {
		l.o.Scheduler.Schedule(name, delay, 0, func(context.Context) { do() })
	}
}

// Reap removes .deleted files that are older than DeleteDelay, of Retain, Truncate, Reset, Roll and
// Replace, when no reader has them. Open removes what a crash left of them. With Options.Scheduler it is
// scheduled when there are some. What cannot be removed keeps nothing else from it, and is tried again. Of a
// log that became read-only while it discarded files, those that are still read stay until Close.
func (l *Log) Reap(ctx context.Context) (Deleted, error) {
	l.mu.Lock()
	defer l.unlock()
	d := Deleted{Dir: l.Dir(), StartOffset: l.StartOffset(), Gone: true}
	if err := l.usable(); err != nil {
		return d, err
	}
	now := l.now()
	var left []doomed
	var errs []error
	for i, x := range l.doomed {
		if err := ctx.Err(); err != nil {
			left, errs = append(left, l.doomed[i:]...), append(errs, err)
			break
		}
		if x.due.After(now) || l.shown(x.seg) {
			left = append(left, x)
			continue
		}
		size, err := l.reapOne(x)
		switch {
		case err != nil:
			left, errs = append(left, x), append(errs, err)
		case x.seg != nil:
			d.Segments++
			d.Bytes += size
		}
	}
	l.doomed = left
	maps.DeleteFunc(l.discarded, func(_ int64, s *segment.Segment) bool { return s.Over() })
	d.Next = l.nextDue()
	l.tellDeleted(d)
	return d, errors.Join(errs...)
}

// shown reports whether readers still come to s, since what discarded it has failed before it was done.
func (l *Log) shown(s *segment.Segment) bool {
	return l.failed.Load() != nil && slices.Contains(l.view.Load().segs, s)
}

// nextDue is when Reap has something to do next, zero where there is nothing.
func (l *Log) nextDue() time.Time {
	var next time.Time
	for _, d := range l.doomed {
		if next.IsZero() || d.due.Before(next) {
			next = d.due
		}
	}
	return next
}

// reapOne removes one thing, and returns the size of what was a segment.
func (l *Log) reapOne(d doomed) (int64, error) {
	if d.seg != nil {
		size, err := d.seg.Size(), d.seg.Remove()
		if newer := l.discarded[d.seg.BaseOffset()]; newer != nil && newer != d.seg {
			err = errors.Join(err, newer.Remove()) // as in Kafka, whose files they are is not asked
		}
		return size, err
	}
	if err := l.fsys.Remove(d.snapshot); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	return 0, nil
}

// tellDeleted tells what Retain or Reap did, if it did something.
func (l *Log) tellDeleted(d Deleted) {
	if tell := l.o.Events.Deleted; tell != nil && d.Segments > 0 {
		l.news.add(func() { tell(d) })
	}
}
