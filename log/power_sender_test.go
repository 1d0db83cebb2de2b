package log_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/log"
)

// sender is who appends a record or a marker, and how.
type sender struct {
	id             int64 // of the producer; 0 where it has none
	sequence       int32
	txn            bool
	marker, commit bool
	leader         int32 // epoch
}

// send appends what s says. Once that failed, nothing is sent any more: what lies at an offset has one sender.
func (p *powered) send(s sender) error {
	if p.stays != nil {
		return p.stays
	}
	p.round++
	end := p.EndOffset()
	text := fmt.Sprintf("value %d", p.round)
	h := codec.NewHeader(2)
	if s.id > 0 {
		h.ProducerID, h.ProducerEpoch, h.BaseSequence = s.id, 0, s.sequence
	}
	if s.txn {
		h.Attributes |= codec.TransactionalBit
	}
	o := log.AppendOptions{LeaderEpoch: s.leader}
	var batch []byte
	var err error
	if s.marker {
		o.Origin, o.TxnVersion = log.FromCoordinator, log.TxnV1
		batch, err = codec.AppendMarker(nil, h, codec.Marker{Commit: s.commit}, started)
	} else {
		batch, err = codec.Kafka().Append(nil, h, []codec.Record{{Timestamp: started, Value: []byte(text)}})
	}
	if err != nil {
		return err
	}
	p.noteOf(s, "append", end, text)
	if _, p.stays = p.AppendWith(batch, o); p.stays == nil {
		p.ack("appended", end+1)
	}
	return p.stays
}

// senders are what was appended by senders, by offset, as far as it is known.
type senders struct {
	by     map[int64]sender
	unsure bool // a cut was begun, and nobody knows whether it was made
}

// add adds what a deed appends.
func (s *senders) add(d deed) {
	if d.by == (sender{}) {
		return
	}
	if s.by == nil {
		s.by = map[int64]sender{}
	}
	s.by[d.to] = d.by
}

// cut drops what a truncation drops.
func (s *senders) cut(to int64, acked bool) {
	s.unsure = !acked
	for offset := range s.by {
		if acked && offset >= to {
			delete(s.by, offset)
		}
	}
}

// behindMarkers is the first offset from offset up to end that no marker has.
func (s *senders) behindMarkers(offset, end int64) int64 {
	for offset < end && s.by[offset].marker {
		offset++
	}
	return offset
}

// hold compares what l says of producers, transactions and epochs with what it would be were nothing appended
// but what is in l.
func (s *senders) hold(l *log.Log) error {
	if s.unsure || len(s.by) == 0 {
		return nil
	}
	last, open := map[int64]int32{}, map[int64]int64{}
	var aborted []index.AbortedTxn
	var epochs []log.Epoch
	for offset := range l.EndOffset() {
		by := s.by[offset]
		if n := len(epochs); n == 0 || epochs[n-1].Epoch != by.leader {
			epochs = append(epochs, log.Epoch{Epoch: by.leader, StartOffset: offset})
		}
		first, inTxn := open[by.id]
		switch {
		case by.marker:
			if !by.commit {
				aborted = append(aborted, index.AbortedTxn{ProducerID: by.id, FirstOffset: first, LastOffset: offset})
			}
			delete(open, by.id)
		case by.id > 0:
			last[by.id] = by.sequence
			if by.txn && !inTxn {
				open[by.id] = offset
			}
		}
	}
	return errors.Join(
		holdProducers(l, last, open), holdAborted(l, aborted),
		holdAlike("epochs", l.Epochs(), epochs),
	)
}

// holdProducers compares the producers and the stable offset.
func holdProducers(l *log.Log, last map[int64]int32, open map[int64]int64) error {
	stable := l.EndOffset()
	for _, first := range open {
		stable = min(stable, first)
	}
	if got := l.StableOffset(); got != stable {
		return fmt.Errorf("the stable offset is %d, want %d", got, stable)
	}
	known := map[int64]int32{}
	for _, p := range l.Producers() {
		known[p.ID] = p.LastSequence()
		want, inTxn := open[p.ID]
		if !inTxn {
			want = codec.NoOffset
		}
		if p.TxnFirstOffset != want {
			return fmt.Errorf("the transaction of producer %d begins at %d, want %d", p.ID, p.TxnFirstOffset, want)
		}
	}
	if fmt.Sprint(known) != fmt.Sprint(last) {
		return fmt.Errorf("the last sequences are %v, want %v", known, last)
	}
	return nil
}

// holdAborted compares the aborted transactions, but for the stable offsets that readers do not need.
func holdAborted(l *log.Log, want []index.AbortedTxn) error {
	got, err := l.Aborted(0, l.EndOffset())
	if err != nil {
		return err
	}
	for i := range got {
		got[i].StableOffset = 0
	}
	return holdAlike("aborted transactions", got, want)
}

// holdAlike compares what, in order.
func holdAlike[T comparable](what string, got, want []T) error {
	if slices.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("the %s are %v, want %v", what, got, want)
}
