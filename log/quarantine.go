package log

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
)

// keep hands bytes that are about to be cut to the quarantine.
func (r *loader) keep(name string, pos int64, cut io.Reader) error {
	q := r.o.Quarantine
	if q == nil {
		return nil
	}
	if err := q.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := q.OpenFile(fmt.Sprintf("%s.%d", name, pos), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.NewOffsetWriter(f, 0), cut)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	return q.SyncDir(path.Dir(name))
}

// keepFile hands a whole file to the quarantine.
func (r *loader) keepFile(name string) error {
	if r.o.Quarantine == nil {
		return nil
	}
	f, err := r.fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	err = r.keep(name, 0, io.NewSectionReader(f, 0, math.MaxInt64))
	return errors.Join(err, f.Close())
}
