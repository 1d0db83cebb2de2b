package log

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/segment"
)

// epochRun is batches of one leader epoch that follow each other.
type epochRun struct {
	epoch       int32 // noEpochs: a batch of magic 0 or 1, which makes Kafka forget the epochs before
	first, last int64 // offsets
	pos         int64 // of the first batch in its file
}

// noEpochs is the epoch of batches that have none and end those that have.
const noEpochs = -2

// noteEpoch notes the leader epoch of a batch.
func (r *segmentReport) noteEpoch(b segment.Batch) {
	if b.LeaderEpoch < 0 {
		return
	}
	if n := len(r.epochs); n > 0 && r.epochs[n-1].epoch == b.LeaderEpoch {
		r.epochs[n-1].last = b.LastOffset
		return
	}
	r.epochs = append(r.epochs, epochRun{b.LeaderEpoch, b.BaseOffset, b.LastOffset, b.Pos})
}

// epochCheck knows, from segment to segment, the leader epochs of the batches.
type epochCheck struct {
	runs  []epochRun // rising
	mixed bool       // there are batches of magic 0 or 1
}

// take takes the epochs of a segment, and tells of the first that is below one before: a leader's epoch does
// not fall.
func (c *epochCheck) take(r *segmentReport) (findings []Finding) {
	for _, run := range r.epochs {
		n := len(c.runs)
		switch {
		case run.epoch == noEpochs:
			c.runs, c.mixed = nil, true
		case n == 0 || run.epoch > c.runs[n-1].epoch:
			c.runs = append(c.runs, run)
		case run.epoch == c.runs[n-1].epoch:
			c.runs[n-1].last = run.last
		case len(findings) == 0:
			findings = append(findings, Finding{
				Severity: SeverityWarning, Code: CodeUnprotected, File: r.name, Position: run.pos,
				FirstOffset: run.first, NextOffset: run.last + 1, SeekTo: codec.NoOffset, Repair: MendNone,
				Message: fmt.Sprintf("leader epoch %d behind %d", run.epoch, c.runs[n-1].epoch),
				Err:     corrupt(r.name, run.pos, segment.ErrEpoch),
			})
		}
	}
	return findings
}

// epochFile compares the file of leader epochs with those of the batches.
func (v *verifier) epochFile() {
	name := v.path(checkpoint.LeaderEpochs)
	entries, err := checkpoint.ReadEpochs(v.fsys, name)
	pos := int64(-1)
	var why string
	switch {
	case errors.Is(err, checkpoint.ErrCorrupt):
		if at, ok := errors.AsType[*fsio.PosError](err); ok {
			pos = at.Pos
		}
		why = reason(err)
	case errors.Is(err, fs.ErrNotExist):
		if len(v.epochs.runs) > 0 {
			why = "there is none, though batches have leader epochs"
		}
	case err != nil:
		v.fail(err)
		return
	default:
		why = v.epochsDiffer(entries)
	}
	if err == nil || why != "" {
		v.o.Counts.Files++
	}
	if why == "" {
		return
	}
	if err == nil {
		err = &fsio.PosError{Op: "verify", Path: name, Err: fmt.Errorf("%s: %w", why, checkpoint.ErrCorrupt)}
	}
	severity := SeverityWarning
	if errors.Is(err, fs.ErrNotExist) && v.epochs.mixed {
		severity = SeverityInfo // Kafka forgets epochs where it appends a batch that has none
	}
	v.others = append(v.others, Finding{
		Severity: severity, Code: CodeEpochs, File: name, Position: pos,
		FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, SeekTo: codec.NoOffset,
		Message: why, Repair: MendReindex, Err: err,
	})
}

// epochsDiffer is the first thing in which entries are not what the batches say.
func (v *verifier) epochsDiffer(entries []checkpoint.Epoch) string {
	for i, e := range entries {
		if i > 0 && (e.Epoch <= entries[i-1].Epoch || e.StartOffset < entries[i-1].StartOffset) {
			return fmt.Sprintf("epoch %d from %d behind epoch %d from %d", e.Epoch, e.StartOffset, entries[i-1].Epoch, entries[i-1].StartOffset)
		}
		if v.logEnd != codec.NoOffset && e.StartOffset > v.logEnd {
			return fmt.Sprintf("epoch %d begins at %d, behind the end of the log at %d", e.Epoch, e.StartOffset, v.logEnd)
		}
	}
	begin := v.resume.StartOffset
	if !v.resume.Clean && len(entries) > 0 {
		// What was deleted since the checkpoint was written, nobody has told.
		begin = max(begin, entries[0].StartOffset)
	}
	for _, run := range v.epochs.runs {
		if run.last < begin {
			continue
		}
		for _, offset := range []int64{max(run.first, begin), run.last} {
			if why := epochDiffers(entries, run.epoch, offset); why != "" {
				return why
			}
		}
	}
	return ""
}

// epochDiffers says what else entries have for an offset than the epoch of its batch.
func epochDiffers(entries []checkpoint.Epoch, epoch int32, offset int64) string {
	found := codec.NoLeaderEpoch
	for _, e := range entries {
		if e.StartOffset > offset {
			break
		}
		found = e.Epoch
	}
	switch found {
	case epoch:
		return ""
	case codec.NoLeaderEpoch:
		return fmt.Sprintf("no epoch for offset %d, whose batch has %d", offset, epoch)
	}
	return fmt.Sprintf("epoch %d for offset %d, whose batch has %d", found, offset, epoch)
}
