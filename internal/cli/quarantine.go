package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/segment"
)

// noQuarantine is the word for keeping nothing.
const noQuarantine = "none"

// quarantine is a directory that keeps what verbs take out of logs. A nil one keeps nothing.
type quarantine struct {
	*fsio.OSFS
	dir  string
	made bool // it was not there
}

// openQuarantine opens the directory given, which it makes where it is missing. Where none is given it is that
// beside the directory above the partition dir, which is never inside of it: a foreign directory among its
// partitions keeps a broker from starting.
func openQuarantine(given, dir string) (*quarantine, error) {
	if given == noQuarantine {
		return nil, nil //nolint:nilnil // it keeps nothing
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	logDir := filepath.Dir(dir)
	q := &quarantine{dir: logDir + ".quarantine"}
	if given != "" {
		if q.dir, err = filepath.Abs(given); err != nil {
			return nil, err
		}
	}
	inside, err := filepath.Rel(logDir, q.dir)
	if err == nil && inside != ".." && !strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return nil, usagef("%s is inside of %s, where it would keep a broker from starting: give --quarantine another directory, or %s", q.dir, logDir, noQuarantine)
	}
	parent, err := fsio.OS(filepath.Dir(q.dir))
	if err != nil {
		return nil, err
	}
	base := filepath.Base(q.dir)
	_, err = parent.Stat(base)
	q.made = errors.Is(err, fs.ErrNotExist)
	if err = parent.MkdirAll(base, 0o755); err == nil {
		err = parent.SyncDir(".")
	}
	if err = errors.Join(err, parent.Close()); err != nil {
		return nil, fmt.Errorf("quarantine: %w", err)
	}
	if q.OSFS, err = fsio.OS(q.dir); err != nil {
		return nil, err
	}
	return q, nil
}

// fs is its FS, nil of nil.
func (q *quarantine) fs() fsio.FS {
	if q == nil {
		return nil
	}
	return q.OSFS
}

// close gives the directory back. One that was made for nothing goes.
func (q *quarantine) close() error {
	if q == nil {
		return nil
	}
	if q.made {
		_ = os.Remove(q.dir) // it fails where there is something in it
	}
	return q.Close()
}

// keep copies, durably, what the log of the segment with the given base offset has from position pos on. It
// goes into a file that is named by where it lay, as what recovery cuts, with a number behind that where there
// is one already. With an error, as that of ctx, it leaves no part of it.
func (q *quarantine) keep(ctx context.Context, p *partition, base, pos int64) (err error) {
	if q == nil {
		return nil
	}
	name := path.Join(p.dir, segment.FileName(base, segment.LogExt, segment.Live))
	from, err := openForReading(p.fsys, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if from.size <= pos {
		return nil
	}
	if err := q.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	to, err := q.create(fmt.Sprintf("%s.%d", name, pos))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.NewOffsetWriter(to, 0), io.NewSectionReader(attentive{from, ctx.Err}, pos, from.size-pos))
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		err = errors.Join(err, q.Remove(to.Name()))
		_ = q.Remove(p.dir) // it fails where there is something else in it
		return fmt.Errorf("quarantine: %w", err)
	}
	return errors.Join(q.SyncDir(p.dir), q.SyncDir("."))
}

// create makes the file name, or, where that is there, the first of name.1, name.2 and so on that is not.
func (q *quarantine) create(name string) (fsio.File, error) {
	for i, free := 0, name; ; free = fmt.Sprintf("%s.%d", name, i) {
		f, err := q.OpenFile(free, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		i++
	}
}
