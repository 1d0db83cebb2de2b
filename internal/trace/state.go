package trace

import (
	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// short is what is noted of a log after each operation.
type short struct {
	Start    int64  `json:"start"`
	HW       int64  `json:"hw"`
	Stable   int64  `json:"lso"`
	End      int64  `json:"leo"`
	Point    int64  `json:"rp"`
	Segments int    `json:"segs"`
	Base     int64  `json:"base"`
	Size     *int64 `json:"size,omitempty"`
	PIDs     int    `json:"pids"`
	Offline  bool   `json:"offline,omitempty"`
}

func (w *world) short(m Meta) short {
	st := w.log.State()
	active := &st.Segments[len(st.Segments)-1]
	s := short{
		Start: st.StartOffset, HW: st.HighWatermark, Stable: st.StableOffset, End: st.EndOffset, Point: st.RecoveryPoint,
		Segments: len(st.Segments), Base: active.BaseOffset, PIDs: len(st.Producers),
		Offline: w.failed,
	}
	if !m.decoded() {
		s.Size = &active.Size
	}
	return s
}

// state is the answer to the operation of that name.
type state struct {
	Now            int64           `json:"now"`
	Segments       []segmentState  `json:"segments"`
	Epochs         [][2]int64      `json:"epochs"`
	Producers      []producerState `json:"producers"`
	FirstUnstable  int64           `json:"firstUnstable"`
	ProducerEnd    int64           `json:"producerEnd"`
	OldestSnapshot int64           `json:"oldestSnapshot"`
	LatestSnapshot int64           `json:"latestSnapshot"`
	LateTxn        bool            `json:"lateTxn"`
}

type segmentState struct {
	Base        int64      `json:"base"`
	Size        int64      `json:"size"`
	Index       int        `json:"index"`
	TimeIndex   int        `json:"timeindex"`
	MaxTS       int64      `json:"maxTs"`
	MaxTSOffset int64      `json:"maxTsOffset"`
	Txns        [][4]int64 `json:"txns,omitempty"`
}

type producerState struct {
	ID       int64      `json:"pid"`
	Epoch    int16      `json:"epoch"`
	CoordEp  int32      `json:"coordEpoch"`
	LastTS   int64      `json:"lastTs"`
	TxnStart int64      `json:"txnStart"`
	Batches  [][5]int64 `json:"batches"`
}

// state tells everything but the files: their digest is compared after each operation anyway.
func (w *world) state() (any, error) {
	st := w.log.State()
	s := state{
		Now: w.nowMs(), FirstUnstable: st.FirstUnstable, ProducerEnd: st.ProducersEnd, LateTxn: st.LateTxn,
		OldestSnapshot: codec.NoOffset, LatestSnapshot: codec.NoOffset,
		Epochs: make([][2]int64, 0), Producers: make([]producerState, 0),
	}
	for _, seg := range st.Segments {
		s.Segments = append(s.Segments, stateOfSegment(seg))
	}
	for _, e := range st.Epochs {
		s.Epochs = append(s.Epochs, [2]int64{int64(e.Epoch), e.StartOffset})
	}
	for _, p := range st.Producers {
		s.Producers = append(s.Producers, stateOfProducer(p))
	}
	if n := len(st.Snapshots); n > 0 {
		s.OldestSnapshot, s.LatestSnapshot = st.Snapshots[0], st.Snapshots[n-1]
	}
	return s, nil
}

func stateOfSegment(seg log.SegmentState) segmentState {
	s := segmentState{
		Base: seg.BaseOffset, Size: seg.Size, Index: seg.IndexEntries, TimeIndex: seg.TimeIndexEntries,
		MaxTS: seg.MaxTimestamp, MaxTSOffset: seg.MaxTimestampOffset,
	}
	if s.MaxTS == codec.NoTimestamp {
		s.MaxTSOffset = s.Base // so Kafka has it
	}
	if len(seg.Aborted) > 0 {
		s.Txns = txns(seg.Aborted)
	}
	return s
}

func stateOfProducer(p segment.Producer) producerState {
	s := producerState{
		ID: p.ID, Epoch: p.Epoch, CoordEp: p.CoordinatorEpoch, LastTS: p.LastTimestamp, TxnStart: p.TxnFirstOffset,
		Batches: make([][5]int64, 0, len(p.Batches)),
	}
	for _, b := range p.Batches {
		s.Batches = append(s.Batches, [5]int64{int64(b.FirstSequence), int64(b.LastSequence), b.FirstOffset, b.LastOffset, b.Timestamp})
	}
	return s
}
