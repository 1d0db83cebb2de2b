package log

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/checkpoint"
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

// throttled are the parts, with a message set that asks Throttle.
func (v *verifier) throttled(ctx context.Context) segment.Parts {
	parts := v.parts
	if v.o.Throttle != nil {
		parts.OpenSet = func(fsys fsio.FS, name string, o segment.SetOptions) (segment.MessageSet, error) {
			set, err := v.parts.OpenSet(fsys, name, o)
			if err != nil {
				return nil, err
			}
			return &throttledSet{set, func(n int64) error { return v.o.Throttle(ctx, n) }}, nil
		}
	}
	return parts
}

// throttledSet asks before it reads.
type throttledSet struct {
	segment.MessageSet
	ask func(n int64) error
}

// ReadAt implements io.ReaderAt.
func (s *throttledSet) ReadAt(p []byte, off int64) (int, error) {
	if err := s.ask(max(0, min(int64(len(p)), s.Size()-off))); err != nil {
		return 0, err
	}
	return s.MessageSet.ReadAt(p, off)
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

// corrupt is err at a place, as damage.
func corrupt(name string, pos int64, err error) error {
	if !isDamage(err) {
		err = fmt.Errorf("%w: %w", codec.ErrCorrupt, err)
	}
	return &fsio.PosError{Op: "verify", Path: name, Pos: pos, Err: err}
}

// damage turns damage into a finding. Of an index the first is told, since it is built anew as a whole.
func (v *verifier) damage(r *segmentReport, d segment.Damage) error {
	if d.Path == r.name {
		return v.logDamage(r, d)
	}
	if f := r.wrong[d.Path]; f != nil {
		f.Size = max(f.Size, d.Pos+d.Size-f.Position)
		return nil
	}
	code := CodeIndex
	switch {
	case errors.Is(d.Err, segment.ErrSum):
		code = CodeSum
	case d.Path == v.fileOf(r, segment.TimeIndexExt):
		code = CodeTimeIndex
	case d.Path == v.fileOf(r, segment.TxnIndexExt):
		code = CodeTxnIndex
	}
	r.wrong[d.Path] = &Finding{
		Severity: SeverityWarning, Code: code, File: d.Path, Position: d.Pos, Size: d.Size,
		FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, SeekTo: codec.NoOffset,
		Message: reason(d.Err), Repair: MendReindex, Err: d.Err,
	}
	return nil
}

// logDamage turns damage in the batches into a finding.
func (v *verifier) logDamage(r *segmentReport, d segment.Damage) error {
	f := Finding{
		Severity: SeverityError, Code: damageCode(d.Err), File: d.Path, Position: d.Pos, Size: d.Size,
		FirstOffset: d.FirstOffset, NextOffset: d.NextOffset, SeekTo: d.NextOffset,
		Message: reason(d.Err), Repair: MendSkip, Err: d.Err,
	}
	if f.Code == CodeSum {
		f.Repair = MendNone // the batches themselves are whole
		r.add(f)
		return nil
	}
	if errors.Is(d.Err, codec.ErrInnerChecksum) { // readers, recovery and compaction take the batch as it is
		f.Repair, f.SeekTo = MendNone, codec.NoOffset
		r.add(f)
		r.end = f.NextOffset
		return nil
	}
	tail := d.Pos+d.Size >= r.size
	if tail && f.NextOffset == codec.NoOffset && r.next != codec.NoOffset {
		f.NextOffset, f.SeekTo = max(r.next, f.FirstOffset), r.next // which may lie before the end of a batch that is out of bounds
	}
	if tail && f.Code == CodeBatch {
		if err := v.tail(r, &f); err != nil {
			return err
		}
	}
	unsynced := !v.resume.Clean && f.FirstOffset >= v.resume.RecoveryPoint
	if r.next == codec.NoOffset && tail || unsynced {
		f.Repair = MendTruncate
	}
	r.add(f)
	r.holes = true
	next := f.NextOffset
	if next == codec.NoOffset {
		next = maxOffset
	}
	r.lost = append(r.lost, lostRange{f.FirstOffset, next})
	r.txns = append(r.txns, txnEvent{kind: txnLost, offset: next})
	clear(r.inTxn)
	return nil
}

// tail is f about bytes behind the last batch.
func (v *verifier) tail(r *segmentReport, f *Finding) error {
	f.Code = CodeTail
	zeros, err := v.zeros(r.name, f.Position, f.Size)
	if err != nil {
		return err
	}
	switch {
	case zeros: // reserved by preallocate, or a file that grew before a crash and whose bytes did not come
		if f.FirstOffset >= v.resume.RecoveryPoint && r.next == codec.NoOffset {
			f.Severity = SeverityWarning
		}
		f.Message = fmt.Sprintf("the last %d bytes are zeros, reserved or never written", f.Size)
	case r.next == codec.NoOffset:
		f.Message = fmt.Sprintf("the last %d bytes are no whole batch, torn or being written: %s", f.Size, f.Message)
	default:
		f.Message = fmt.Sprintf("the last %d bytes are no whole batch: %s", f.Size, f.Message)
	}
	return nil
}

// zeros reports whether n bytes of the file from pos on are zeros.
func (v *verifier) zeros(name string, pos, n int64) (all bool, err error) {
	f, err := v.fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buf := make([]byte, min(n, 64<<10))
	for n > 0 {
		got, err := f.ReadAt(buf[:min(n, int64(len(buf)))], pos)
		for _, b := range buf[:got] {
			if b != 0 {
				return false, nil
			}
		}
		if err != nil && !errors.Is(err, io.EOF) || got == 0 {
			return got == 0 && errors.Is(err, io.EOF), err
		}
		pos, n = pos+int64(got), n-int64(got)
	}
	return true, nil
}

// damageCode is the kind of a damage in batches.
func damageCode(err error) FindingCode {
	switch {
	case errors.Is(err, segment.ErrSum):
		return CodeSum
	case errors.Is(err, codec.ErrChecksum):
		return CodeCRC
	case errors.Is(err, segment.ErrOffsets):
		return CodeOffsetOrder
	case errors.Is(err, segment.ErrEpoch):
		return CodeUnprotected
	}
	return CodeBatch
}

// reason is the text of err without its place and its classes, which a Finding has.
func reason(err error) string {
	if at, ok := errors.AsType[*fsio.PosError](err); ok {
		err = at.Err
	}
	text := err.Error()
	for _, class := range []error{
		codec.ErrCorrupt, index.ErrCorrupt, index.ErrRange, index.ErrOrder, codec.ErrShort, codec.ErrMagic,
		checkpoint.ErrCorrupt, segment.ErrOffsets, segment.ErrEpoch, segment.ErrSum,
	} {
		text = strings.TrimPrefix(strings.TrimSuffix(text, ": "+class.Error()), class.Error()+": ")
	}
	return text
}

// indexFiles looks for indexes that are missing, and for space that is reserved.
func (v *verifier) indexFiles(s *segment.Segment, r *segmentReport) error {
	offsets, times := s.IndexBytes()
	for _, x := range []struct {
		extension string
		code      FindingCode
		used      int64
	}{{segment.IndexExt, CodeIndex, offsets}, {segment.TimeIndexExt, CodeTimeIndex, times}} {
		name := v.fileOf(r, x.extension)
		info, err := v.fsys.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			r.missing(name, x.extension == segment.TimeIndexExt && r.old)
		case fsio.NotAFile(err) || err == nil && info.IsDir():
			if v.o.Base != nil { // otherwise the directory is looked through for such
				r.add(notAFile(name))
			}
		case err != nil:
			return err
		case r.wrong[name] == nil && info.Size() > x.used:
			r.counts.Files++
			v.reserved(r, x.code, name, x.used, info.Size())
		default:
			r.counts.Files++
		}
	}
	return nil
}

