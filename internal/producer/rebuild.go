package producer

// Replayer yields the batches of a segment.
type Replayer func(base, from, end int64, add func(b Batch) error) error

// Rebuild says how to bring a State to the end of a log.
type Rebuild struct {
	Start, End int64   // of the log
	Bases      []int64 // the base offsets of all segments, rising
	Now        int64

	// Clean says that the log was closed cleanly. Without any snapshot it then has no producers, as in
	// Kafka: nothing is replayed, and snapshots without entries are written.
	Clean bool

	// Legacy says that the log's format knows no producers: as Clean without snapshots.
	Legacy bool

	// Replay calls add for each batch of the segment with the given base offset that has records at from or
	// above, up to, and without, the one that end lies in or before. It returns add's error.
	Replay Replayer
}

// Rebuild brings the State to r.End: from the newest good snapshot that lies in (Start, End], through the
// batches behind it. Snapshots outside of that range, and damaged ones, are removed. Snapshots are taken at
// the base offsets of the last two segments, where the replay passes them, and at End.
//
// After loading, the State has to be new, RemoveStraySnapshots comes first; after a truncation it is called
// as it is.
func (s *State) Rebuild(r Rebuild) error { panic("skeleton") }

// Reload is the first half of Rebuild: it removes the snapshots that are above end, or not above start, and,
// where End is not end, begins anew with the newest good one. The batches in [End, end) are to be replayed
// then.
func (s *State) Reload(start, end, now int64) error { panic("skeleton") }
