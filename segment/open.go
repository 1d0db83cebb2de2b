package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"sync/atomic"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// Open opens the segment with the given base offset in the directory dir of fsys, or creates it empty.
//
//   - Its files are those named by FileName, and no others: it lists, renames and removes them by name.
//   - An offset index that is missing, or an index that is damaged, is no error: see IndexErr. With ReadOnly
//     neither is something in its place that is no file.
//   - A time index that is missing is made empty and not built anew, as Kafka does: MaxTimestamp is −1
//     then, and the segment's age is told by ModTime.
//   - Of a sealed segment without Check no file is opened before it is read, so that a log of 100,000
//     segments opens: damage in its indexes shows with the first look-up.
//   - Indexes that an older segment of the same name has left without a log file are removed.
func Open(fsys fsio.FS, p Parts, dir string, base int64, o Options) (*Segment, error) {
	if base < 0 {
		return nil, fmt.Errorf("segment %d: %w", base, ErrOverflow)
	}
	s := newSegment(fsys, p.WithDefaults(), dir, base, o.withDefaults())
	info, err := fsys.Stat(s.path(LogExt))
	switch {
	case err == nil && info.IsDir():
		err = fmt.Errorf("%s is a directory: %w", s.path(LogExt), fs.ErrInvalid)
	case err == nil && info.Size() > maxSetBytes:
		err = &fsio.PosError{Op: "open", Path: s.path(LogExt), Pos: info.Size(), Err: ErrOverflow}
	case err == nil:
		s.size.Store(info.Size())
		err = s.openExisting()
	case errors.Is(err, fs.ErrNotExist) && !o.ReadOnly:
		err = s.create()
	}
	if err != nil {
		return nil, errors.Join(err, s.free())
	}
	return s, nil
}

// newSegment is a Segment of which nothing is open.
func newSegment(fsys fsio.FS, p Parts, dir string, base int64, o Options) *Segment {
	s := &Segment{fsys: fsys, parts: p, base: base, o: o}
	s.names.dir, s.names.state = dir, o.State
	s.log = handle[MessageSet]{handles: o.Handles, files: 1, open: s.openLog}
	s.offset.handle = handle[index.Index]{handles: o.Handles, files: 1, maps: 1, open: s.openOffset}
	s.time.handle = handle[index.Index]{handles: o.Handles, files: 1, maps: 1, open: s.openTime}
	s.txn = handle[*index.Txn]{handles: o.Handles, files: 1, open: s.openTxn}
	s.offset.extension, s.offset.layout = IndexExt, index.OffsetLayout
	s.time.extension, s.time.layout = TimeIndexExt, index.TimeLayout
	s.sealed.Store(o.Sealed || o.ReadOnly)
	s.next.Store(unknown)
	s.over.Store(math.MaxInt64)
	s.era.Store(&era{})
	s.refs.Store(1)
	return s
}

// path is the name of one of the segment's files in the FS.
func (s *Segment) path(extension string) string {
	s.names.RLock()
	defer s.names.RUnlock()
	return s.pathLocked(extension)
}

// pathLocked is path where names is held already.
func (s *Segment) pathLocked(extension string) string {
	return path.Join(s.names.dir, FileName(s.base, extension, s.names.state))
}

// create makes the files of an empty segment. With an error it leaves none.
func (s *Segment) create() error {
	err := s.removeFiles(IndexExt, TimeIndexExt, TxnIndexExt)
	if err == nil {
		err = s.activate()
	}
	if err == nil {
		err = s.activateIndexes()
	}
	if err == nil && s.sealed.Swap(false) {
		err = s.Seal()
	}
	if err != nil {
		err = errors.Join(err, s.free())
		if left := s.removeFiles(LogExt, IndexExt, TimeIndexExt); left != nil {
			err = fmt.Errorf("%w: %w, and its files stay: %w", ErrBroken, err, left) // an empty segment, where others go on
		}
		return err
	}
	s.next.Store(s.base)
	return nil
}

// openExisting opens the files of a segment as far as they are needed now.
func (s *Segment) openExisting() error {
	if err := s.lookForIndexes(); err != nil {
		return err
	}
	if !s.sealed.Load() {
		if err := s.activate(); err != nil {
			return err
		}
		return s.activateIndexes()
	}
	if s.o.Sums {
		if err := s.checkSums(); err != nil {
			return err
		}
	}
	if !s.o.Check {
		return nil
	}
	for _, x := range []*indexFile{&s.offset, &s.time} {
		l, err := x.use()
		if err != nil {
			return err
		}
		if l != nil {
			l.release()
		}
	}
	return nil
}

// lookForIndexes notes an offset index that is missing, and makes a time index that is.
func (s *Segment) lookForIndexes() error {
	for _, x := range []*indexFile{&s.offset, &s.time} {
		name := s.path(x.extension)
		info, err := s.fsys.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && (x == &s.offset || s.o.ReadOnly):
			x.doWithout(err)
		case s.o.ReadOnly && err == nil && info.IsDir():
			x.doWithout(fmt.Errorf("%w: %s is a directory", index.ErrCorrupt, name))
		case s.o.ReadOnly && fsio.NotAFile(err):
			x.doWithout(fmt.Errorf("%w: %w", index.ErrCorrupt, err))
		case errors.Is(err, fs.ErrNotExist):
			if err := s.makeEmpty(x); err != nil {
				return err
			}
		case err != nil:
			return err
		case info.IsDir():
			return fmt.Errorf("%s is a directory: %w", name, fs.ErrInvalid)
		}
	}
	return nil
}

