package producer

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/segment"
)

// Snapshots are the offsets of the snapshots, rising.
func (s *State) Snapshots() []int64 { return slices.Clone(s.snapshots) }

// listSnapshots lists the snapshots in the directory.
func (s *State) listSnapshots() error {
	files, err := s.fsys.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("list producer snapshots: %w", err)
	}
	s.snapshots = nil
	for _, f := range files {
		offset, extension, state, ok := segment.ParseFileName(f.Name())
		if ok && extension == SnapshotExt && state == segment.Live && f.Type().IsRegular() {
			s.snapshots = append(s.snapshots, offset)
		}
	}
	return nil
}

// name is the file of the snapshot at offset.
func (s *State) name(offset int64) string {
	return path.Join(s.dir, segment.FileName(offset, SnapshotExt, segment.Live))
}

// TakeSnapshot writes a snapshot at End, unless the newest that was written or loaded is there or above. It
// returns the file's name, or "" where none was written. With sync it is durable; without, a crash may
// leave any part of it, which the next load finds out. With an error there is none: other batches may take its
// offset.
func (s *State) TakeSnapshot(sync bool) (name string, err error) {
	if s.end <= s.snapshot || s.options.ReadOnly {
		return "", nil
	}
	name = s.name(s.end)
	write := overwrite
	if sync {
		write = fsio.WriteFile
	}
	i, found := slices.BinarySearch(s.snapshots, s.end)
	if err := write(s.fsys, name, AppendSnapshot(nil, s.entries())); err != nil {
		if left := s.fsys.Remove(name); left != nil && !errors.Is(left, fs.ErrNotExist) {
			return "", fmt.Errorf("producer snapshot: %v, and it stays: %w", err, left) //nolint:errorlint // nobody may take it for harmless
		}
		if found {
			s.snapshots = slices.Delete(s.snapshots, i, i+1)
		}
		return "", fmt.Errorf("producer snapshot: %w", err)
	}
	if !found {
		s.snapshots = slices.Insert(s.snapshots, i, s.end)
	}
	s.snapshot = s.end
	return name, nil
}

// entries are the producers as a snapshot has them, by rising ID: Kafka's are in the order of a hash map.
func (s *State) entries() []Entry {
	entries := make([]Entry, 0, s.producers.n)
	for e := range s.producers.all() {
		entries = append(entries, e.store())
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
	return entries
}

// overwrite writes a file in place. Nothing of it is durable.
func overwrite(fsys fsio.FS, name string, data []byte) error {
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return errors.Join(err, f.Close())
}

// RemoveSnapshot removes the snapshot at offset, if there is one. That it is gone is made durable by a
// SyncDir of the caller's.
func (s *State) RemoveSnapshot(offset int64) error {
	return s.removeSnapshots(func(o int64) bool { return o == offset })
}

// RemoveSnapshotsBefore removes the snapshots below offset.
func (s *State) RemoveSnapshotsBefore(offset int64) error {
	return s.removeSnapshots(func(o int64) bool { return o < offset })
}

// removeSnapshots removes the snapshots for which gone is true. A file that is not there is removed, too.
// After an error, Snapshots has what may be there still.
func (s *State) removeSnapshots(gone func(offset int64) bool) error {
	var failed error
	s.snapshots = slices.DeleteFunc(s.snapshots, func(offset int64) bool {
		if failed != nil || !gone(offset) {
			return false
		}
		failed = s.removeFile(offset)
		return failed == nil
	})
	return failed
}

// forgetSnapshots removes snapshots whose batches are no longer in the log, durably: once others have their
// offsets, a crash that brings such a snapshot back would make them another producer's.
func (s *State) forgetSnapshots(gone func(offset int64) bool) error {
	before := len(s.snapshots)
	err := s.removeSnapshots(gone)
	if err == nil && len(s.snapshots) < before && !s.options.ReadOnly {
		err = s.fsys.SyncDir(s.dir)
	}
	return err
}

// removeFile removes the file of a snapshot.
func (s *State) removeFile(offset int64) error {
	if s.options.ReadOnly {
		return nil
	}
	if err := s.fsys.Remove(s.name(offset)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("producer snapshot: %w", err)
	}
	return nil
}

// MarkSnapshot gives the snapshot at offset, if there is one, the name that ends in .deleted, and forgets
// it: its segment goes, too. It returns that name, or "".
func (s *State) MarkSnapshot(offset int64) (name string, err error) {
	i, found := slices.BinarySearch(s.snapshots, offset)
	if !found || s.options.ReadOnly {
		return "", nil
	}
	name = path.Join(s.dir, segment.FileName(offset, SnapshotExt, segment.Deleted))
	err = s.fsys.Rename(s.name(offset), name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("producer snapshot: %w", err)
	}
	s.snapshots = slices.Delete(s.snapshots, i, i+1)
	if err != nil {
		return "", nil //nolint:nilerr // somebody removed it: it is gone, as it was to be
	}
	return name, nil
}

// RemoveStraySnapshots lists the directory anew and removes the snapshots that no segment begins at, with
// one exception: the largest of them, if it is not below the last segment. A clean close has left it there.
// bases are the base offsets of all segments, rising. It returns the offsets of what it removed.
func (s *State) RemoveStraySnapshots(bases []int64) (removed []int64, err error) {
	if err := s.listSnapshots(); err != nil {
		return nil, err
	}
	var strays []int64
	for _, offset := range s.snapshots {
		if _, aligned := slices.BinarySearch(bases, offset); !aligned {
			strays = append(strays, offset)
		}
	}
	if n := len(strays); n > 0 && (len(bases) == 0 || strays[n-1] >= bases[len(bases)-1]) {
		strays = strays[:n-1]
	}
	return strays, s.removeSnapshots(func(offset int64) bool {
		_, stray := slices.BinarySearch(strays, offset)
		return stray
	})
}
