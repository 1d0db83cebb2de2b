package cli

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/manager"
	"github.com/stratalog/strata/segment"
)

// sanity checks indexes as a broker does when it starts: of the file, the partition, or the log directory.
func (v *verify) sanity(ctx context.Context, at place) error {
	switch {
	case !at.isDir():
		if _, ok := layoutOf(at.name); !ok {
			return usagef("%s is no index: --index-sanity-check takes .index and .timeindex files, and directories", at.path)
		}
		return v.sane(at, at.name)
	case holdsSegments(at.fsys):
		return v.saneDir(ctx, at, ".")
	}
	view, err := manager.OpenView(ctx, at.fsys)
	if err != nil {
		return err
	}
	for _, p := range view.Partitions() {
		if err := v.saneDir(ctx, at, p.Dir); err != nil {
			return err
		}
	}
	return nil
}

// saneDir checks the indexes in a partition's directory.
func (v *verify) saneDir(ctx context.Context, at place, dir string) error {
	entries, err := at.fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, ok := layoutOf(e.Name()); ok && e.Type().IsRegular() {
			if err := v.sane(at, path.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// layoutOf is the layout of the index that a file is. ok is false where it is none that is in use.
func layoutOf(name string) (l index.Layout, ok bool) {
	_, extension, state, ok := segment.ParseFileName(path.Base(name))
	switch {
	case !ok || state != segment.Live:
		return l, false
	case extension == segment.IndexExt:
		return index.OffsetLayout, true
	}
	return index.TimeLayout, extension == segment.TimeIndexExt
}

// sane checks one index.
func (v *verify) sane(at place, name string) (err error) {
	f, err := openForReading(at.fsys, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	layout, _ := layoutOf(name)
	x, err := newIndexFile(f, layout)
	if err != nil {
		return err
	}
	v.counts.Files++
	err = x.check()
	if !errors.Is(err, index.ErrCorrupt) {
		return err
	}
	code := log.CodeIndex
	if layout == index.TimeLayout {
		code = log.CodeTimeIndex
	}
	return v.finding(log.Finding{
		Severity: log.SeverityWarning, Code: code, File: at.show(name), Position: -1,
		FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, SeekTo: codec.NoOffset,
		Message: strings.TrimPrefix(err.Error(), index.ErrCorrupt.Error()+": "), Repair: log.MendReindex, Err: &fsio.PosError{Op: "verify", Path: name, Err: err},
	})
}
