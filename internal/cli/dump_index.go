package cli

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// Here kafka-dump-log's way of looking at indexes is kept, byte for byte of what it prints: entries as they
// lie in the file, also behind the last one that was written, and its checks against the log.

// indexFile is an index as it lies on disk, and the log that it is for.
type indexFile struct {
	table
	base   int64
	layout index.Layout
}

// newIndexFile is f as an index.
func newIndexFile(f *openFile, layout index.Layout) (*indexFile, error) {
	base, err := f.baseOffset()
	size := int64(layout.EntryBytes())
	return &indexFile{table{window{file: f, end: f.size}, size}, base, layout}, err
}

// entry is the i-th entry, with absolute offsets.
func (x *indexFile) entry(i int) (index.Entry, error) {
	b, err := x.at(i)
	if err != nil {
		return index.Entry{}, err
	}
	if x.layout == index.OffsetLayout {
		return index.Entry{
			Key:   x.base + int64(int32(binary.BigEndian.Uint32(b))),
			Value: int64(int32(binary.BigEndian.Uint32(b[4:]))),
		}, nil
	}
	return index.Entry{
		Key:   int64(binary.BigEndian.Uint64(b)),
		Value: x.base + int64(int32(binary.BigEndian.Uint32(b[8:]))),
	}, nil
}

// lookup is the position for offset by Kafka's search, which reads the warm section first: in an index with
// a tail of zeros, which a crash leaves, it finds other entries than a plain one.
func (x *indexFile) lookup(offset int64) (pos int64, err error) {
	warm := 8192 / int(x.entryBytes)
	n := x.len()
	if n == 0 {
		return 0, nil
	}
	firstHot := max(0, n-1-warm)
	lo, hi := 0, firstHot
	if e, err := x.entry(firstHot); err != nil {
		return 0, err
	} else if e.Key < offset {
		lo, hi = firstHot, n-1
	} else if e, err := x.entry(0); err != nil || e.Key > offset {
		return 0, err
	}
	for lo < hi {
		mid := int(uint(lo+hi+1) >> 1)
		e, err := x.entry(mid)
		switch {
		case err != nil:
			return 0, err
		case e.Key > offset:
			hi = mid - 1
		case e.Key < offset:
			lo = mid
		default:
			return e.Value, nil
		}
	}
	e, err := x.entry(lo)
	return e.Value, err
}

// check is a broker's look at an index when it starts.
func (x *indexFile) check() error {
	switch {
	case x.end%x.entryBytes != 0:
		return fmt.Errorf("%w: %d bytes are not whole entries of %d", index.ErrCorrupt, x.end, x.entryBytes)
	case x.end == 0:
		return nil
	}
	first, err := x.entry(0)
	if err != nil {
		return err
	}
	last, err := x.entry(x.len() - 1)
	switch {
	case err != nil:
		return err
	case x.layout == index.TimeLayout && last.Key < first.Key:
		return fmt.Errorf("%w: the last timestamp, %d, is below the first, %d", index.ErrCorrupt, last.Key, first.Key)
	case x.offset(last) < x.base:
		return fmt.Errorf("%w: the last offset, %d, is below the base offset, %d", index.ErrCorrupt, x.offset(last), x.base)
	}
	return nil
}

// offset is the offset in e.
func (x *indexFile) offset(e index.Entry) int64 {
	if x.layout == index.OffsetLayout {
		return e.Key
	}
	return e.Value
}

// reserved reports whether x has no entry, only space for some: the first one is zeros, which no offset index has, and no
// time index twice.
func (x *indexFile) reserved() bool {
	zeros := (&window{file: x.file, end: x.end}).zeros
	if x.layout == index.OffsetLayout {
		return x.len() > 0 && zeros(0, x.entryBytes)
	}
	return x.len() > 1 && zeros(0, 2*x.entryBytes)
}

// unused shows that x has no entry, if so. kafka-dump-log takes the first one for an entry.
func (d *dump) unused(x *indexFile) bool {
	if d.output == "kafka" || !x.reserved() {
		return false
	}
	d.show.verdict(fmt.Sprintf("is empty, with %d bytes reserved.", x.end))
	return true
}

// sane shows that x passes a broker's check.
func (d *dump) sane(x *indexFile) error {
	if err := x.check(); err != nil {
		return err
	}
	d.show.verdict("passed sanity check.")
	return nil
}