// notAFile is the finding about something that has the name of a file of the log.
func notAFile(name string) Finding {
	return Finding{
		Severity: SeverityWarning, Code: CodeForeign, File: name, Position: -1,
		FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, SeekTo: codec.NoOffset,
		Message: "it has the name of a file of the log, and is none", Repair: MendNone, Err: fsio.ErrNotRegular,
	}
}

// missing tells of an index that is not there. Old ones have never been.
func (r *segmentReport) missing(name string, old bool) {
	f := Finding{
		Severity: SeverityWarning, Code: CodeIndexMissing, File: name, Position: -1,
		FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, SeekTo: codec.NoOffset,
		Message: "there is none", Repair: MendReindex, Err: &fs.PathError{Op: "verify", Path: name, Err: fs.ErrNotExist},
	}
	if old {
		f.Severity, f.Message = SeverityInfo, "there is none, as in Kafka up to 0.10.0"
	}
	r.add(f)
}

// reserved tells of the zeros behind the last entry of an index. A log that is in use, or was not stopped
// cleanly, has them in its last segment. Elsewhere Kafka takes them for entries (KAFKA-19200).
func (v *verifier) reserved(r *segmentReport, code FindingCode, name string, used, size int64) {
	f := Finding{
		Severity: SeverityWarning, Code: code, File: name, Position: used, Size: size - used,
		FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, SeekTo: codec.NoOffset,
		Message: fmt.Sprintf("%d bytes are reserved behind the last entry, which a clean stop cuts off", size-used),
		Repair:  MendReindex, Err: &fsio.PosError{Op: "verify", Path: name, Pos: used, Err: index.ErrCorrupt},
	}
	if r.next == codec.NoOffset && !v.resume.Clean {
		f.Severity, f.Repair, f.Err = SeverityInfo, MendNone, nil
	}
	r.add(f)
}
