package log

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/segment"
)

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
