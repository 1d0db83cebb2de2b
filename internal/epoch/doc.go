// Package epoch remembers which leader epoch of a partition began at which offset.
//
// A leader writes its epoch into every batch. Where a new epoch begins is kept in the partition's
// leader-epoch-checkpoint (package checkpoint has the format): so a follower can ask its leader where an
// epoch ended, and truncate there, also after both have lost what only the other has.
//
//	c, err := epoch.Open(fsys, "orders-0/leader-epoch-checkpoint", epoch.Options{})
//	err = c.Assign(7, 4000)            // leader 7 appends at 4000
//	end, ok := c.EndOffset(6, 4100)    // leader 6 ended at e.Offset, 4000
//
// # Invariant
//
// Epochs and start offsets rise strictly. Whatever contradicts a new entry is erased by it.
//
// # What a crash may leave
//
// Assign writes the file before it returns, since an epoch that a follower has heard of must not be
// forgotten. Truncations and Clear change the memory only and leave the file to Flush: entries that a crash
// brings back are erased again when the log is loaded, which calls TruncateFromEnd and TruncateFromStart with
// the bounds of the log.
//
// # Concurrency
//
// All methods may be called concurrently. Readers see one immutable list through an atomic pointer and wait
// for nobody; what changes it is ordered by a lock, under which the file is written.
package epoch
