package model

import (
	"io/fs"
	"slices"

	"github.com/stratalog/strata/log"
)

// AssignEpoch notes that an epoch begins at offset (LeaderEpochFileCache.assign).
func (m *Log) AssignEpoch(epoch int32, offset int64) error {
	if epoch < 0 || offset < 0 {
		return fs.ErrInvalid
	}
	m.assign(epoch, offset)
	return nil
}

func (m *Log) assign(epoch int32, offset int64) {
	n := len(m.Epochs)
	if n > 0 && m.Epochs[n-1].Epoch == epoch && offset >= m.Epochs[n-1].StartOffset {
		return
	}
	for n > 0 && (m.Epochs[n-1].Epoch >= epoch || m.Epochs[n-1].StartOffset >= offset) {
		n--
	}
	m.Epochs = append(m.Epochs[:n], log.Epoch{Epoch: epoch, StartOffset: offset})
}

// cutEpochsFrom drops the epochs that begin at offset or above.
func (m *Log) cutEpochsFrom(offset int64) {
	m.Epochs = slices.DeleteFunc(m.Epochs, func(e log.Epoch) bool { return e.StartOffset >= offset })
}

// cutEpochsBelow lets the epoch that offset lies in begin there, and drops those before.
func (m *Log) cutEpochsBelow(offset int64) {
	n := 0
	for n < len(m.Epochs) && m.Epochs[n].StartOffset <= offset {
		n++
	}
	if n > 0 {
		m.Epochs = m.Epochs[n-1:]
		m.Epochs[0].StartOffset = offset
	}
}

// OffsetForEpoch is where an epoch ended.
func (m *Log) OffsetForEpoch(epoch int32) (e log.EpochEnd, ok bool) {
	n := len(m.Epochs)
	switch {
	case epoch < 0 || n == 0 || epoch > m.Epochs[n-1].Epoch:
		return e, false
	case epoch == m.Epochs[n-1].Epoch:
		return log.EpochEnd{Epoch: epoch, EndOffset: m.End}, true
	case epoch < m.Epochs[0].Epoch:
		return log.EpochEnd{Epoch: epoch, EndOffset: m.Epochs[0].StartOffset}, true
	}
	for i := range m.Epochs {
		if m.Epochs[i].Epoch > epoch {
			return log.EpochEnd{Epoch: m.Epochs[i-1].Epoch, EndOffset: m.Epochs[i].StartOffset}, true
		}
	}
	return e, false
}

// EpochForOffset is the epoch that offset lies in.
func (m *Log) EpochForOffset(offset int64) (epoch int32, ok bool) {
	for _, e := range m.Epochs {
		if e.StartOffset <= offset {
			epoch, ok = e.Epoch, true
		}
	}
	return epoch, ok
}
