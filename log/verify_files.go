package log

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

// other adds a finding about a whole file that is none of a segment.
func (v *verifier) other(s Severity, code FindingCode, name string, repair Mend, err error, format string, args ...any) {
	pos := int64(-1)
	if at, ok := errors.AsType[*fsio.PosError](err); ok {
		pos = at.Pos
	}
	v.others = append(v.others, Finding{
		Severity: s, Code: code, File: v.path(name), Position: pos,
		FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, SeekTo: codec.NoOffset,
		Message: fmt.Sprintf(format, args...), Repair: repair, Err: err,
	})
}

// directory looks at the names in the directory, and at the small files.
func (v *verifier) directory(entries []fs.DirEntry) {
	v.stop()
	for _, name := range slices.Concat(v.list.void, v.list.leftover) {
		v.other(SeverityInfo, CodeLeftover, name, MendRemove, nil, "left by a crash, or by a removal that is under way; the next start removes it")
	}
	for _, name := range v.list.swapped {
		v.other(SeverityInfo, CodeLeftover, name, MendNone, nil, "of a compaction that is complete; the next start puts it in the place of older files")
	}
	for _, name := range v.list.orphans() {
		if len(v.list.swapped) == 0 {
			v.other(SeverityInfo, CodeLeftover, name, MendRemove, nil, "its log file is missing; the next start removes it")
		}
	}
	for _, e := range entries {
		v.foreign(e)
	}
	v.snapshots(func(int64) bool { return true })
	v.metadata()
}

// foreign tells of a name that is neither Kafka's nor ours, and of one that is, but is no file.
func (v *verifier) foreign(e fs.DirEntry) {
	ours := isOurs(e.Name())
	switch {
	case ours && e.Type().IsRegular(), isRaft(e.Name()):
	case ours:
		v.others = append(v.others, notAFile(v.path(e.Name())))
	default:
		v.other(SeverityInfo, CodeForeign, e.Name(), MendNone, nil, "it is none of Kafka's files; a broker leaves it alone")
	}
}

// isRaft reports whether a file is one that only the log of a cluster's metadata has: the state of the
// quorum, and snapshots, 20 digits of an offset and 10 of an epoch.
func isRaft(name string) bool {
	if name == "quorum-state" {
		return true
	}
	for _, suffix := range []string{".deleted", ".part"} {
		name = strings.TrimSuffix(name, suffix)
	}
	digits, ok := strings.CutSuffix(name, ".checkpoint")
	return ok && len(digits) == 31 && digits[20] == '-' && strings.Trim(digits[:20]+digits[21:], "0123456789") == ""
}

// stop tells of a stop that was not clean, and of a checkpoint of the log's own that cannot be read.
func (v *verifier) stop() {
	switch _, err := v.fsys.Stat(v.path(checkpoint.Strata)); {
	case v.o.Resume == nil && errors.Is(err, fs.ErrNotExist):
		return // nothing tells
	case v.o.Resume == nil && err == nil && !v.was.ok:
		v.other(SeverityWarning, CodeCheckpoint, checkpoint.Strata, MendNone, fmt.Errorf("%s: %w", checkpoint.Strata, checkpoint.ErrCorrupt),
			"neither of its two slots is whole")
		return
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		v.fail(err)
	}
	if v.o.Resume == nil {
		v.o.Counts.Files++
	}
	if !v.resume.Clean {
		v.others = append(v.others, v.unclean(v.Dir(), "in use, or not stopped cleanly"))
	}
}

// unclean tells, by a file, of a stop that does not count as clean.
func (v *verifier) unclean(file, why string) Finding {
	return Finding{
		Severity: SeverityInfo, Code: CodeUncleanStop, File: file, Position: -1,
		FirstOffset: v.resume.RecoveryPoint, NextOffset: codec.NoOffset, SeekTo: codec.NoOffset, Repair: MendNone,
		Message: fmt.Sprintf("%s: the next start verifies what is at or above offset %d, and cuts it at the first bad batch",
			why, v.resume.RecoveryPoint),
	}
}

// swapFailed tells of a compaction that is complete by its names, and cannot be read.
func (v *verifier) swapFailed(err error) {
	if !isDamage(err) {
		v.fail(err)
		return
	}
	name := ""
	if at, ok := errors.AsType[*fsio.PosError](err); ok {
		name = path.Base(at.Path)
	}
	v.other(SeverityError, CodeBatch, name, MendNone, err, "of a compaction that is complete by its name: %s", reason(err))
}

