package producer

import "fmt"

// verification is a transaction that a coordinator is being asked about.
type verification struct {
	guard      Guard
	begun      int64 // ms
	epoch      int16
	sequence   int32 // the lowest that was asked with in this epoch
	epochRises bool
}

// Verify begins to verify a producer's transaction: the coordinator is asked, and the first batch is then
// appended with the Guard.
//
//   - While a transaction of the producer and epoch is open, none is needed: the Guard is zero.
//   - Until a transactional batch of the producer is committed, calls for it give the same Guard.
//   - sequence is that of the first batch. Of several calls the lowest counts, of a higher epoch that one's.
//   - epochRises says that the producer's epoch rises with each transaction (TxnV2).
//   - An epoch below the producer's is ErrFenced.
func (s *State) Verify(id int64, epoch int16, sequence int32, epochRises bool, now int64) (Guard, error) {
	if e := s.producers.get(id); e != nil {
		if e.inTxn(epoch) {
			return 0, nil
		}
		if epoch < e.epoch {
			return 0, fmt.Errorf("verify producer %d: epoch %d after %d: %w", id, epoch, e.epoch, ErrFenced)
		}
	}
	v := s.verifying[id]
	switch {
	case v == nil:
		s.lastGuard++
		v = &verification{guard: s.lastGuard, begun: now, epoch: epoch, sequence: sequence, epochRises: epochRises}
		s.verifying[id] = v
	case epoch == v.epoch:
		v.sequence = min(v.sequence, sequence)
	case epoch > v.epoch:
		v.epoch, v.sequence = epoch, sequence
	}
	return v.guard, nil
}
