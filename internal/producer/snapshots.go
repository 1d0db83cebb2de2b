package producer

// Snapshots are the offsets of the snapshots, rising.
func (s *State) Snapshots() []int64 { panic("skeleton") }

// TakeSnapshot writes a snapshot at End, unless the newest that was written or loaded is there or above. It
// returns the file's name, or "" where none was written. With sync it is durable; without, a crash may
// leave any part of it, which the next load finds out.
func (s *State) TakeSnapshot(sync bool) (name string, err error) { panic("skeleton") }

// RemoveSnapshot removes the snapshot at offset, if there is one. That it is gone is made durable by a
// SyncDir of the caller's.
func (s *State) RemoveSnapshot(offset int64) error { panic("skeleton") }

// MarkSnapshot gives the snapshot at offset, if there is one, the name that ends in .deleted, and forgets
// it: its segment goes, too. It returns that name, or "".
func (s *State) MarkSnapshot(offset int64) (name string, err error) { panic("skeleton") }

// RemoveSnapshotsBefore removes the snapshots below offset.
func (s *State) RemoveSnapshotsBefore(offset int64) error { panic("skeleton") }

// RemoveStraySnapshots lists the directory anew and removes the snapshots that no segment begins at, with
// one exception: the largest of them, if it is not below the last segment. bases are the base offsets of all
// segments. It returns the names of what it removed.
func (s *State) RemoveStraySnapshots(bases []int64) (removed []string, err error) { panic("skeleton") }
