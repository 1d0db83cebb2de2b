package model

import (
	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// FindTime is the first record with a timestamp of ms or later (UnifiedLog.fetchOffsetByTimestamp).
func (m *Log) FindTime(ms int64) (offset, stamp int64, epoch int32, ok bool) {
	switch ms {
	case log.Latest:
		epoch = codec.NoLeaderEpoch
		if n := len(m.Epochs); n > 0 {
			epoch = m.Epochs[n-1].Epoch
		}
		return m.End, codec.NoTimestamp, epoch, true
	case log.Earliest, log.EarliestLocal:
		epoch = codec.NoLeaderEpoch
		if len(m.Epochs) > 0 && m.Epochs[0].StartOffset <= m.Start {
			epoch = m.Epochs[0].Epoch
		}
		return m.Start, codec.NoTimestamp, epoch, true
	case log.LatestTiered, log.EarliestPendingUpload:
		return codec.NoOffset, codec.NoTimestamp, codec.NoLeaderEpoch, true
	case log.MaxTimestamp:
		in := m.Segments[0]
		for _, s := range m.Segments {
			if s.largest.time > in.largest.time {
				in = s
			}
		}
		return in.findLargest()
	}
	for _, s := range m.Segments {
		if s.newest() >= ms {
			return s.findTime(ms, m.Start)
		}
	}
	return 0, 0, 0, false
}
