package model

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stratalog/strata/log"
)

// compareOffsets compares what there is to know at any time.
func (r *runner) compareOffsets() {
	if r.difference != nil {
		return
	}
	type offsets struct {
		start, high, stable, end, recovery int64
		epochs                             string
	}
	l, m := r.log, r.model
	got := offsets{l.StartOffset(), l.HighWatermark(), l.StableOffset(), l.EndOffset(), l.RecoveryPoint(), fmt.Sprint(l.Epochs())}
	r.same("producers", l.Producers(), m.All())
	r.same("offsets", got, offsets{m.Start, m.High, m.Limit(log.ReadCommitted), m.End, m.RecoveryPoint, fmt.Sprint(m.Epochs)})
}

// compareAll compares all segments and all records.
func (r *runner) compareAll() {
	var want []log.SegmentState
	for _, s := range r.model.Segments {
		want = append(want, log.SegmentState{
			BaseOffset: s.Base, Size: s.Size(), IndexEntries: len(s.Offsets), TimeIndexEntries: len(s.Times),
			MaxTimestamp: s.largest.time, MaxTimestampOffset: s.largest.offset, Aborted: s.Aborted,
		})
	}
	st := r.log.State()
	r.same("segments", st.Segments, want)
	r.same("producer snapshots", st.Snapshots, slices.Sorted(maps.Keys(r.model.snapshots)))
	r.same("producers' end", st.ProducersEnd, r.model.upTo)
	r.same("first undecided offset", st.FirstUnstable, r.model.unstable)
	for _, isolation := range []log.Isolation{log.ReadToEnd, log.ReadUncommitted, log.ReadCommitted} {
		r.compareRecords(isolation)
	}
}

// compareRecords reads the whole log.
func (r *runner) compareRecords(i log.Isolation) {
	start := max(r.model.Start, r.model.Segments[0].Base)
	var got []Record
	for rec, err := range r.log.RecordsWith(r.ctx, start, log.ReadOptions{Isolation: i}) {
		if err != nil {
			r.sameErr("records", err, nil)
			return
		}
		got = append(got, record(rec))
	}
	if i != log.ReadToEnd {
		r.model.align()
	}
	r.same("records", got, r.model.Records(start, i))
}
