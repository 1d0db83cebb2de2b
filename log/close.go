package log

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"syscall"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/segment"
)

// Close syncs everything, writes the last time entries and a producer snapshot, gives back reserved space,
// and frees what the Log holds. Slices that readers have stay good.
//
//   - After nil a later Open may be told that it was clean: RecoveryPoint is EndOffset.
//   - A read-only log frees everything, too, writes nothing, and returns the cause.
//   - A second Close returns nil. Every other method that returns an error returns ErrClosed after it, and
//     getters say what was true.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.unlock()
	if l.closed.Load() {
		return nil
	}
	l.syncer.hold()
	defer l.syncer.release()
	var err error
	if f := l.failed.Load(); f != nil {
		err = f.err
	} else if !l.o.ReadOnly {
		err = l.settle()
	}
	return errors.Join(err, l.free(l.failed.Load() != nil))
}

// settle leaves the directory as Kafka does after a clean stop. The caller has mu and the syncer's turn.
func (l *Log) settle() error {
	if err := l.writeTopicID(); err != nil {
		return err
	}
	v := l.view.Load()
	active := v.active()
	if err := active.Seal(); err != nil {
		return l.fail(err)
	}
	l.syncer.rolled(active.BaseOffset())
	name, err := l.prod.TakeSnapshot(false)
	if err != nil {
		return l.fail(err)
	}
	if name != "" {
		l.syncer.addSnapshot(name)
	}
	if err := errors.Join(l.syncAll(v), l.epochs.Load().Flush()); err != nil {
		return l.fail(err)
	}
	l.syncer.raise(v.end)
	if l.own == nil || !l.own.touched {
		return nil
	}
	err = l.own.write(func() checkpoint.Slot {
		s := l.slot()
		s.Clean, s.EndOffset, s.ActiveSize = true, v.end, active.Size()
		return s
	}, true)
	if err != nil {
		return l.fail(err)
	}
	return nil
}

// free frees all that the Log holds, and makes nothing durable. The caller has mu. With leave it changes no file:
// after a failed write nothing more is written.
func (l *Log) free(leave bool) error {
	if l.closed.Swap(true) {
		return nil
	}
	var errs []error
	if v := l.view.Load(); v != nil {
		for _, s := range v.segs {
			if leave {
				s.Abandon()
			}
			errs = append(errs, s.Close())
		}
	}
	for _, d := range l.doomed {
		if d.seg != nil {
			if leave {
				d.seg.Abandon()
			}
			errs = append(errs, d.seg.Close())
		}
	}
	l.doomed = nil
	errs = append(errs, l.own.close())
	if l.lock != nil {
		errs = append(errs, l.lock.Close())
	}
	if l.ownFS != nil {
		errs = append(errs, l.ownFS.Close())
	}
	l.wait.wake()
	return errors.Join(errs...)
}

// abandon closes segments of a log that has failed, and leaves their files as they are.
func abandon(segs ...*segment.Segment) error {
	var errs []error
	for _, s := range segs {
		s.Abandon()
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Delete closes the log without syncing and removes its directory with all files that are Kafka's or ours.
// Other files are left, and then so is the directory, with syscall.ENOTEMPTY. Where the filesystem fails, the
// error is ErrReadOnly with the cause, as of any failed write, and Events.Failed is told. When ctx is done, its
// error is returned, and files are left: the log is closed, and is opened again to be deleted.
func (l *Log) Delete(ctx context.Context) error {
	l.mu.Lock()
	defer l.unlock()
	if l.closed.Load() {
		return ErrClosed
	}
	if l.o.ReadOnly {
		return errOpenedReadOnly
	}
	l.syncer.hold()
	defer l.syncer.release()
	ownFS := l.ownFS
	l.ownFS = nil
	err := l.free(true)
	if err == nil {
		err = removePartition(ctx, l.fsys, l.Dir())
		if err != nil && ctx.Err() == nil && !errors.Is(err, syscall.ENOTEMPTY) {
			err = l.fail(err)
		}
	}
	if ownFS != nil {
		err = errors.Join(err, ownFS.Close())
	}
	return err
}

// removePartition removes the files of a partition, and then its directory, durably.
func removePartition(ctx context.Context, fsys fsio.FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.IsDir() || !isOurs(e.Name()) {
			continue
		}
		if err := fsys.Remove(path.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := fsys.Remove(dir); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(dir))
}
