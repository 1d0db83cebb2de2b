package log

import "sync/atomic"

// Stats is a snapshot.
func (l *Log) Stats() Stats {
	v := l.view.Load()
	s := Stats{
		StartOffset: v.start, EndOffset: v.end, HighWatermark: v.hw, StableOffset: v.stable(),
		RecoveryPoint: l.RecoveryPoint(),
		Segments:      len(v.segs),

		Appends: l.counts.appends.Load(), AppendedRecords: l.counts.appendedRecords.Load(),
		AppendedBytes: l.counts.appendedBytes.Load(),
		Reads:         l.counts.reads.Load(), ReadBytes: l.counts.readBytes.Load(),
		Syncs: l.counts.syncs.Load(), SharedSyncs: l.counts.sharedSyncs.Load(),
		Rolls: l.counts.rolls.Load(), Truncations: l.counts.truncations.Load(),
		DeletedSegments: l.counts.deletedSegments.Load(),
		Damages:         l.counts.damages.Load(),
	}
	for i, seg := range v.segs {
		s.Bytes += v.sizeOf(i)
		offset, time := seg.IndexBytes()
		s.IndexBytes += offset + time
		s.OpenSlices += seg.Held()
	}
	return s
}

// Stats counts what a Log is and did since Open.
type Stats struct {
	StartOffset, EndOffset      int64
	HighWatermark, StableOffset int64
	RecoveryPoint               int64
	Segments                    int
	Bytes                       int64 // of the message sets
	IndexBytes                  int64

	Appends, AppendedRecords, AppendedBytes int64
	Reads, ReadBytes                        int64
	Syncs, SharedSyncs                      int64 // fdatasyncs made, and Sync calls that another's served
	Rolls, Truncations, DeletedSegments     int64
	Damages                                 int64
	OpenSlices                              int64 // of segments that are part of the log
}

// counts are what Stats counts.
type counts struct {
	appends, appendedRecords, appendedBytes atomic.Int64
	reads, readBytes                        atomic.Int64
	syncs, sharedSyncs                      atomic.Int64
	rolls, truncations, deletedSegments     atomic.Int64
	damages                                 atomic.Int64
}
