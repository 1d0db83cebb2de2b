package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// partition is a partition's directory that is read. It may have any name.
type partition struct {
	path  string     // as it was given
	fsys  *fsio.OSFS // of the directory above
	dir   string     // its name there
	name  partitionName
	bases []int64  // of its segments, rising
	odd   []string // what has the name of a segment's log and is no file, which a log passes over
}

// openPartition opens the partition's directory that is given, which has segments.
func openPartition(given string) (*partition, error) {
	p, err := openNamed(given)
	if err == nil && len(p.bases) == 0 {
		err = errors.Join(fmt.Errorf("%s holds no segments: %s is no file", given, p.odd[0]), p.close())
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// openNamed opens the partition's directory that is given, which has segments, or something that is named like one.
func openNamed(given string) (*partition, error) {
	real, err := filepath.EvalSymlinks(given)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist", given)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", given, err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, err
	}
	if info, err := os.Stat(real); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, usagef("%s is a file: name the partition's directory, or use strata dump", given)
	}
	if filepath.Dir(real) == real {
		return nil, usagef("%s is the root of the file system: name a partition's directory", given)
	}
	p := &partition{path: given, dir: filepath.Base(real), name: namePartition(real)}
	if p.fsys, err = fsio.OS(filepath.Dir(real)); err != nil {
		return nil, err
	}
	p.bases, p.odd, err = segmentsIn(p.fsys, p.dir)
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", given, err)
	case len(p.bases)+len(p.odd) > 0:
		return p, nil
	default:
		err = fmt.Errorf("%s holds no segments: name the directory of a partition", given)
	}
	return nil, errors.Join(err, p.close())
}

// close gives the directory back.
func (p *partition) close() error { return p.fsys.Close() }

// segmentsIn are the base offsets of the segments in the directory dir of fsys, and what has the name of one and is no
// file.
func segmentsIn(fsys fsio.FS, dir string) (bases []int64, odd []string, err error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		base, extension, state, ok := segment.ParseFileName(entry.Name())
		switch {
		case !ok || extension != segment.LogExt || state != segment.Live:
		case entry.Type().IsRegular():
			bases = append(bases, base)
		default:
			odd = append(odd, entry.Name())
		}
	}
	return bases, odd, nil
}

// startOffset is where the log begins, as a checkpoint tells: log-start-offset-checkpoint in the directory
// above, or the log's own. Where none does, it is 0.
func (p *partition) startOffset(ctx context.Context) (offset int64, err error) {
	r, err := p.resume()
	if r != nil || err != nil {
		return r.start(), err
	}
	if !p.tellsOfItself() {
		return 0, nil
	}
	l, err := p.log(ctx)
	if err != nil {
		return 0, err
	}
	return l.StartOffset(), l.Close()
}

// resume is what Kafka's checkpoints in the directory above tell of the log. It is nil where there are none, since that
// is not a log directory, and where they do not know the partition, and that has a strata.checkpoint, since it was
// opened alone. So it is with a manager.View. With an error, a checkpoint that is damaged counts as missing.
func (p *partition) resume() (*resume, error) {
	r := &resume{}
	key := checkpoint.Partition{}
	if p.checkpointed() {
		key = checkpoint.Partition{Topic: *p.name.topic, ID: *p.name.id}
	}
	found, told := false, false
	read := func(name string, to *int64) error {
		offsets, err := checkpoint.ReadOffsets(p.fsys, name)
		found = found || !errors.Is(err, fs.ErrNotExist)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		offset, ok := offsets[key]
		*to, told = max(0, offset), told || ok
		return nil
	}
	err := errors.Join(
		read(checkpoint.StartOffsets, &r.StartOffset),
		read(checkpoint.RecoveryPoints, &r.RecoveryPoint),
		read(checkpoint.HighWatermarks, &r.HighWatermark),
		read(checkpoint.CleanerOffsets, new(int64)),
	)
	_, marker := p.fsys.Stat(checkpoint.CleanShutdown)
	r.Clean = marker == nil
	if !told && (!found && !r.Clean || p.tellsOfItself()) {
		return nil, nil //nolint:nilnil // nothing there tells
	}
	return r, err
}

// tellsOfItself reports whether the log keeps a checkpoint of its own.
func (p *partition) tellsOfItself() bool {
	info, err := p.fsys.Stat(path.Join(p.dir, checkpoint.Strata))
	return err == nil && info.Mode().IsRegular()
}

// resume is what a log is opened with.
type resume log.Resume

// start is the start offset, 0 of nil.
func (r *resume) start() int64 {
	if r == nil {
		return 0
	}
	return r.StartOffset
}

// log opens the log, without changing it. What recovery would cut is no part of it. Producers are those that
// the disk knows: which of them a broker has forgotten for their age depends on when it looks.
func (p *partition) log(ctx context.Context) (*log.Log, error) {
	r, err := p.resume()
	if err != nil { // a damaged checkpoint is as good as none
		r = &resume{}
	}
	return besideWriter(func() (*log.Log, error) {
		return log.Open(ctx, p.dir, log.Options{
			FS: p.fsys, ReadOnly: true, Resume: (*log.Resume)(r),
			Config: log.Config{ProducerAge: math.MaxInt64},
		})
	})
}

// besideWriter opens a log anew where a file went, or became shorter, between the list of the directory and the
// look at the file: a broker removes, renames and truncates segments as it likes. It gives up where that goes on.
func besideWriter(open func() (*log.Log, error)) (l *log.Log, err error) {
	for range 8 {
		if l, err = open(); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
	}
	return l, err
}

// endOffset is the offset behind the last record. Where the index does not lead there, since something is
// damaged, it is that behind the last record that can be read.
func (p *partition) endOffset(ctx context.Context) (int64, error) {
	last := p.bases[len(p.bases)-1]
	if s, err := p.open(last); err == nil {
		end, err := s.NextOffset()
		if err = errors.Join(err, s.Close()); err == nil {
			return end, nil
		}
	}
	return p.scanEnd(ctx, last)
}

// scanEnd is the offset behind the last record that can be read of the segment with the given base offset.
func (p *partition) scanEnd(ctx context.Context, base int64) (end int64, err error) {
	s, err := p.scan(ctx, codec.Kafka(), base, base)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	end = base
	for piece, err := range s.pieces() {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return 0, err
		}
		if piece.Err == nil {
			end = piece.Batch.NextOffset()
		}
	}
	return end, nil
}

// open opens the segment with the given base offset, without changing it.
func (p *partition) open(base int64) (*segment.Segment, error) {
	return segment.Open(p.fsys, segment.Parts{}, p.dir, base, segment.Options{Sealed: true, ReadOnly: true})
}

// next is the base offset of the segment behind the one with the given base offset; 0 behind the last.
func (p *partition) next(base int64) int64 {
	for _, next := range p.bases {
		if next > base {
			return next
		}
	}
	return 0
}

// show is the path of one of its files.
func (p *partition) show(file string) string { return filepath.ToSlash(filepath.Join(p.path, file)) }
