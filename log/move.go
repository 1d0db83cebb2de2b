package log

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"syscall"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/segment"
)

// Move renames its directory, and syncs the parent. Reading and writing go on.
func (l *Log) Move(dir string) error {
	l.mu.Lock()
	defer l.unlock()
	if err := l.writable(); err != nil {
		return err
	}
	if err := l.writeTopicID(); err != nil {
		return err
	}
	l.syncer.hold()
	defer l.syncer.release()
	old := l.Dir()
	if err := segment.Move(l.segments(), dir, func() error { return l.fsys.Rename(old, dir) }); err != nil {
		if refused(err) {
			return err
		}
		return l.fail(err)
	}
	l.follow(dir)
	parents := []string{path.Dir(dir), path.Dir(old)}
	if parents[0] == parents[1] {
		parents = parents[:1]
	}
	for _, parent := range parents {
		if err := l.fsys.SyncDir(parent); err != nil {
			return l.fail(err)
		}
	}
	return nil
}

// refused reports whether a rename was refused, so that nothing was done.
func refused(err error) bool {
	for _, class := range []error{
		fsio.ErrBadName, fsio.ErrNotRegular, fs.ErrExist, fs.ErrNotExist, fs.ErrInvalid, syscall.ENOTEMPTY, syscall.ENOTDIR,
	} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// segments are all that have files in its directory, also those that Reap has removed while readers have them.
func (l *Log) segments() []*segment.Segment {
	all := map[*segment.Segment]struct{}{}
	for _, s := range l.view.Load().segs {
		all[s] = struct{}{}
	}
	for _, d := range l.doomed {
		if d.seg != nil {
			all[d.seg] = struct{}{}
		}
	}
	for _, s := range l.discarded {
		all[s] = struct{}{}
	}
	return slices.Collect(maps.Keys(all))
}

// follow gives all else that knows files by name their new directory.
func (l *Log) follow(dir string) {
	l.dir.Store(&dir)
	for i, d := range l.doomed {
		if d.seg == nil {
			l.doomed[i].snapshot = path.Join(dir, path.Base(d.snapshot))
		}
	}
	l.prod.Moved(dir)
	l.epochs.Load().Moved(l.path(checkpoint.LeaderEpochs))
	l.syncer.moved(dir)
}
