package log

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

// segmentReport is what one segment holds, and what is wrong with it.
type segmentReport struct {
	place
	next int64 // the base offset of the next segment; codec.NoOffset of the last
	name string

	findings []Finding
	counts   Counts
	err      error // what could not be read
	known    bool  // its batches were looked at

	end, size int64 // the offset behind the last batch; the size of the log
	lost      []lostRange
	epochs    []epochRun
	txns      []txnEvent
	inTxn     map[int64]bool // the producers whose transaction has records, so far
	holes     bool           // offsets are missing: it was compacted, or is damaged
	old       bool           // all its batches are of magic 0 or 1, which time indexes are younger than
	wrong     map[string]*Finding
	outside   bool // that offsets reach into the next segment was told
	far       bool // that offsets are too far from the base was told
}

// lostRange is the offsets [first, next) that damage hides.
type lostRange struct{ first, next int64 }

// segment verifies the i-th segment.
func (v *verifier) segment(ctx context.Context, places []place, i int) *segmentReport {
	r := &segmentReport{place: places[i], next: codec.NoOffset, old: true, inTxn: map[int64]bool{}, wrong: map[string]*Finding{}}
	if i+1 < len(places) {
		r.next = places[i+1].base
	}
	r.name = v.fileOf(r, segment.LogExt)
	r.end = r.base
	if err := v.scan(ctx, r); err != nil {
		r.err = err
	}
	return r
}

// fileOf is the name of a file of the segment.
func (v *verifier) fileOf(r *segmentReport, extension string) string {
	return v.path(segment.FileName(r.base, extension, r.state))
}

// scan reads the segment of r, and everything in it.
func (v *verifier) scan(ctx context.Context, r *segmentReport) (err error) {
	info, err := v.fsys.Stat(r.name)
	if err != nil {
		return err
	}
	if info.ModTime().Before(v.o.ModifiedSince) {
		return nil
	}
	o := v.segmentOptions(true)
	o.State, o.Overflow = r.state, v.overflow(math.MaxInt64)
	if r.next != codec.NoOffset {
		o.Overflow = v.overflow(r.next)
	}
	s, err := segment.Open(v.fsys, v.throttled(ctx), v.Dir(), r.base, o)
	if errors.Is(err, segment.ErrOverflow) {
		r.add(Finding{
			Severity: SeverityError, Code: CodeBatch, File: r.name, Position: -1, Size: info.Size(),
			FirstOffset: r.base, NextOffset: r.next, SeekTo: r.next, Err: err,
			Message: fmt.Sprintf("%d bytes, more than a segment can have", info.Size()),
		})
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r.known, r.size = true, s.Size()
	r.counts.Files, r.counts.Bytes = 1, r.size
	for d, err := range s.VerifyWith(ctx, segment.VerifyOptions{Shallow: !v.o.Deep, Seen: v.seeing(r)}) {
		if err != nil {
			return err
		}
		if err := v.damage(r, d); err != nil {
			return err
		}
	}
	for _, extension := range []string{segment.IndexExt, segment.TimeIndexExt, segment.TxnIndexExt} {
		if f := r.wrong[v.fileOf(r, extension)]; f != nil {
			r.add(*f)
		}
	}
	return v.indexFiles(s, r)
}

// seeing takes each good batch of a segment into its report.
func (v *verifier) seeing(r *segmentReport) func(segment.Batch, []byte) error {
	return func(b segment.Batch, bytes []byte) error {
		if b.Magic < 2 {
			r.epochs = append(r.epochs[:0], epochRun{epoch: noEpochs})
		} else {
			r.old = false
			r.noteEpoch(b)
		}
		if b.ProducerID >= 0 && (b.Attributes.Transactional() || b.Attributes.Control()) {
			if err := v.noteTxn(r, b, bytes); err != nil {
				r.add(Finding{
					Severity: SeverityError, Code: CodeBatch, File: r.name, Position: b.Pos, Size: int64(b.Size),
					FirstOffset: b.BaseOffset, NextOffset: b.NextOffset(), SeekTo: b.NextOffset(), Repair: MendSkip,
					Message: fmt.Sprintf("the control batch cannot be read: %v", err), Err: corrupt(r.name, b.Pos, err),
				})
			}
		}
		first := b.BaseOffset
		if first == codec.NoOffset {
			first = r.end
		}
		r.holes = r.holes || first != r.end || b.Count >= 0 && int64(b.Count) != b.NextOffset()-first
		r.end = b.NextOffset()
		r.counts.Batches++
		r.counts.Records += int64(max(b.Count, 0))
		if b.Count < 0 {
			r.counts.Records++
		}
		r.fits(b)
		return nil
	}
}

// fits tells of the first batch with offsets that are too far from the base, and of the first with such that
// the next segment has.
func (r *segmentReport) fits(b segment.Batch) {
	if b.LastOffset-r.base > math.MaxInt32 && !r.far {
		r.far = true
		r.add(Finding{
			Severity: SeverityWarning, Code: CodeOffsetOrder, File: r.name, Position: b.Pos, Size: r.size - b.Pos,
			FirstOffset: max(b.BaseOffset, r.base), NextOffset: r.next, SeekTo: codec.NoOffset,
			Message: "offsets from here on are too far from the segment's base for its indexes (KAFKA-6264); a recovery splits the segment",
			Err:     corrupt(r.name, b.Pos, segment.ErrOverflow),
		})
	}
	if r.next == codec.NoOffset || b.LastOffset < r.next || r.outside {
		return
	}
	r.outside = true
	r.add(Finding{
		Severity: SeverityError, Code: CodeOffsetOrder, File: r.name, Position: b.Pos, Size: int64(b.Size),
		FirstOffset: max(b.BaseOffset, r.base), NextOffset: b.NextOffset(), SeekTo: r.next,
		Message: fmt.Sprintf("offsets up to %d, where the next segment begins at %d", b.LastOffset, r.next),
		Repair:  MendSkip, Err: corrupt(r.name, b.Pos, segment.ErrOffsets),
	})
}

// add adds a finding.
func (r *segmentReport) add(f Finding) {
	if f.Repair == "" {
		f.Repair = MendNone
	}
	r.findings = append(r.findings, f)
}