// makeEmpty makes the file of x with no entry in it.
func (s *Segment) makeEmpty(x *indexFile) error {
	empty, err := s.parts.OpenIndex(s.fsys, s.path(x.extension), s.indexOptions(x, true))
	if err != nil {
		return err
	}
	return empty.Close()
}

// activate opens the log to be appended to.
func (s *Segment) activate() error {
	if err := s.dropSum(); err != nil {
		return err
	}
	o := SetOptions{SegmentBytes: s.o.SegmentBytes}
	if s.o.Preallocate {
		o.PreallocateBytes = s.o.SegmentBytes
	}
	set, err := s.parts.OpenSet(s.fsys, s.path(LogExt), o)
	if err != nil {
		return err
	}
	s.w.set = set
	s.size.Store(set.Size())
	s.w.sparse = s.sparseFrom(set.Size() - s.o.SinceEntry)
	_, err = s.log.replace(set, true)
	return err
}

// activateIndexes opens the indexes to be appended to, without those that are done without. It waits for the
// look-ups in what was open before: nobody holds an index for longer than that, or a sync.
func (s *Segment) activateIndexes() error {
	for _, x := range []struct {
		*indexFile
		to **lenient
	}{{&s.offset, &s.w.offset}, {&s.time, &s.w.time}} {
		*x.to = nil
		if x.err() != nil {
			continue
		}
		opened, err := s.openIndex(x.indexFile, false)
		if errors.Is(err, index.ErrCorrupt) {
			x.doWithout(err)
			continue
		}
		if err != nil {
			return err
		}
		*x.to = &lenient{Index: opened, file: x.indexFile}
		old, err := x.replace(opened, true)
		if err != nil {
			return err
		}
		old.wait() // no look-up in it sees what is stored in the place of entries that it has
	}
	return nil
}

// indexOptions say how to open x.
func (s *Segment) indexOptions(x *indexFile, sealed bool) index.Options {
	return index.Options{
		Layout: x.layout, Base: s.base, MaxBytes: s.o.IndexBytes,
		Sealed: sealed, Check: s.o.Check, ReadOnly: s.o.ReadOnly,
	}
}

// openIndex opens x, and finds it damaged where it leads past the end of the log.
func (s *Segment) openIndex(x *indexFile, sealed bool) (index.Index, error) {
	s.names.RLock()
	defer s.names.RUnlock()
	if s.freed.Load() || s.disowned.Load() {
		return nil, fs.ErrClosed
	}
	name := s.pathLocked(x.extension)
	opened, err := s.parts.OpenIndex(s.fsys, name, s.indexOptions(x, sealed))
	if err != nil || x.extension != IndexExt || opened.Len() == 0 {
		return opened, err
	}
	i := opened.Len() - 1
	if last := opened.At(i); last.Value >= s.size.Load() {
		err = fmt.Errorf("entry %d leads to position %d of %d: %w", i, last.Value, s.size.Load(), index.ErrCorrupt)
		err = &fsio.PosError{Op: "open", Path: name, Pos: int64(i * x.layout.EntryBytes()), Err: err}
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// openLog, openOffset, openTime and openTxn open files of a sealed segment for its handles.
func (s *Segment) openLog() (MessageSet, error) {
	s.names.RLock()
	defer s.names.RUnlock()
	if s.freed.Load() || s.disowned.Load() {
		return nil, fs.ErrClosed
	}
	return s.parts.OpenSet(s.fsys, s.pathLocked(LogExt), SetOptions{Sealed: true, ReadOnly: s.o.ReadOnly})
}

func (s *Segment) openOffset() (index.Index, error) { return s.openIndex(&s.offset, true) }

func (s *Segment) openTime() (index.Index, error) { return s.openIndex(&s.time, true) }

func (s *Segment) openTxn() (*index.Txn, error) {
	s.names.RLock()
	defer s.names.RUnlock()
	if s.freed.Load() || s.disowned.Load() {
		return nil, fs.ErrClosed
	}
	x, err := index.OpenTxn(s.fsys, s.pathLocked(TxnIndexExt), s.base)
	if s.o.ReadOnly && fsio.NotAFile(err) {
		err = fmt.Errorf("%w: %w", index.ErrCorrupt, err)
	}
	return x, err
}

// indexFile is one of the two indexes of a segment.
type indexFile struct {
	handle[index.Index]
	extension string
	layout    index.Layout
	fault     atomic.Pointer[error] // why it is done without
}

// err is why x is done without, or nil.
func (x *indexFile) err() error {
	if fault := x.fault.Load(); fault != nil {
		return *fault
	}
	return nil
}

// doWithout notes why x cannot be used.
func (x *indexFile) doWithout(err error) { x.fault.Store(&err) }

// use acquires x. It returns nil where x is missing or damaged: look-ups scan then.
func (x *indexFile) use() (*lease[index.Index], error) {
	if x.err() != nil {
		return nil, nil //nolint:nilerr // it is IndexErr's
	}
	l, err := x.acquire()
	if errors.Is(err, index.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
		x.doWithout(err)
		return nil, nil
	}
	return l, err
}

// IndexErr is why an index cannot be used, with index.ErrCorrupt or fs.ErrNotExist inside, or nil. Until
// Reindex or Recover has built it anew, look-ups scan the segment.
func (s *Segment) IndexErr() error { return errors.Join(s.offset.err(), s.time.err()) }