// metadata looks at partition.metadata. That it is missing is for package manager to judge.
func (v *verifier) metadata() {
	_, err := checkpoint.ReadTopicID(v.fsys, v.path(checkpoint.PartitionMetadata))
	switch {
	case err == nil:
		v.o.Counts.Files++
	case errors.Is(err, checkpoint.ErrCorrupt):
		v.o.Counts.Files++
		v.other(SeverityWarning, CodeMetadata, checkpoint.PartitionMetadata, MendNone, err, "%s", reason(err))
	default:
		v.fail(err)
	}
}

// snapshots looks at the producer snapshots whose offset is asked for.
func (v *verifier) snapshots(asked func(offset int64) bool) {
	for _, name := range v.list.numbered {
		offset, extension, _, _ := segment.ParseFileName(name)
		if extension != producer.SnapshotExt || !asked(offset) {
			continue
		}
		entries, err := producer.ReadSnapshot(v.fsys, v.path(name))
		if err != nil && !errors.Is(err, producer.ErrCorrupt) {
			v.fail(err)
			continue
		}
		v.o.Counts.Files++
		if err == nil {
			err = snapshotFits(entries, offset)
		}
		if err != nil {
			v.other(SeverityWarning, CodeSnapshot, name, MendReindex, err, "%s", reason(err))
		}
	}
}

// snapshotFits says what is wrong with a snapshot at offset that is whole.
func snapshotFits(entries []producer.Entry, offset int64) error {
	for _, e := range entries {
		if e.LastOffset >= offset || e.TxnFirstOffset >= offset {
			return fmt.Errorf("producer %d up to offset %d, transaction from %d, in a snapshot at %d: %w",
				e.ProducerID, e.LastOffset, e.TxnFirstOffset, offset, producer.ErrCorrupt)
		}
	}
	return nil
}

// strays tells of snapshots at which no segment begins. The last one is at the end of the log, where a clean
// stop leaves it.
func (v *verifier) strays(places []place) {
	if v.logEnd == codec.NoOffset {
		return
	}
	for _, name := range v.list.numbered {
		offset, extension, _, _ := segment.ParseFileName(name)
		begins := slices.ContainsFunc(places, func(p place) bool { return p.base == offset })
		if extension == producer.SnapshotExt && !begins && offset != v.logEnd {
			v.other(SeverityInfo, CodeLeftover, name, MendRemove, nil,
				"a producer snapshot at which neither a segment begins nor the log ends, as a restart leaves it")
		}
	}
}

// checkpoints compares what the checkpoints say with the log.
func (v *verifier) checkpoints() (findings []Finding) {
	if v.logEnd == codec.NoOffset {
		return nil
	}
	differs := func(name, what string, offset int64) {
		file := path.Join(path.Dir(v.Dir()), name)
		if v.o.Resume == nil {
			file = v.path(checkpoint.Strata)
		}
		why := fmt.Sprintf("%s: the %s is %d, and the log ends at %d", v.Dir(), what, offset, v.logEnd)
		findings = append(findings, Finding{
			Severity: SeverityWarning, Code: CodeCheckpoint, File: file, Position: -1,
			FirstOffset: min(offset, v.logEnd), NextOffset: max(offset, v.logEnd), SeekTo: codec.NoOffset, Repair: MendNone,
			Message: why, Err: fmt.Errorf("%s: %w", why, checkpoint.ErrCorrupt),
		})
	}
	r := v.resume
	end := r.RecoveryPoint
	if v.o.Resume == nil && r.Clean {
		end = v.was.slot.EndOffset
	}
	grown := v.o.Resume == nil && end < v.logEnd && v.logSize != v.was.slot.ActiveSize
	switch {
	case r.Clean && grown:
		findings = append(findings, v.unclean(v.path(checkpoint.Strata), fmt.Sprintf("a broker has appended from offset %d on since the clean stop", end)))
	case end > v.logEnd || r.Clean && end < v.logEnd:
		differs(checkpoint.RecoveryPoints, "recovery point", end)
	}
	if r.StartOffset > v.logEnd {
		differs(checkpoint.StartOffsets, "log start", r.StartOffset)
	}
	if r.HighWatermark > v.logEnd {
		differs(checkpoint.HighWatermarks, "high watermark", r.HighWatermark)
	}
	return findings
}
