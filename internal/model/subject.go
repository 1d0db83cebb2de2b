package model

import (
	"context"
	"iter"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/segment"
)

// Subject is what is compared with the model: a *log.Log, or what stands before one.
type Subject interface {
	appends
	reads
	epochs
	offsets
	cuts
	Roll() (int64, error)
	Sync(offset int64) error
	Configure(c log.Config) error
	State() log.State
}

type appends interface {
	AppendWith(batches []byte, o log.AppendOptions) (log.Appended, error)
	AppendAssigned(batches []byte, leaderEpoch int32) (log.Appended, error)
	StartVerification(producerID int64, epoch int16, sequence int32, epochRises bool) (log.Guard, error)
	ExpireProducers() int
	TakeSnapshot() error
	Producers() []segment.Producer
}

type reads interface {
	ReadWith(offset int64, o log.ReadOptions) (*segment.Slice, error)
	RecordsWith(ctx context.Context, from int64, o log.ReadOptions) iter.Seq2[codec.Record, error]
	Aborted(from, to int64) ([]index.AbortedTxn, error)
	OffsetForTime(ms int64) (segment.Found, bool, error)
}

type epochs interface {
	AssignEpoch(epoch int32, offset int64) error
	OffsetForEpoch(epoch int32) (log.EpochEnd, bool)
	EpochForOffset(offset int64) (int32, bool)
	Epochs() []log.Epoch
}

type offsets interface {
	StartOffset() int64
	HighWatermark() int64
	StableOffset() int64
	EndOffset() int64
	RecoveryPoint() int64
	SetHighWatermark(offset int64) (int64, bool)
	RaiseHighWatermark(offset int64) (int64, bool, error)
}

type cuts interface {
	DeleteBefore(offset int64) (bool, error)
	Retain(ctx context.Context) (log.Deleted, error)
	Truncate(offset int64) (bool, error)
	Reset(offset, start int64) error
}

var _ Subject = (*log.Log)(nil)
