package log

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sort"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

// maxOffset stands for an end that is not known.
const maxOffset = math.MaxInt64

// txnEvent is something that a segment has to do with a transaction.
type txnEvent struct {
	kind     txnKind
	producer int64
	offset   int64 // of the batch; of txnLost that behind what is lost
}

// txnKind is the kind of a txnEvent.
type txnKind uint8

const (
	txnData   txnKind = iota // the first records of a producer's transaction
	txnCommit                // its marker
	txnAbort
	txnLost // damage: what came before may be anything
)

// noteTxn notes what a batch of a producer means for its transaction.
func (v *verifier) noteTxn(r *segmentReport, b segment.Batch, bytes []byte) error {
	if !b.Attributes.Control() {
		r.noteTxnData(b)
		return nil
	}
	marker, err := producer.ReadMarker(v.parts.Codec, bytes)
	if err != nil || marker == nil {
		return err
	}
	delete(r.inTxn, b.ProducerID)
	e := txnEvent{kind: txnAbort, producer: b.ProducerID, offset: b.BaseOffset}
	if marker.Commit {
		e.kind = txnCommit
	}
	r.txns = append(r.txns, e)
	return nil
}

// noteTxnData notes the first records of a transaction. A batch that compaction has emptied has none.
func (r *segmentReport) noteTxnData(b segment.Batch) {
	if b.Count == 0 || r.inTxn[b.ProducerID] {
		return
	}
	r.inTxn[b.ProducerID] = true
	r.txns = append(r.txns, txnEvent{kind: txnData, producer: b.ProducerID, offset: b.BaseOffset})
}

// txnCheck knows, from segment to segment, which transactions are open, to hold the indexes of aborted ones
// against the markers.
type txnCheck struct {
	open  map[int64]int64 // the first offset by producer
	from  int64           // nothing is known of transactions that began below it
	begun bool
	holes bool // since then offsets are missing
}

// newTxnCheck is one that knows nothing yet.
func newTxnCheck() txnCheck { return txnCheck{open: map[int64]int64{}} }

// forget forgets what came below offset.
func (c *txnCheck) forget(offset int64) {
	clear(c.open)
	c.from, c.begun, c.holes = offset, true, false
}

// abort is a marker that ends a transaction, and what the index should say of it.
type abort struct {
	index.AbortedTxn       // FirstOffset is codec.NoOffset where no record of it is left
	from             int64 // FirstOffset may lie below this: nothing is known of what was there
	exact            bool  // no offset is missing: FirstOffset is that of the index
}

// take goes through the events of a segment, and returns the transactions that it aborts.
func (c *txnCheck) take(r *segmentReport) (aborts []abort) {
	if !c.begun {
		c.forget(r.base)
	}
	c.holes = c.holes || r.holes
	for _, e := range r.txns {
		switch e.kind {
		case txnLost:
			c.forget(e.offset)
			c.holes = true
		case txnData:
			if _, open := c.open[e.producer]; !open {
				c.open[e.producer] = e.offset
			}
		case txnCommit:
			delete(c.open, e.producer)
		case txnAbort:
			aborts = append(aborts, c.abort(e))
		}
	}
	return aborts
}

// abort ends the transaction of an abort marker.
func (c *txnCheck) abort(e txnEvent) abort {
	a := abort{from: c.from, exact: !c.holes}
	a.ProducerID, a.LastOffset, a.FirstOffset = e.producer, e.offset, codec.NoOffset
	if first, ok := c.open[e.producer]; ok {
		a.FirstOffset = first
		delete(c.open, e.producer)
	}
	a.StableOffset = e.offset + 1
	for _, first := range c.open {
		a.StableOffset = min(a.StableOffset, first)
	}
	return a
}

// aborted compares the index of aborted transactions of a segment with its markers.
func (v *verifier) aborted(r *segmentReport) []Finding {
	aborts := v.txns.take(r)
	name := v.fileOf(r, segment.TxnIndexExt)
	if r.wrong[name] != nil {
		return nil
	}
	entries, exists, err := v.abortedEntries(r, name)
	if err != nil {
		v.fail(err)
		return nil
	}
	for i, n := 0, 0; i < len(entries) || n < len(aborts); {
		var why string
		switch {
		case n == len(aborts) || i < len(entries) && entries[i].LastOffset < aborts[n].LastOffset:
			why = r.noMarker(entries[i])
			i++
		case i == len(entries) || aborts[n].LastOffset < entries[i].LastOffset:
			why = aborts[n].noEntry()
			n++
		default:
			why = aborts[n].differs(entries[i])
			i, n = i+1, n+1
		}
		if why != "" {
			return []Finding{txnFinding(name, exists, i, why)}
		}
	}
	return nil
}

