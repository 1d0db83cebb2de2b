package segment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
)

// maxRelative is the largest offset relative to the base that an index can hold.
const maxRelative = math.MaxInt32

// stamp is a timestamp and the offset that goes with it.
type stamp struct{ timestamp, offset int64 }

// noStamp is that of a segment without timestamps.
var noStamp = stamp{codec.NoTimestamp, codec.NoOffset}

// sparse is Kafka's rule of which batches the indexes have entries for. It is the same for batches that are
// appended and for an index that is built anew, which is why the two give the same bytes.
type sparse struct {
	interval int64
	indexed  int64 // the position of the last batch that got an entry, or from which counting began
	max      stamp
}

// sparseFrom is the rule for a segment whose next batch lies at pos.
func (s *Segment) sparseFrom(pos int64) sparse {
	return sparse{interval: s.o.IndexIntervalBytes, indexed: pos, max: noStamp}
}

// take takes the batch at pos, and reports whether it gets an entry.
func (x *sparse) take(h *codec.Header, pos int64) bool {
	if h.MaxTimestamp > x.max.timestamp {
		x.max = stamp{h.MaxTimestamp, h.LastOffset}
	}
	if pos-x.indexed <= x.interval {
		return false
	}
	x.indexed = pos
	return true
}

// offsetRoom and timeRoom report whether an index of n entries has room for one more. The time index keeps
// one entry free for the one that Seal writes.
func (s *Segment) offsetRoom(n int) bool {
	return int64(n) < s.o.IndexBytes/int64(index.OffsetLayout.EntryBytes())
}

func (s *Segment) timeRoom(n int) bool {
	return int64(n) < s.o.IndexBytes/int64(index.TimeLayout.EntryBytes())-1
}

// fits reports whether the indexes can hold the offset.
func (s *Segment) fits(offset int64) bool {
	return offset >= s.base && offset-s.base <= maxRelative && offset < math.MaxInt64
}

// lastFitting is the largest offset that fits.
func (s *Segment) lastFitting() int64 { return s.base + min(maxRelative, math.MaxInt64-1-s.base) }

// Full reports whether appending n bytes up to lastOffset must roll first: an index has no room (of the
// time index, all but the entry that Seal writes), or lastOffset − BaseOffset or the size would pass 2³¹−1.
// The bounds by configuration are the log's.
func (s *Segment) Full(n, lastOffset int64) bool {
	return !s.fits(lastOffset) || n > maxSetBytes-s.Size() ||
		!s.w.offset.hasRoom(s.offsetRoom) || !s.w.time.hasRoom(s.timeRoom)
}

// hasRoom asks room whether one more entry fits. An index that is done without takes any number.
func (x *lenient) hasRoom(room func(n int) bool) bool {
	return x == nil || x.file.err() != nil || room(x.Len())
}

// Append appends batches, whole and end to end, whose headers are hs, and indexes them.
//
//   - A batch gets an offset entry (its LastOffset, its position) where it lies more than
//     IndexIntervalBytes behind the last batch that got one, or, as long as none did since Open or
//     Truncate, behind the Size then. So one append may add several, and the first batch of a segment gets
//     none.
//   - A time entry comes with each, if the largest timestamp has grown.
//   - What an index has no room for any more, it goes without.
//   - An offset that does not fit is ErrOverflow, before anything is written, and headers that are not
//     those of batches are ErrRange.
//   - aborted are the transactions that markers among the batches end. They are in the index of aborted
//     transactions before the markers are in the log: nobody may take for committed what they aborted.
//   - With an error, readers have what they had.
func (s *Segment) Append(batches []byte, hs []codec.Header, aborted ...index.AbortedTxn) (pos int64, err error) {
	if err := s.writable(); err != nil {
		return 0, err
	}
	size := 0
	for i := range hs {
		if !s.fits(hs[i].LastOffset) {
			return 0, fmt.Errorf("segment %d: offset %d: %w", s.base, hs[i].LastOffset, ErrOverflow)
		}
		size += hs[i].Size
	}
	if size != len(batches) {
		return 0, fmt.Errorf("segment %d: headers of %d bytes for %d: %w", s.base, size, len(batches), ErrRange)
	}
	if len(hs) == 0 {
		return s.Size(), nil
	}
	before, err := s.mark()
	if err != nil {
		return 0, err
	}
	if err := s.addAborted(aborted); err != nil {
		return 0, err
	}
	if pos, err = s.w.set.Append(batches); err != nil {
		return 0, errors.Join(err, s.takeBackAborted(aborted))
	}
	if err := s.indexAll(hs, pos); err != nil {
		return 0, errors.Join(err, s.takeBack(before), s.takeBackAborted(aborted))
	}
	s.stamps.grow(s.w.sparse.max, hs[0].MaxTimestamp, pos == 0)
	s.next.Store(hs[len(hs)-1].NextOffset())
	s.size.Store(pos + int64(len(batches)))
	return pos, nil
}

