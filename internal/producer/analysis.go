package producer

import (
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// Analysis is what an append would do to a State. It changes nothing until Commit, and is valid until the
// State changes, or the next Analyze, which uses its memory.
type Analysis struct{}

// Add adds the next batch of the append. Batches without producer are passed over.
//
//   - Where a client's batch is there already, duplicate is true and dup tells of the first time: the whole
//     append is to be answered with it and not written.
//   - With an error the append is to be refused.
//   - FromLeader nothing is a duplicate and nothing is refused but a batch without transaction while one of
//     its producer is open, ErrInvalidTxnState.
//   - A marker without TxnVersion is fs.ErrInvalid, unless it is FromLeader.
func (a *Analysis) Add(b Batch) (dup segment.ProducerBatch, duplicate bool, err error) {
	panic("skeleton")
}

// Commit makes the change, once the batches are written, and appends to dst the transactions that were
// aborted, with the last stable offset that each entry of the transaction index holds, in the order of their
// markers.
func (a *Analysis) Commit(dst []index.AbortedTxn) []index.AbortedTxn { panic("skeleton") }
