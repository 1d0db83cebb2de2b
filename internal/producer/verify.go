package producer

// Verify begins to verify a producer's transaction: the coordinator is asked, and the first batch is then
// appended with the Guard.
//
//   - While a transaction of the producer and epoch is open, none is needed: the Guard is zero.
//   - Until a transactional batch of the producer is committed, calls for it give the same Guard.
//   - sequence is that of the first batch. Of several calls the lowest counts, of a higher epoch that one's.
//   - epochRises says that the producer's epoch rises with each transaction (TxnV2).
//   - An epoch below the producer's is ErrFenced.
func (s *State) Verify(id int64, epoch int16, sequence int32, epochRises bool, now int64) (Guard, error) {
	panic("skeleton")
}
