package log

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/scheduler"
	"github.com/stratalog/strata/segment"
)

// Open opens the partition in the directory dir, or creates it empty.
//
//   - dir is a name in o.FS. Where that is nil, dir is a path of the operating system: o.FS is then fsio.OS
//     of its parent, which is made where it is missing, and dir its last element; Close closes that FS. An empty
//     dir is fs.ErrInvalid: it is a setting that is missing, and not the working directory.
//   - A directory that is open already, here or in another process, is fsio.ErrLocked. No file in it shows
//     the lock.
//   - What a crash left is put in order: compactions and splits are finished or undone, indexes repaired, the tail
//     that was never synced is verified and cut at the first bad batch, and o.Events.Recovered says what
//     was done.
//   - A segment whose offset index is missing or damaged is repaired while loading, and later ones stay,
//     even if bytes were cut from it. Behind a cut that recovery from the recovery point on makes, later
//     ones go.
//   - A damaged producer snapshot is removed, and a damaged file of leader epochs replaced: both are made of the
//     batches anew. A Replicated log is refused with such a file, as in Kafka, since batches do not tell all
//     leaders; once it is removed, the log opens without the epochs that it had.
//   - A segment that is recovered or repaired and whose offsets are too far from its base, as Kafka up to 1.0
//     wrote them (KAFKA-6264), is split into several, as in Kafka. A crash leaves the old one or the new ones.
//   - A directory that has the name of a file of the log is left alone. Where the name is needed it is an
//     error, syscall.EISDIR.
//   - Damage below the recovery point does not keep a log from opening. It is reported to o.Events.Damaged,
//     and nothing is cut.
//   - A read that fails for a reason other than the bytes refuses to open: nothing is cut because a disk
//     does not answer.
//   - Opened twice in a row, the second time changes nothing.
//   - All complaints about o come joined in one error.
//   - When ctx is done, Open returns its error, and a later Open begins anew.
func Open(ctx context.Context, dir string, o Options) (*Log, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	l := newLog(o)
	if err := l.open(ctx, dir); err != nil {
		l.mu.Lock()
		err = errors.Join(err, l.free(true))
		l.mu.Unlock()
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	l.news.deliver()
	return l, nil
}

// validate returns all complaints about o, joined.
func (o Options) validate() error {
	complaints := []error{o.Config.Validate()}
	complain := func(bad bool, format string, args ...any) {
		if bad {
			complaints = append(complaints, fmt.Errorf(format+": %w", append(args, fs.ErrInvalid)...))
		}
	}
	complain(o.RecoverWorkers < 0, "RecoverWorkers: %d is below 0", o.RecoverWorkers)
	complain(o.TxnTimeout < 0, "TxnTimeout: %v is below 0", o.TxnTimeout)
	if r := o.Resume; r != nil {
		complain(r.RecoveryPoint < 0, "Resume.RecoveryPoint: %d is below 0", r.RecoveryPoint)
		complain(r.StartOffset < 0, "Resume.StartOffset: %d is below 0", r.StartOffset)
		complain(r.HighWatermark < 0, "Resume.HighWatermark: %d is below 0", r.HighWatermark)
	}
	return errors.Join(complaints...)
}

// newLog is a Log of which nothing is open.
func newLog(o Options) *Log {
	if o.Clock == nil {
		o.Clock = scheduler.System()
	}
	if o.TxnTimeout == 0 {
		o.TxnTimeout = 15 * time.Minute
	}
	l := &Log{
		o: o, fsys: o.FS, parts: o.Parts.WithDefaults(), handles: o.Handles, opened: o.Clock.Now(),
		born: map[int64]time.Time{}, discarded: map[int64]*segment.Segment{},
	}
	if l.handles == nil {
		l.handles = segment.NewHandles(segment.HandleOptions{})
	}
	l.force.Store(enforce(o.Config, o.Parts.Codec))
	l.syncer.init(0)
	return l
}

// open takes the directory and loads what is in it.
func (l *Log) open(ctx context.Context, dir string) error {
	if l.fsys == nil {
		parent, name, err := openParent(dir, l.o.ReadOnly)
		if err != nil {
			return err
		}
		l.fsys, l.ownFS, dir = parent, parent, name
	}
	l.dir.Store(&dir)
	if l.o.Seed == 0 {
		l.o.Seed = seedOf(path.Base(dir))
	}
	if !l.o.ReadOnly {
		if err := l.makeDir(); err != nil {
			return err
		}
		lock, err := l.fsys.Lock(dir)
		if errors.Is(err, fsio.ErrLocked) {
			return fmt.Errorf("it is open already, here or in another process: %w", err)
		}
		if err != nil {
			return err
		}
		l.lock = lock
	}
	if err := l.readTopicID(); err != nil {
		return err
	}
	return l.load(ctx)
}

// makeDir makes the directory, durably, where it is missing.
func (l *Log) makeDir() error {
	info, err := l.fsys.Stat(l.Dir())
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is no directory: %w", l.Dir(), fs.ErrInvalid)
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := l.fsys.MkdirAll(l.Dir(), 0o755); err != nil {
		return err
	}
	// Each directory that was made needs its name in its parent.
	for dir := l.Dir(); dir != "."; dir = path.Dir(dir) {
		if err := l.fsys.SyncDir(path.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// openParent opens the operating system's filesystem at the parent of dir, and makes it where it is missing.
func openParent(dir string, readOnly bool) (fsys *fsio.OSFS, name string, err error) {
	if dir == "" {
		return nil, "", fmt.Errorf("the directory has no name: %w", fs.ErrInvalid)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", err
	}
	parent, name := filepath.Dir(abs), filepath.Base(abs)
	if parent == abs {
		return nil, "", fmt.Errorf("%s has no parent: %w", dir, fs.ErrInvalid)
	}
	fsys, err = fsio.OS(parent)
	if err == nil || readOnly || !errors.Is(err, fs.ErrNotExist) {
		return fsys, name, err
	}
	if err := makeParent(parent); err != nil {
		return nil, "", err
	}
	fsys, err = fsio.OS(parent)
	return fsys, name, err
}

// makeParent makes the directory dir below the nearest one that is there.
func makeParent(dir string) error {
	there, missing := filepath.Dir(dir), filepath.Base(dir)
	for {
		fsys, err := fsio.OS(there)
		if err == nil {
			return errors.Join(fsys.MkdirAll(filepath.ToSlash(missing), 0o755), fsys.SyncDir("."), fsys.Close())
		}
		if !errors.Is(err, fs.ErrNotExist) || there == filepath.Dir(there) {
			return err
		}
		there, missing = filepath.Dir(there), filepath.Join(filepath.Base(there), missing)
	}
}
