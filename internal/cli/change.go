package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stratalog/strata/log"
)

// change opens the log in the directory dir, which it makes where it is missing, has do change it, and closes it
// cleanly. Meanwhile the directory above is locked, if that is a log directory, and has no mark of a clean stop.
func (e *env) change(ctx context.Context, dir string, o log.Options, do func(*above, *log.Log) error) (err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := notLinked(dir); err != nil {
		return err
	}
	up, r, err := e.lockAbove(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, up.close()) }()
	o.Resume = (*log.Resume)(r)
	o.Events.Recovered = e.recovered
	if err := up.unmark(); err != nil { // before anything is written: behind a crash in the midst of it nothing is trusted
		return err
	}
	l, err := log.Open(ctx, dir, o)
	if err != nil {
		return errors.Join(err, up.remark())
	}
	failed := do(up, l)
	closed := l.Close()
	if closed == nil {
		closed = up.stopped(&partition{dir: filepath.Base(dir), name: namePartition(dir)}, l.EndOffset())
	}
	return errors.Join(failed, closed)
}

// notLinked refuses a partition's directory that is a symbolic link: which lock and checkpoints count, those
// beside the link or those beside the directory, only who has made it knows.
func notLinked(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || info.Mode().Type()&fs.ModeSymlink == 0 {
		return nil //nolint:nilerr // log.Open makes it, or says what is wrong
	}
	to, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return usagef("%s is a symbolic link that leads nowhere: name a partition's directory", dir)
	}
	return usagef("%s is a symbolic link, and lock and checkpoints lie beside the directory itself: stop whoever uses the link, and name %s", dir, to)
}

// recovered tells what opening the log put in order. That old snapshots went is none of it.
func (e *env) recovered(r log.Recovery) {
	told := func(tell bool, format string, args ...any) {
		if tell {
			e.notice("%s: %s", r.Dir, fmt.Sprintf(format, args...))
		}
	}
	told(!r.Clean, "the log was not closed cleanly: recovered up to offset %d, %d bytes cut", r.EndOffset, r.CutBytes())
	told(r.Clean && len(r.Repaired) > 0, "indexes of %s were missing or damaged, and are built anew", counted(int64(len(r.Repaired)), "segment"))
	told(r.Epochs, "the file of leader epochs was damaged, and is made anew of the batches")
	for _, s := range r.Split {
		told(true, "segment %d, whose offsets were too far from its base, was split into %s", s.BaseOffset, counted(int64(len(s.Into)), "segment"))
	}
}
