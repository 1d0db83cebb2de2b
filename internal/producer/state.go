package producer

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// lateAfter is how much longer than Options.TxnTimeout a transaction may be open before it is late: Kafka's
// coordinator aborts it by then.
const lateAfter = 5 * time.Minute

// Options say how to open a State. All of it is meant as given: the defaults are log's.
type Options struct {
	ExpireAfter time.Duration // producer.id.expiration.ms
	TxnTimeout  time.Duration // transaction.max.timeout.ms
	VerifyTxns  bool          // transaction.partition.verification.enable
	ReadOnly    bool          // write and remove no snapshot: Snapshots forgets what would be removed
}

// State is the producers of one partition.
type State struct {
	fsys    fsio.FS
	dir     string
	options Options

	producers table
	verifying map[int64]*verification
	lastGuard Guard
	open      txns // whose markers have not come
	decided   txns // whose markers have come, but are not below the high watermark
	analysis  Analysis

	end       int64   // of what producers are known of
	snapshots []int64 // offsets, rising
	snapshot  int64   // no snapshot is taken at or below this one
}

// Open lists the snapshots in the directory dir of fsys, and reads none: the State is empty, with its end
// at 0, until Rebuild.
func Open(fsys fsio.FS, dir string, o Options) (*State, error) {
	s := &State{
		fsys: fsys, dir: dir, options: o,
		producers: newTable(0), verifying: make(map[int64]*verification),
	}
	return s, s.listSnapshots()
}

// Moved tells it that its directory has a new name.
func (s *State) Moved(dir string) { s.dir = dir }

// Analyze begins to analyze an append.
func (s *State) Analyze(r Rules) *Analysis {
	s.analysis.reset(s, r)
	return &s.analysis
}

// Replay is Analyze, Add, Aborted and Commit of one batch FromLeader, and SetEnd behind it: what a recovery does with
// each batch that it reads.
func (s *State) Replay(dst []index.AbortedTxn, b Batch) ([]index.AbortedTxn, error) {
	a := s.Analyze(Rules{Origin: FromLeader})
	if _, _, err := a.Add(b); err != nil {
		return dst, err
	}
	dst = a.Aborted(dst)
	a.Commit()
	s.end = b.Header.LastOffset + 1
	return dst, nil
}

// End is the offset up to which the producers are known.
func (s *State) End() int64 { return s.end }

// SetEnd says that the producers are known up to offset. Call it after each append, also one without
// producers: a snapshot is named by it.
func (s *State) SetEnd(offset int64) { s.end = offset }

// Len is the number of producers.
func (s *State) Len() int { return s.producers.n }

// Producers are all producers, by rising ID.
func (s *State) Producers() []segment.Producer {
	all := make([]segment.Producer, 0, s.producers.n)
	for e := range s.producers.all() {
		all = append(all, e.export())
	}
	slices.SortFunc(all, func(a, b segment.Producer) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Producer is one of them. ok is false where it is not known.
func (s *State) Producer(id int64) (p segment.Producer, ok bool) {
	e := s.producers.get(id)
	if e == nil {
		return segment.Producer{}, false
	}
	return e.export(), true
}

// FirstUnstable is the first offset of the oldest transaction that is open, or whose marker is not below the
// high watermark yet; codec.NoOffset where there is none.
func (s *State) FirstUnstable() int64 {
	open, decided := s.open.first(), s.decided.first()
	if open == codec.NoOffset || decided == codec.NoOffset {
		return max(open, decided)
	}
	return min(open, decided)
}

// FirstOpen is the first offset of the oldest open transaction; codec.NoOffset where there is none.
func (s *State) FirstOpen() int64 { return s.open.first() }

// LateTxn reports whether the oldest open transaction is late at the time now: five minutes above TxnTimeout
// since its producer's last batch.
func (s *State) LateTxn(now int64) bool {
	if len(s.open) == 0 {
		return false
	}
	e := s.producers.get(s.open[0].producer)
	limit := (s.options.TxnTimeout + lateAfter).Milliseconds()
	return e != nil && e.lastTimestamp > 0 && now-e.lastTimestamp > limit
}

// SetHighWatermark says that all below offset is replicated: transactions whose markers lie there are
// decided.
func (s *State) SetHighWatermark(offset int64) {
	if len(s.decided) > 0 {
		s.decided = slices.DeleteFunc(s.decided, func(x txn) bool { return x.last < offset })
	}
}

// SetStart says that the log begins at offset now.
func (s *State) SetStart(offset int64) {
	s.SetHighWatermark(offset)
	s.end = max(s.end, offset)
	s.snapshot = offset
	if n := len(s.snapshots); n > 0 {
		s.snapshot = s.snapshots[n-1]
	}
}

// SetExpireAfter is Options.ExpireAfter from now on.
func (s *State) SetExpireAfter(d time.Duration) { s.options.ExpireAfter = d }

// Expire forgets the producers without open transaction whose last batch is ExpireAfter or more before now,
// and the verifications begun as long ago. It returns the number of producers.
func (s *State) Expire(now int64) int {
	before := s.producers.n
	s.producers.keep(func(e *entry) bool {
		return e.txnFirst != codec.NoOffset || !s.expired(e.lastTimestamp, now)
	})
	maps.DeleteFunc(s.verifying, func(_ int64, v *verification) bool { return s.expired(v.begun, now) })
	return before - s.producers.n
}

// expired reports whether ExpireAfter is over since then.
func (s *State) expired(then, now int64) bool {
	return now-then >= s.options.ExpireAfter.Milliseconds()
}

// Reset forgets everything, removes all snapshots, durably, and goes on at offset.
func (s *State) Reset(offset int64) error {
	s.forget()
	s.end, s.snapshot = offset, 0
	return s.forgetSnapshots(func(int64) bool { return true })
}

// forget drops all producers and their transactions. Verifications stay: their coordinators will answer.
func (s *State) forget() {
	s.producers = newTable(0)
	s.open, s.decided = nil, nil
}
