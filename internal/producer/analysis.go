package producer

import (
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// keptUpdates is how many producers of one append an Analysis keeps the memory for, and fewUpdates how many it
// looks through rather than hash them: nearly all appends have one.
const (
	keptUpdates = 1024
	fewUpdates  = 8
)

// Analysis is what an append would do to a State. It changes nothing until Commit, and is valid until the
// State changes, or the next Analyze, which uses its memory.
type Analysis struct {
	state     *State
	rules     Rules
	updates   []update
	first     [1]update     // where updates begins: of nearly all appends it is all
	at        map[int64]int // of a producer in updates
	hashed    bool          // at is used: updates are more than a few
	started   []txn
	completed []completed
}

// update is what an append would do to one producer.
type update struct {
	current  *entry        // as the State has it; &unknown where it has not
	verify   *verification // that was begun for it
	verified bool          // by a batch of this append: the verification is over
	next     entry         // what the producer will be; of its batches only those of this append
}

// completed is a transaction that a marker ends.
type completed struct {
	txn
	aborted bool
}

// reset prepares a for the next append.
func (a *Analysis) reset(s *State, r Rules) {
	if a.updates == nil || len(a.updates) > keptUpdates {
		*a = Analysis{}
		a.updates = a.first[:0]
	}
	if a.hashed {
		clear(a.at)
		a.hashed = false
	}
	a.state, a.rules = s, r
	a.updates, a.started, a.completed = a.updates[:0], a.started[:0], a.completed[:0]
}

// Add adds the next batch of the append. Batches without producer are passed over.
//
//   - Where a client's batch is there already, duplicate is true and dup tells of the first time: the whole
//     append is to be answered with it and not written.
//   - With an error the append is to be refused.
//   - FromLeader nothing is a duplicate and nothing is refused but a batch without transaction while one of
//     its producer is open, ErrInvalidTxnState.
//   - A marker without TxnVersion is fs.ErrInvalid, unless it is FromLeader.
func (a *Analysis) Add(b Batch) (dup segment.ProducerBatch, duplicate bool, err error) {
	h := b.Header
	if h.ProducerID < 0 {
		return segment.ProducerBatch{}, false, nil
	}
	u := a.update(h.ProducerID)
	if a.rules.Origin == FromClient {
		if found, ok := u.current.find(h); ok {
			return found.export(), true, nil
		}
	}
	if !a.verified(u, h) {
		return segment.ProducerBatch{}, false, fmt.Errorf(
			"producer %d at offset %d: not part of a verified transaction: %w", u.next.id, h.BaseOffset, ErrInvalidTxnState,
		)
	}
	if h.Attributes.Control() {
		err = a.end(u, b)
	} else {
		err = a.data(u, h)
	}
	u.verified = u.verified || h.Attributes.Transactional()
	return segment.ProducerBatch{}, false, err
}

// update is the update of the producer. It is good until the next one is made.
func (a *Analysis) update(id int64) *update {
	if i, ok := a.find(id); ok {
		return &a.updates[i]
	}
	n := len(a.updates)
	a.updates = slices.Grow(a.updates, 1)[:n+1]
	u := &a.updates[n]
	u.begin(id, a.state)
	switch {
	case a.hashed:
		a.at[id] = n
	case n == fewUpdates:
		a.hash()
	}
	return u
}

// hash makes find look into at.
func (a *Analysis) hash() {
	if a.at == nil {
		a.at = make(map[int64]int)
	}
	for i := range a.updates {
		a.at[a.updates[i].next.id] = i
	}
	a.hashed = true
}

// find is the index of the producer's update.
func (a *Analysis) find(id int64) (i int, ok bool) {
	if a.hashed {
		i, ok = a.at[id]
		return i, ok
	}
	for i := range a.updates {
		if a.updates[i].next.id == id {
			return i, true
		}
	}
	return 0, false
}

// begin makes u the update of a producer by which nothing changes. Batches of another append stay in next, and
// do not count.
func (u *update) begin(id int64, s *State) {
	u.current, u.verify, u.verified = &unknown, s.verifying[id], false
	if e := s.producers.get(id); e != nil {
		u.current = e
	}
	u.next.id, u.next.lastTimestamp, u.next.txnFirst = id, u.current.lastTimestamp, u.current.txnFirst
	u.next.coordinatorEpoch, u.next.epoch, u.next.n = u.current.coordinatorEpoch, u.current.epoch, 0
}

// verified reports whether a batch may be appended as far as verification goes: it is not the first data of
// a transaction, or the guard is that of the verification begun for it.
func (a *Analysis) verified(u *update, h *codec.Header) bool {
	asked := a.state.options.VerifyTxns && (a.rules.Origin == FromClient || a.rules.Origin == FromCoordinator)
	data := h.Attributes.Transactional() && !h.Attributes.Control()
	if !asked || !data || u.current.inTxn(h.ProducerEpoch) {
		return true
	}
	return a.rules.Guard != 0 && u.verify != nil && !u.verified && u.verify.guard == a.rules.Guard
}

// data adds a batch of data.
func (a *Analysis) data(u *update, h *codec.Header) error {
	if h.ProducerEpoch < u.next.epoch && a.rules.Origin != FromLeader {
		return u.fenced(h)
	}
	if a.rules.Origin == FromClient {
		if err := u.checkSequence(h); err != nil {
			return err
		}
	}
	u.next.setEpoch(h.ProducerEpoch)
	u.next.add(batch{
		lastOffset: h.LastOffset, timestamp: h.MaxTimestamp,
		lastSeq: h.LastSequence(), delta: int32(h.LastOffset - h.BaseOffset),
	})
	u.next.lastTimestamp = h.MaxTimestamp
	open, transactional := u.next.txnFirst != codec.NoOffset, h.Attributes.Transactional()
	if open && !transactional {
		return fmt.Errorf("producer %d at offset %d: batch without transaction while one is open: %w",
			u.next.id, h.BaseOffset, ErrInvalidTxnState)
	}
	if !open && transactional {
		u.next.txnFirst = h.BaseOffset
		a.started = append(a.started, txn{first: h.BaseOffset, last: codec.NoOffset, producer: u.next.id})
	}
	return nil
}

// checkSequence checks that no batch is missing before one of a client.
func (u *update) checkSequence(h *codec.Header) error {
	first := h.BaseSequence
	if u.verify != nil && first > u.verify.sequence {
		return u.gap(h, "above %d, which its verification began with", u.verify.sequence)
	}
	if h.ProducerEpoch != u.next.epoch {
		switch {
		case first == 0:
			return nil
		case u.next.epoch != codec.NoProducerEpoch:
			return u.gap(h, "a new epoch begins with 0")
		case u.verify != nil && u.verify.epochRises:
			return u.gap(h, "a producer whose epoch rises with each transaction begins with 0")
		}
		return nil // what was known of it may be gone with old segments: it may begin anywhere
	}
	last := codec.NoSequence
	switch {
	case u.next.n > 0:
		last = u.next.lastSeq()
	case h.ProducerEpoch == u.current.epoch:
		last = u.current.lastSeq()
	}
	follows := int64(first) == int64(last)+1 || first == 0 && last == math.MaxInt32
	if u.current.epoch != codec.NoProducerEpoch && !follows {
		return u.gap(h, "the last was %d", last)
	}
	return nil
}

// gap is ErrOutOfOrderSequence.
func (u *update) gap(h *codec.Header, format string, args ...any) error {
	return fmt.Errorf("producer %d at offset %d: epoch %d, sequence %d: %s: %w",
		u.next.id, h.BaseOffset, h.ProducerEpoch, h.BaseSequence, fmt.Sprintf(format, args...), ErrOutOfOrderSequence)
}

// fenced is ErrFenced.
func (u *update) fenced(h *codec.Header) error {
	return fmt.Errorf("producer %d at offset %d: epoch %d after %d: %w",
		u.next.id, h.BaseOffset, h.ProducerEpoch, u.next.epoch, ErrFenced)
}

// end adds a control batch. One that compaction has emptied says nothing: all of its transaction is gone.
func (a *Analysis) end(u *update, b Batch) error {
	h, m := b.Header, b.Marker
	if m == nil {
		return nil
	}
	if a.rules.Origin != FromLeader {
		if err := a.checkMarker(u, h, m); err != nil {
			return err
		}
	}
	// A marker without data before it leaves no trace in the transaction index.
	if u.next.txnFirst != codec.NoOffset {
		a.completed = append(a.completed, completed{
			txn:     txn{first: u.next.txnFirst, last: h.BaseOffset, producer: u.next.id},
			aborted: !m.Commit,
		})
	}
	u.next.setEpoch(h.ProducerEpoch)
	u.next.coordinatorEpoch = m.CoordinatorEpoch
	u.next.lastTimestamp = m.Timestamp
	u.next.txnFirst = codec.NoOffset
	return nil
}

// checkMarker checks a marker that a coordinator sent.
func (a *Analysis) checkMarker(u *update, h *codec.Header, m *Marker) error {
	over := h.ProducerEpoch < u.next.epoch
	if a.rules.TxnVersion == TxnV2 { // the marker raises the epoch; the same again is a retry, once the transaction is over
		over = over || h.ProducerEpoch == u.next.epoch && u.next.txnFirst != codec.NoOffset
	}
	if over {
		return u.fenced(h)
	}
	if a.rules.TxnVersion == TxnNone {
		return fmt.Errorf("producer %d at offset %d: marker without transaction version: %w",
			u.next.id, h.BaseOffset, fs.ErrInvalid)
	}
	if m.CoordinatorEpoch < u.next.coordinatorEpoch {
		return fmt.Errorf("producer %d at offset %d: marker of coordinator epoch %d after %d: %w",
			u.next.id, h.BaseOffset, m.CoordinatorEpoch, u.next.coordinatorEpoch, ErrCoordinatorFenced)
	}
	return nil
}

// Aborted appends to dst the transactions that the append aborts, with the last stable offset that each entry of
// the transaction index holds, in the order of their markers. It changes nothing.
func (a *Analysis) Aborted(dst []index.AbortedTxn) []index.AbortedTxn {
	for i, c := range a.completed {
		if !c.aborted {
			continue
		}
		stable, ok := a.firstOfOthers(i)
		if !ok {
			stable = c.last + 1
		}
		dst = append(dst, index.AbortedTxn{
			ProducerID: c.producer, FirstOffset: c.first, LastOffset: c.last, StableOffset: stable,
		})
	}
	return dst
}

// firstOfOthers is the first offset of the oldest transaction of another producer that is open when the i-th of
// completed ends. ok is false where there is none. As in Kafka, what the append begins behind the marker counts, too.
func (a *Analysis) firstOfOthers(i int) (first int64, ok bool) {
	stays := func(x txn) bool {
		ended := slices.ContainsFunc(a.completed[:i], func(c completed) bool { return c.first == x.first })
		return x.producer != a.completed[i].producer && !ended
	}
	for _, rising := range [...]txns{a.state.open, a.started} {
		if n := slices.IndexFunc(rising, stays); n >= 0 && (!ok || rising[n].first < first) {
			first, ok = rising[n].first, true
		}
	}
	return first, ok
}

// Commit makes the change, once the batches are written.
func (a *Analysis) Commit() {
	s := a.state
	for i := range a.updates {
		u := &a.updates[i]
		if u.verified {
			delete(s.verifying, u.next.id)
		}
		if u.current != &unknown {
			u.current.merge(&u.next)
		} else {
			s.producers.put(&u.next)
		}
	}
	for _, x := range a.started {
		s.open.put(x)
	}
	for _, c := range a.completed {
		s.open.take(c.first)
		s.decided.put(c.txn)
	}
}
