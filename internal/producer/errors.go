package producer

import (
	"errors"

	"github.com/stratalog/strata/internal/checkpoint"
)

// What the rules refuse. An error of Analysis.Add has one of them inside, or is fs.ErrInvalid.
var (
	// ErrOutOfOrderSequence says that batches of a producer are missing. Kafka's code is 45.
	ErrOutOfOrderSequence = errors.New("producer: sequence out of order")
	// ErrFenced says that a producer's epoch is over. Kafka's code is 47.
	ErrFenced = errors.New("producer: epoch is over")
	// ErrInvalidTxnState says that a batch does not fit its producer's transaction. Kafka's code is 48.
	ErrInvalidTxnState = errors.New("producer: invalid transaction state")
	// ErrCoordinatorFenced says that a marker comes from an old coordinator. Kafka's code is 52.
	ErrCoordinatorFenced = errors.New("producer: coordinator epoch is over")
)

// ErrCorrupt says that a snapshot is not what was written.
var ErrCorrupt = checkpoint.ErrCorrupt