// offsetIndex shows an offset index, and checks it against the log.
func (d *dump) offsetIndex(f *openFile) error {
	x, err := newIndexFile(f, index.OffsetLayout)
	if err != nil {
		return err
	}
	if x.len() == 0 {
		d.show.verdict("is empty.")
		return nil
	}
	if d.sanityOnly {
		return d.sane(x)
	}
	if d.unused(x) {
		return nil
	}
	log, err := f.sibling(segment.LogExt)
	if err != nil {
		return fmt.Errorf("an index is checked against its log: %w", err)
	}
	w := &window{file: log, end: log.size, size: log.Size}
	return errors.Join(d.offsetEntries(x, w), log.Close())
}

// offsetEntries shows the entries of x, and checks them against the log in w.
func (d *dump) offsetEntries(x *indexFile, w *window) error {
	for i := range x.len() {
		if err := d.stop(); err != nil {
			return err
		}
		e, err := x.entry(i)
		if err != nil {
			return err
		}
		if e.Key == x.base && i > 0 { // the zeros behind the last entry
			return nil
		}
		h, err := w.batchAt(d.codec, e.Value)
		switch {
		case errors.Is(err, codec.ErrShort):
			return fmt.Errorf("entry %d, of offset %d, leads to position %d, where the log has no batch", i, e.Key, e.Value)
		case err != nil:
			return fmt.Errorf("entry %d, of offset %d, leads to position %d: %w", i, e.Key, e.Value, err)
		case h.LastOffset != e.Key:
			d.report(problem{kind: indexMismatch, a: e.Key, b: h.LastOffset, pos: int64(i) * x.entryBytes})
		}
		if !d.verifyOnly {
			d.show.entry(x, e)
		}
	}
	return nil
}

// timeIndex shows a time index, and checks it against the log.
func (d *dump) timeIndex(f *openFile) error {
	x, err := newIndexFile(f, index.TimeLayout)
	if err != nil {
		return err
	}
	if d.sanityOnly {
		return d.sane(x)
	}
	if d.unused(x) {
		return nil
	}
	log, err := f.sibling(segment.LogExt)
	if err != nil {
		return fmt.Errorf("an index is checked against its log: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing was written, nor below
	offsets := &indexFile{base: x.base, layout: index.OffsetLayout}
	offsets.entryBytes = int64(index.OffsetLayout.EntryBytes())
	if sibling, err := f.sibling(segment.IndexExt); err == nil { // without one the log is read from its begin
		defer func() { _ = sibling.Close() }()
		offsets.window = window{file: sibling, end: sibling.size}
	}
	return d.timeEntries(x, offsets, &window{file: log, end: log.size, size: log.Size})
}

// timeEntries shows the entries of x, and checks them against the log in w, which offsets is an index of.
func (d *dump) timeEntries(x, offsets *indexFile, w *window) error {
	before := codec.NoTimestamp
	for i := range x.len() {
		if err := d.stop(); err != nil {
			return err
		}
		e, err := x.entry(i)
		if err != nil {
			return err
		}
		if e.Value == x.base && i > 0 { // the zeros behind the last entry
			return nil
		}
		if err := d.timeEntry(e, before, int64(i)*x.entryBytes, offsets, w); err != nil {
			return fmt.Errorf("entry %d, of offset %d: %w", i, e.Value, err)
		}
		if !d.verifyOnly {
			d.show.entry(x, e)
		}
		before = e.Key
	}
	return nil
}

// timeEntry checks the entry e of a time index, which lies at pos, behind one with the timestamp before.
func (d *dump) timeEntry(e index.Entry, before, pos int64, offsets *indexFile, w *window) error {
	from, err := offsets.lookup(e.Value)
	if err != nil {
		return err
	}
	at, h, err := d.batchWith(w, from, e.Value)
	if err != nil {
		return err
	}
	if h.LastOffset != e.Value {
		d.report(problem{kind: offsetNotFound, a: e.Value, b: h.LastOffset, pos: pos})
		return nil
	}
	b, err := w.bytes(at, int64(h.Size))
	if err != nil {
		return err
	}
	largest, err := d.timeOf(b)
	if err != nil {
		return err
	}
	if largest != e.Key {
		d.report(problem{kind: timeMismatch, a: e.Key, b: largest, pos: pos})
	}
	if before >= e.Key {
		d.report(problem{kind: timeOrder, a: e.Key, b: before, pos: pos})
	}
	return nil
}

// batchWith is the first batch from position pos on whose last offset is offset or above, or, where there is
// none, a header with the last offset −1.
func (d *dump) batchWith(w *window, pos, offset int64) (at int64, h codec.Header, err error) {
	for {
		if err := d.stop(); err != nil {
			return pos, h, err
		}
		h, err := w.batchAt(d.codec, pos)
		switch {
		case errors.Is(err, codec.ErrShort):
			return pos, codec.Header{LastOffset: codec.NoOffset}, nil
		case err != nil, h.LastOffset >= offset:
			return pos, h, err
		}
		pos += int64(h.Size)
	}
}
