package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
)

// maxMarkBytes bounds a mark of a clean stop, which holds a number.
const maxMarkBytes = 1 << 16

// above is the directory above a partition that is written to. A nil one is not there yet.
type above struct {
	fsys  *fsio.OSFS
	tells bool                       // it is a log directory, or has checkpoints as one: they tell of the log
	held  interface{ Close() error } // its lock, if it is a log directory
	mark  []byte                     // what its mark of a clean stop holds; nil where it has none
}

// lockAbove locks the directory above dir as a broker does, if that is a log directory, and returns what its
// checkpoints tell of the log.
func (e *env) lockAbove(dir string) (_ *above, _ *resume, err error) {
	fsys, err := fsio.OS(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil // log.Open makes it
	}
	if err != nil {
		return nil, nil, err
	}
	up := &above{fsys: fsys}
	defer func() {
		if err != nil {
			err = errors.Join(err, up.close())
		}
	}()
	if isLogDir(fsys) {
		if err := up.lock(filepath.Dir(dir)); err != nil {
			return nil, nil, err
		}
	}
	p := &partition{path: dir, fsys: fsys, dir: filepath.Base(dir), name: namePartition(dir)}
	r, err := p.resume()
	if err != nil {
		e.notice("a checkpoint of the log directory is damaged, the log is verified from its begin: %v", err)
		r = &resume{}
	}
	up.tells = up.held != nil || r != nil
	return up, r, nil
}

// isLogDir reports whether the root of fsys is a log directory, which whoever writes in it locks.
func isLogDir(fsys fsio.FS) bool {
	for _, name := range []string{checkpoint.Lock, checkpoint.MetaProperties} {
		if _, err := fsys.Stat(name); !errors.Is(err, fs.ErrNotExist) { // what cannot be looked at is there
			return true
		}
	}
	return false
}

// lock locks the log directory, which is told as shown.
func (up *above) lock(shown string) error {
	held, err := up.fsys.Lock(checkpoint.Lock)
	switch {
	case errors.Is(err, fsio.ErrLocked):
		return fmt.Errorf("%s is in use: stop the broker, or the other strata: %w", shown, err)
	case err != nil:
		return fmt.Errorf("lock the log directory %s: %w", shown, err)
	}
	up.held = held
	return nil
}

// unmark takes the mark of a clean stop away while the partition is written to: behind a crash in the midst
// of that a broker has to recover, and not to go on behind a torn batch.
func (up *above) unmark() error {
	if up == nil || up.held == nil {
		return nil
	}
	mark, err := checkpoint.ReadFile(up.fsys, checkpoint.CleanShutdown, maxMarkBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := up.fsys.Remove(checkpoint.CleanShutdown); err != nil {
		return err
	}
	up.mark = append([]byte{}, mark...) // not nil, also where it is empty
	return up.fsys.SyncDir(".")
}

// remark puts the mark back, once the partition is closed cleanly.
func (up *above) remark() error {
	if up == nil || up.mark == nil {
		return nil
	}
	return fsio.WriteFile(up.fsys, checkpoint.CleanShutdown, up.mark)
}

// stopped says what a clean stop does of the partition p, which is closed and ends at end: up to where it is synced, and,
// by the mark, that it was stopped cleanly. Without a mark the recovery point stays, and is true, too.
func (up *above) stopped(p *partition, end int64) error {
	if up == nil || up.mark == nil {
		return nil
	}
	err := up.set(p, checkpoint.RecoveryPoints, func(was int64, known bool) (int64, bool) { return end, !known || was < end })
	switch {
	case errors.Is(err, checkpoint.ErrCorrupt): // it is damaged, which was told
	case errors.Is(err, fs.ErrInvalid): // no broker has a partition of that name
	case err != nil:
		return err
	}
	return up.remark()
}

// close gives the lock and the directory back.
func (up *above) close() error {
	if up == nil {
		return nil
	}
	if up.held == nil {
		return up.fsys.Close()
	}
	return errors.Join(up.held.Close(), up.fsys.Close())
}
