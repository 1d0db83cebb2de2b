package segment

import (
	"errors"
	"io/fs"
	"math"
	"syscall"
	"time"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
)

// BaseOffset is the lower bound of the segment's offsets, and its name.
func (s *Segment) BaseOffset() int64 { return s.base }

// Size is the number of bytes in the message set.
func (s *Segment) Size() int64 { return s.size.Load() }

// State is the suffix of its files.
func (s *Segment) State() State {
	s.names.RLock()
	defer s.names.RUnlock()
	return s.names.state
}

// Sealed reports that nothing can be appended.
func (s *Segment) Sealed() bool { return s.sealed.Load() }

// Codec is the one that it was opened with.
func (s *Segment) Codec() codec.Codec { return s.parts.Codec }

// ModTime is when its log file was last written. Kafka ages segments without timestamps by it, and the
// oldest tombstones.
func (s *Segment) ModTime() (time.Time, error) {
	s.names.RLock()
	defer s.names.RUnlock()
	info, err := s.fsys.Stat(s.pathLocked(LogExt))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// Created is Options.Created: what the age of a segment without timestamps is counted from.
func (s *Segment) Created() time.Time { return s.o.Created }

// SetModTime gives it to all files: a cleaned segment has that of its last source.
func (s *Segment) SetModTime(t time.Time) error {
	if err := s.fsys.Chtimes(s.path(LogExt), t); err != nil {
		return err
	}
	for _, extension := range []string{IndexExt, TimeIndexExt, TxnIndexExt, SumExt} {
		err := s.fsys.Chtimes(s.path(extension), t)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// IndexBytes are the bytes that the entries of both indexes take, without reserved space.
func (s *Segment) IndexBytes() (offset, time int64) { return s.offset.bytes(), s.time.bytes() }

// SinceEntry are the bytes from the last batch on that has an index entry, or all.
func (s *Segment) SinceEntry() (int64, error) {
	x, err := s.offset.use()
	if x == nil || err != nil {
		return s.Size(), err
	}
	defer x.release()
	if last, ok := x.value.Lookup(math.MaxInt64); ok {
		return s.Size() - last.Value, nil
	}
	return s.Size(), nil
}

// bytes are those that the entries take, 0 where x is done without.
func (x *indexFile) bytes() int64 {
	l, err := x.use()
	if l == nil || err != nil {
		return 0
	}
	defer l.release()
	return int64(l.value.Len()) * int64(x.layout.EntryBytes())
}

// Rename changes the suffix of all its files, the log first. The directory is not synced. With an error,
// some files may have the new name: which, recovery finds out.
func (s *Segment) Rename(to State) error {
	s.names.Lock()
	defer s.names.Unlock()
	from := s.names.state
	if from == to {
		return nil
	}
	for _, extension := range []string{LogExt, IndexExt, TimeIndexExt, TxnIndexExt, SumExt} {
		s.names.state = from
		old := s.pathLocked(extension)
		s.names.state = to
		err := s.fsys.Rename(old, s.pathLocked(extension))
		if err == nil || extension != LogExt && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if extension == LogExt {
			s.names.state = from
		}
		return err
	}
	s.txnMoved()
	return nil
}

// txnMoved tells the index of aborted transactions its name, if it is open: it makes its file when it is
// first needed. names is held.
func (s *Segment) txnMoved() {
	if l := s.txn.cur.Load(); l != nil {
		l.value.Moved(s.pathLocked(TxnIndexExt))
	}
}

// Move renames the directory of segments, by rename, to dir. Whoever opens a file of theirs meanwhile waits, so
// that reads go on. With an error nothing has moved.
func Move(segs []*Segment, dir string, rename func() error) error {
	for _, s := range segs {
		s.names.Lock()
		defer s.names.Unlock()
	}
	if err := rename(); err != nil {
		return err
	}
	for _, s := range segs {
		s.names.dir = dir
		s.txnMoved()
	}
	return nil
}

// Acquire takes a reference. It is false where the Segment was closed or removed: look it up again.
func (s *Segment) Acquire() bool {
	for {
		n := s.refs.Load()
		if n <= 0 || s.ended.Load() {
			return false
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Held is the number of references that are not given back: those of slices, and of Acquire.
func (s *Segment) Held() int64 {
	n := s.refs.Load()
	if !s.ended.Load() {
		n-- // the owner's
	}
	return max(n, 0)
}

// Release gives a reference back.
func (s *Segment) Release() {
	// What fails here, when the last reader leaves, has nobody to be told: files that could not be removed
	// are found by the next start.
	_ = s.release()
}

func (s *Segment) release() error {
	if s.refs.Add(-1) > 0 {
		return nil
	}
	err := s.free()
	if s.removed.Load() {
		err = errors.Join(err, s.removeAll())
	}
	s.settled.Store(true)
	return err
}

// Over reports that the last reference was given back, and that what had to go with it has gone.
func (s *Segment) Over() bool { return s.settled.Load() }

// removeAll removes all files of the segment. What fails is tried again by the next Remove.
func (s *Segment) removeAll() error {
	err := s.removeFiles(LogExt, IndexExt, TimeIndexExt, TxnIndexExt, SumExt)
	if err != nil {
		s.removed.Store(false)
	}
	return err
}

// free closes all handles.
func (s *Segment) free() error {
	s.freed.Store(true)
	return errors.Join(s.log.close(), s.offset.close(), s.time.close(), s.txn.close())
}

// removeFiles removes files of the segment, all that it can. Those that are missing are no error.
func (s *Segment) removeFiles(extensions ...string) error {
	s.names.RLock()
	defer s.names.RUnlock()
	if s.disowned.Load() {
		return nil
	}
	var failed error
	for _, extension := range extensions {
		failed = errors.Join(failed, RemoveFile(s.fsys, s.pathLocked(extension)))
	}
	return failed
}

// RemoveFile removes a file. One that is missing is no error; a directory, also an empty one, is
// syscall.EISDIR, and stays: nobody who keeps segments has made it.
func RemoveFile(fsys fsio.FS, name string) error {
	info, err := fsys.Stat(name)
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "remove", Path: name, Err: syscall.EISDIR}
	}
	if err == nil {
		err = fsys.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Remove makes its files go when the last reference is released. Files that are missing are no error. A second
// Remove does nothing, unless the first could not remove them.
func (s *Segment) Remove() error {
	if s.removed.Swap(true) {
		return nil
	}
	if !s.ended.Swap(true) {
		return s.release()
	}
	if s.refs.Load() > 0 {
		return nil
	}
	return s.removeAll()
}

// Abandon makes Close, and the last reference that is released, free the handles and change no file, as of a log
// after a failed write. Parts that are no index.Abandoner do as they do.
func (s *Segment) Abandon() {
	s.left.Store(true)
	s.log.abandon()
	s.offset.abandon()
	s.time.abandon()
}

// Disown says that files of another segment are about to take the place of its own: Remove removes none, and what
// is to be opened is fs.ErrClosed. What is open stays good. It waits for who opens or removes one at the moment.
func (s *Segment) Disown() {
	s.names.Lock()
	defer s.names.Unlock()
	s.disowned.Store(true)
}

// Close writes the last time entry, gives back reserved space and frees all handles when the last reference
// is released. The files of a segment in the state Deleted stay as they are, as in Kafka, but for what a mapped set
// reserves where the configuration does not. It makes nothing durable.
// A second Close returns nil.
func (s *Segment) Close() error {
	if s.ended.Swap(true) {
		return nil
	}
	var err error
	deleted := s.State() == Deleted
	if deleted {
		s.offset.abandon()
		s.time.abandon()
	}
	if deleted && s.o.Preallocate {
		s.log.abandon()
	}
	switch {
	case s.sealed.Load() || s.left.Load() || deleted && s.o.Preallocate:
	case deleted:
		err = s.w.set.Seal()
	default:
		err = s.finish()
	}
	return errors.Join(err, s.release())
}