// writable is why nothing can be appended, or nil.
func (s *Segment) writable() error {
	switch {
	case s.ended.Load() || s.w.set == nil && !s.o.ReadOnly:
		return fs.ErrClosed
	case s.o.ReadOnly:
		return fs.ErrPermission
	}
	return nil
}

// mark is a state of the writer that an append can be taken back to.
type mark struct {
	size         int64
	sparse       sparse
	offset, time int // entries
}

// mark is the state of the writer.
func (s *Segment) mark() (mark, error) {
	if s.w.sparse.max == noStamp {
		largest, err := s.learnMax()
		if err != nil {
			return mark{}, err
		}
		s.w.sparse.max = largest
	}
	m := mark{size: s.w.set.Size(), sparse: s.w.sparse}
	if s.w.offset != nil {
		m.offset = s.w.offset.Len()
	}
	if s.w.time != nil {
		m.time = s.w.time.Len()
	}
	return m, nil
}

// takeBack undoes an append whose batches were written and could not be indexed.
func (s *Segment) takeBack(m mark) error {
	s.w.sparse = m.sparse
	err := s.w.set.Truncate(m.size)
	if s.w.offset != nil {
		err = errors.Join(err, s.shorten(s.w.offset, m.offset))
	}
	if s.w.time != nil {
		err = errors.Join(err, s.shorten(s.w.time, m.time))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return nil
}

// indexAll makes the entries for the batches at pos, whose headers are hs.
func (s *Segment) indexAll(hs []codec.Header, pos int64) error {
	for i := range hs {
		if s.w.sparse.take(&hs[i], pos) {
			e := index.Entry{Key: hs[i].LastOffset, Value: pos}
			if err := s.addEntries(s.w.offset.adder(), s.w.time.adder(), s.w.sparse.max, e); err != nil {
				return err
			}
		}
		pos += int64(hs[i].Size)
	}
	return nil
}

// addEntries adds e to the offset index, and an entry to the time index if the largest timestamp has grown.
// What has no room for one more goes without; so does what is nil.
func (s *Segment) addEntries(offset, time adder, largest stamp, e index.Entry) error {
	if offset != nil && s.offsetRoom(offset.Len()) {
		if err := offset.Append(e); err != nil {
			return err
		}
	}
	if time != nil && s.timeRoom(time.Len()) {
		return addTime(time, largest)
	}
	return nil
}

// addTime adds an entry for the largest timestamp, if it is larger than that of the last entry.
func addTime(x adder, largest stamp) error {
	last := codec.NoTimestamp
	if n := x.Len(); n > 0 {
		last = x.At(n - 1).Key
	}
	if largest.timestamp <= last {
		return nil
	}
	return x.Append(index.Entry{Key: largest.timestamp, Value: largest.offset})
}

// lenient is an index that is appended to. One that is full goes without, and one that has later entries
// already is not this segment's: it is done without.
type lenient struct {
	index.Index
	file *indexFile

	newest index.Entry // that was appended here; n is how many there were then
	n      int
}

// adder is x, or nil where x is done without.
func (x *lenient) adder() adder {
	if x == nil || x.file.err() != nil {
		return nil
	}
	return x
}

// At is Index's. The entry that came last is asked for with each append, and need not be read.
func (x *lenient) At(i int) index.Entry {
	if i+1 == x.n {
		return x.newest
	}
	return x.Index.At(i)
}

func (x *lenient) Append(e index.Entry) error {
	err := x.Index.Append(e)
	switch {
	case err == nil:
		x.newest, x.n = e, x.Len()
	case errors.Is(err, index.ErrFull):
		return nil
	case errors.Is(err, index.ErrOrder):
		x.file.doWithout(fmt.Errorf("%w: %w", index.ErrCorrupt, err))
		return nil
	}
	return err
}

// Seal writes the last time entry and gives back reserved space: the segment is no longer active. It syncs
// nothing.
func (s *Segment) Seal() error {
	if s.ended.Load() {
		return fs.ErrClosed
	}
	if s.sealed.Load() {
		return nil
	}
	if err := s.finish(); err != nil {
		return err
	}
	s.sealed.Store(true)
	s.w = writer{}
	s.log.unpin()
	s.offset.unpin()
	s.time.unpin()
	if s.o.Sums {
		return s.writeSum()
	}
	return nil
}

// finish does to the files what a roll and a clean close do in Kafka. It goes on behind an error: the log
// may be shorter and right where an index is not.
func (s *Segment) finish() error {
	largest, err := s.learnMax()
	if x := s.w.time; x != nil {
		if to := x.adder(); to != nil && err == nil {
			err = addTime(to, largest)
		}
		err = errors.Join(err, x.Seal())
	}
	if x := s.w.offset; x != nil {
		err = errors.Join(err, x.Seal())
	}
	return errors.Join(err, s.w.set.Seal())
}

// Sync makes the message set durable, and then, of a sealed segment, its indexes. The indexes of an active
// one are built anew after a crash, so that a group commit costs one fdatasync. The index of aborted transactions
// is synced with either, where it was changed: once all is synced and the segment is rolled, nothing builds it
// anew, and what is missing there passes for committed.
//
//   - After a failed Sync every later one is ErrBroken, with the cause.
func (s *Segment) Sync() error {
	if cause := s.broken.Load(); cause != nil {
		return *cause
	}
	err := s.sync(s.sealed.Load())
	if err == nil || errors.Is(err, fs.ErrClosed) {
		return err
	}
	// Kept here, too: the set of a sealed segment may be closed and opened again, and then forgets.
	if !errors.Is(err, ErrBroken) {
		err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	s.broken.CompareAndSwap(nil, &err)
	return err
}

// sync syncs the message set, and the indexes if they are to be durable, too.
func (s *Segment) sync(indexes bool) error {
	if err := syncOne(s.log.acquire()); err != nil {
		return err
	}
	if indexes {
		for _, f := range []*indexFile{&s.offset, &s.time} {
			x, err := f.use()
			if err != nil {
				return err
			}
			if x != nil {
				if err := syncOne(x, nil); err != nil {
					return err
				}
			}
		}
	}
	if !s.unsure.Swap(false) && !indexes {
		return nil
	}
	return syncOne(s.txn.acquire())
}

// syncer is what a segment's open files have in common.
type syncer interface {
	io.Closer
	Sync() error
}

// syncOne syncs what was acquired.
func syncOne[T syncer](l *lease[T], err error) error {
	if err != nil {
		return err
	}
	defer l.release()
	return l.value.Sync()
}

// AppendAborted adds t to the index of aborted transactions. While Recover runs, it is kept until the
// indexes are built anew.
func (s *Segment) AppendAborted(t index.AbortedTxn) error {
	if s.w.pending != nil {
		*s.w.pending = append(*s.w.pending, t)
		return nil
	}
	if err := s.writable(); err != nil {
		return err
	}
	txn, err := s.txn.acquire()
	if err != nil {
		return err
	}
	defer txn.release()
	err = txn.value.Append(t)
	s.unsure.Store(true) // behind it, since a Sync may run
	return err
}

// addAborted adds what an append aborts to the index of aborted transactions, or nothing.
func (s *Segment) addAborted(aborted []index.AbortedTxn) error {
	for i, t := range aborted {
		if err := s.AppendAborted(t); err != nil {
			return errors.Join(err, s.takeBackAborted(aborted[:i]))
		}
	}
	return nil
}

// takeBackAborted undoes that.
func (s *Segment) takeBackAborted(aborted []index.AbortedTxn) error {
	if len(aborted) == 0 {
		return nil
	}
	if err := s.dropAborted(aborted[0].LastOffset); err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return nil
}

// Aborted adds to dst the aborted transactions that have records in [from, to), as far as this segment
// knows. done is true where later segments have no more.
func (s *Segment) Aborted(dst []index.AbortedTxn, from, to int64) (all []index.AbortedTxn, done bool, err error) {
	txn, err := s.txn.acquire()
	if err != nil {
		return dst, false, err
	}
	defer txn.release()
	all, done = txn.value.Collect(dst, from, to)
	return all, done, nil
}
