package producer

import (
	"fmt"

	"github.com/stratalog/strata/codec"
)

// Origin says who appends, which decides what is checked.
type Origin uint8

// The origins.
const (
	FromClient      Origin = iota // duplicates, sequences, epochs, transactions, verification
	FromCoordinator               // epochs, transactions, verification
	FromRaftLeader                // epochs, transactions
	FromLeader                    // a follower or a recovery: what is written is written, only states change
)

// TxnVersion is the version of the transaction protocol by which a marker ends a transaction.
type TxnVersion uint8

// The transaction versions, none first.
const (
	TxnNone TxnVersion = iota // for data; a marker that is not FromLeader needs one of the others
	TxnV0
	TxnV1
	TxnV2 // a marker raises the producer's epoch (KIP-890)
)

// Guard shows that a coordinator was asked about a transaction before its first batch was appended. The
// zero Guard shows nothing.
type Guard uint64

// Rules say by which rules batches are analyzed.
type Rules struct {
	Origin     Origin
	TxnVersion TxnVersion // of the transaction that a marker ends
	Guard      Guard      // that Verify gave, for the first batch of a transaction
}

// Batch is what a State has to know of a batch.
type Batch struct {
	Header *codec.Header // with the offsets that the batch has, or will have, in the log; only read, and not kept
	Marker *Marker       // of a control batch; nil where compaction emptied it
}

// Marker is the marker in a control batch.
type Marker struct {
	codec.Marker
	Timestamp int64
}

// ReadMarker reads the marker of a producer's control batch. It is nil where the batch is empty. A first
// record that is no marker is codec.ErrInvalid.
func ReadMarker(c codec.Codec, batch []byte) (*Marker, error) {
	for r, err := range c.Records(batch) {
		if err != nil {
			return nil, err
		}
		kind, err := codec.ReadControl(r.Key)
		if err != nil {
			return nil, err
		}
		if kind != codec.ControlAbort && kind != codec.ControlCommit {
			return nil, fmt.Errorf("control record of type %d of a producer: %w", kind, codec.ErrInvalid)
		}
		marker, err := codec.ReadMarker(r)
		if err != nil {
			return nil, err
		}
		return &Marker{Marker: marker, Timestamp: r.Timestamp}, nil
	}
	return nil, nil
}