// txnFinding is the finding about the entry before the i-th of an index, or about an index that is missing.
func txnFinding(name string, exists bool, i int, why string) Finding {
	const entryBytes = 34
	f := Finding{
		Severity: SeverityWarning, Code: CodeTxnIndex, File: name, Position: int64(max(0, i-1)) * entryBytes, Size: entryBytes,
		FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, SeekTo: codec.NoOffset, Message: why, Repair: MendReindex,
		Err: &fsio.PosError{Op: "verify", Path: name, Pos: int64(max(0, i-1)) * entryBytes, Err: fmt.Errorf("%s: %w", why, index.ErrCorrupt)},
	}
	if !exists {
		f.Code, f.Position, f.Size = CodeIndexMissing, -1, 0
		f.Message = "there is none: " + why
	}
	return f
}

// abortedEntries reads an index of aborted transactions.
func (v *verifier) abortedEntries(r *segmentReport, name string) (entries []index.AbortedTxn, exists bool, err error) {
	switch info, err := v.fsys.Stat(name); {
	case errors.Is(err, fs.ErrNotExist), fsio.NotAFile(err), err == nil && info.IsDir():
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	v.o.Counts.Files++
	x, err := index.OpenTxn(v.fsys, name, r.base)
	if err != nil {
		return nil, false, err
	}
	for i := range x.Len() {
		entries = append(entries, x.At(i))
	}
	entries, err = v.asLongAs(r, entries)
	return entries, true, errors.Join(err, x.Close())
}

// asLongAs leaves out the entries for markers that were appended since the log of r was read.
func (v *verifier) asLongAs(r *segmentReport, entries []index.AbortedTxn) ([]index.AbortedTxn, error) {
	n := sort.Search(len(entries), func(i int) bool { return entries[i].LastOffset >= r.end })
	if n == len(entries) {
		return entries, nil
	}
	info, err := v.fsys.Stat(r.name)
	if err == nil && info.Size() > r.size {
		entries = entries[:n]
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return entries, err
}

// noMarker is what is wrong with an entry that no marker in the segment is for.
func (r *segmentReport) noMarker(t index.AbortedTxn) string {
	for _, lost := range r.lost {
		if lost.first <= t.LastOffset && t.LastOffset < lost.next {
			return ""
		}
	}
	return fmt.Sprintf("an aborted transaction of producer %d up to offset %d, where the log has no abort marker", t.ProducerID, t.LastOffset)
}

// noEntry is what is wrong with an index that has nothing about the transaction.
func (a abort) noEntry() string {
	if a.FirstOffset == codec.NoOffset { // nothing of it is left that a reader would have to be kept from
		return ""
	}
	return fmt.Sprintf("the transaction of producer %d from offset %d was aborted at %d, and is missing", a.ProducerID, a.FirstOffset, a.LastOffset)
}

// differs is what is wrong with an entry for the same marker.
func (a abort) differs(t index.AbortedTxn) string {
	first := t.FirstOffset < a.from || t.FirstOffset == a.FirstOffset ||
		!a.exact && t.FirstOffset <= t.LastOffset && (a.FirstOffset == codec.NoOffset || t.FirstOffset < a.FirstOffset)
	stable := t.StableOffset == a.StableOffset || t.StableOffset < a.from || !a.exact && t.StableOffset <= a.StableOffset ||
		a.StableOffset == a.LastOffset+1 && t.StableOffset > a.LastOffset // what came in one append behind the marker counts
	switch {
	case t.ProducerID != a.ProducerID:
		return fmt.Sprintf("producer %d at offset %d, where the log has the marker of producer %d", t.ProducerID, t.LastOffset, a.ProducerID)
	case !first:
		return fmt.Sprintf("the transaction of producer %d that was aborted at %d begins at %d, not at %d",
			t.ProducerID, t.LastOffset, a.FirstOffset, t.FirstOffset)
	case !stable:
		return fmt.Sprintf("last stable offset %d behind the marker at %d, where it is %d", t.StableOffset, t.LastOffset, a.StableOffset)
	}
	return ""
}
