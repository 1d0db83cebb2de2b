package producer

import (
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// Options say how to open a State. The zero value is Kafka's defaults.
type Options struct {
	ExpireAfter time.Duration // producer.id.expiration.ms; 0 means 24 hours
	TxnTimeout  time.Duration // transaction.max.timeout.ms; 0 means 15 minutes
	VerifyTxns  bool          // transaction.partition.verification.enable
	ReadOnly    bool          // write and remove no snapshot; what would be is done in memory only
}

// State is the producers of one partition.
type State struct{}

// Open lists the snapshots in the directory dir of fsys, and reads none: the State is empty, with its end
// at 0, until Rebuild.
func Open(fsys fsio.FS, dir string, o Options) (*State, error) { panic("skeleton") }

// Analyze begins to analyze an append.
func (s *State) Analyze(r Rules) *Analysis { panic("skeleton") }

// Replay is Analyze, Add and Commit of one batch FromLeader, and SetEnd behind it: what a recovery does with
// each batch that it reads.
func (s *State) Replay(dst []index.AbortedTxn, b Batch) ([]index.AbortedTxn, error) {
	panic("skeleton")
}

// End is the offset up to which the producers are known.
func (s *State) End() int64 { panic("skeleton") }

// SetEnd says that the producers are known up to offset. Call it after each append, also one without
// producers: a snapshot is named by it.
func (s *State) SetEnd(offset int64) { panic("skeleton") }

// Len is the number of producers.
func (s *State) Len() int { panic("skeleton") }

// Producers are all producers, by rising ID.
func (s *State) Producers() []segment.Producer { panic("skeleton") }

// Producer is one of them. ok is false where it is not known.
func (s *State) Producer(id int64) (p segment.Producer, ok bool) { panic("skeleton") }

// FirstUnstable is the first offset of the oldest transaction that is open, or whose marker is not below the
// high watermark yet; codec.NoOffset where there is none.
func (s *State) FirstUnstable() int64 { panic("skeleton") }

// FirstOpen is the first offset of the oldest open transaction; codec.NoOffset where there is none.
func (s *State) FirstOpen() int64 { panic("skeleton") }

// LateTxn reports whether the oldest open transaction is late at the time now: five minutes above TxnTimeout
// since its producer's last batch.
func (s *State) LateTxn(now int64) bool { panic("skeleton") }

// SetHighWatermark says that all below offset is replicated: transactions whose markers lie there are
// decided.
func (s *State) SetHighWatermark(offset int64) { panic("skeleton") }

// SetStart says that the log begins at offset now.
func (s *State) SetStart(offset int64) { panic("skeleton") }

// SetExpireAfter is Options.ExpireAfter from now on.
func (s *State) SetExpireAfter(d time.Duration) { panic("skeleton") }

// Expire forgets the producers without open transaction whose last batch is ExpireAfter or more before now,
// and the verifications begun as long ago. It returns the number of producers.
func (s *State) Expire(now int64) int { panic("skeleton") }

// Reset forgets everything, removes all snapshots, and goes on at offset.
func (s *State) Reset(offset int64) error { panic("skeleton") }
