package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/log"
)

// VerifyOptions say how to verify a log directory.
type VerifyOptions struct {
	log.VerifyOptions // of each partition; Resume is the View's, and Base does not count

	Only func(p PartitionView) bool // which partitions; nil: all, and the directory's own files
}

// Verify checks a log directory: its own files, and each partition as log.Verify does. It takes no lock and
// writes nothing. Findings come by directory, file and position.
//
//   - The directory's own files and names come first, then the partitions by directory.
//   - A stop that was not clean is told once, of the directory; of each partition where they tell of that themselves.
//   - What could not be read is yielded last, joined to one error, without a Finding.
func Verify(ctx context.Context, fsys fsio.FS, o VerifyOptions) iter.Seq2[log.Finding, error] {
	return func(yield func(log.Finding, error) bool) {
		v := &verifier{fsys: fsys, o: o, yield: yield}
		if err := v.run(ctx); err != nil && !errors.Is(err, errEnough) {
			yield(log.Finding{}, err)
		}
	}
}

// errEnough says that nobody wants to hear of more.
var errEnough = errors.New("enough")

// verifier is a Verify at work.
type verifier struct {
	fsys   fsio.FS
	o      VerifyOptions
	yield  func(log.Finding, error) bool
	view   *View
	failed []error
}

// run verifies the directory. Its error is the one that is yielded last.
func (v *verifier) run(ctx context.Context) (err error) {
	if v.view, err = OpenView(ctx, v.fsys); err != nil {
		return err
	}
	if v.o.Only == nil {
		findings, err := v.own()
		if err != nil {
			return err
		}
		for _, f := range findings {
			if !v.yield(f, nil) {
				return errEnough
			}
		}
	}
	partitions := v.view.Partitions()
	slices.SortFunc(partitions, func(a, b PartitionView) int { return cmp.Compare(a.Dir, b.Dir) })
	for _, p := range partitions {
		if v.o.Only != nil && !v.o.Only(p) {
			continue
		}
		if err := v.partition(ctx, p); err != nil {
			return err
		}
	}
	return errors.Join(v.failed...)
}

// partition verifies a partition.
func (v *verifier) partition(ctx context.Context, p PartitionView) error {
	o := v.o.VerifyOptions
	o.Resume, o.Base = p.resume(), nil
	if p.unmanaged() && !p.Alone {
		o.Resume = &log.Resume{}
	}
	for f, err := range log.Verify(ctx, v.fsys, p.Dir, o) {
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case err != nil:
			v.failed = append(v.failed, err)
		case f.Code == log.CodeUncleanStop && !p.Alone: // told once, of the directory
		case !v.yield(f, nil):
			return errEnough
		}
	}
	return nil
}

// unmanaged reports whether a clean stop does not put the partition in order: one that was put aside while it
// was in use, and the log of the cluster's metadata, which is none of the log manager's.
func (p PartitionView) unmanaged() bool {
	return p.Role == Stray || p.Role == Deleting || p.Topic == metadataTopic
}

// tellsOfStop reports whether the partition tells of itself whether it was stopped cleanly.
func (p PartitionView) tellsOfStop() bool { return p.Alone && p.own }

// metadataTopic is the cluster's metadata, as a controller keeps it.
const metadataTopic = "__cluster_metadata"

// own looks at the directory's own files and names.
func (v *verifier) own() ([]log.Finding, error) {
	entries, err := v.fsys.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var findings []log.Finding
	for _, w := range v.view.Warnings() {
		if f, ok := v.warning(w); ok {
			findings = append(findings, f)
		}
	}
	for _, e := range entries {
		if f, ok := foreign(e); ok {
			findings = append(findings, f)
		}
	}
	findings = append(findings, v.identities()...)
	findings = append(findings, v.putAside()...)
	if _, clean := v.view.Clean(); !clean && slices.ContainsFunc(v.view.Partitions(), func(p PartitionView) bool { return !p.tellsOfStop() }) {
		findings = append(findings, finding(log.SeverityInfo, log.CodeUncleanStop, checkpoint.CleanShutdown, nil,
			"it is not there: in use, or not stopped cleanly; the next start verifies what is at or above the recovery points"))
	}
	slices.SortStableFunc(findings, func(a, b log.Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Position, b.Position))
	})
	return findings, nil
}

// finding is one about a whole file.
func finding(s log.Severity, code log.FindingCode, name string, err error, message string) log.Finding {
	pos := int64(-1)
	if at, ok := errors.AsType[*fsio.PosError](err); ok {
		pos, err = at.Pos, at
	}
	return log.Finding{
		Severity: s, Code: code, File: name, Position: pos,
		FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, SeekTo: codec.NoOffset,
		Message: message, Repair: log.MendNone, Err: err,
	}
}

// warning turns what a View warns of into a finding. ok is false for what log.Verify tells, and for what could
// not be read, which is an error.
func (v *verifier) warning(w Warning) (f log.Finding, ok bool) {
	message := w.Err.Error()
	if at, ok := errors.AsType[*fsio.PosError](w.Err); ok {
		message = at.Err.Error()
	}
	switch {
	case strings.Contains(w.File, "/"):
		return f, false
	case errors.Is(w.Err, ErrName):
		return finding(log.SeverityWarning, log.CodePartitionName, w.File, w.Err,
			"no partition can have this name, and a broker does not start with it: "+message), true
	case fsio.NotAFile(w.Err):
		return finding(log.SeverityWarning, log.CodeForeign, w.File, w.Err, "neither a file nor a directory"), true
	case !errors.Is(w.Err, checkpoint.ErrCorrupt):
		v.failed = append(v.failed, w.Err)
		return f, false
	case w.File == checkpoint.MetaProperties:
		return finding(log.SeverityWarning, log.CodeMetadata, w.File, w.Err, message), true
	}
	return finding(log.SeverityWarning, log.CodeCheckpoint, w.File, w.Err, message), true
}

// rootFiles are the files that Kafka has in a log directory.
var rootFiles = []string{
	checkpoint.MetaProperties, checkpoint.CleanShutdown, checkpoint.Lock, checkpoint.RecoveryPoints, checkpoint.StartOffsets,
	checkpoint.HighWatermarks, checkpoint.CleanerOffsets, "bootstrap.checkpoint",
}

// foreign tells of a file that is left over, or none of Kafka's.
func foreign(e fs.DirEntry) (f log.Finding, ok bool) {
	name, temporary := strings.CutSuffix(e.Name(), ".tmp")
	known := slices.Contains(rootFiles, name)
	switch {
	case !e.Type().IsRegular() || known && !temporary:
		return f, false
	case known:
		f = finding(log.SeverityInfo, log.CodeLeftover, e.Name(), nil, "left by a crash while the file was replaced")
		f.Repair = log.MendRemove
		return f, true
	}
	return finding(log.SeverityInfo, log.CodeForeign, e.Name(), nil, "it is none of Kafka's files; a broker leaves it alone"), true
}

// putAside tells of partitions that are not in service.
func (v *verifier) putAside() (findings []log.Finding) {
	for _, p := range v.view.Partitions() {
		message := "it is being deleted, which the next start goes on with"
		switch p.Role {
		case Current, Future:
			continue
		case Stray:
			message = "it was put aside since it is not assigned to this node; it stays until somebody removes it"
		case Deleting:
		}
		findings = append(findings, finding(log.SeverityInfo, log.CodeLeftover, p.Dir, nil, message))
	}
	return findings
}

// identities compares the topic ids of partitions, and tells of partitions that are there twice.
func (v *verifier) identities() (findings []log.Finding) {
	type place struct {
		Partition
		role Role
	}
	ids, dirs := map[string]PartitionView{}, map[place]string{}
	for _, p := range v.view.Partitions() {
		if p.Role != Current && p.Role != Future {
			continue
		}
		at := place{p.Partition, p.Role}
		if before, twice := dirs[at]; twice {
			findings = append(findings, finding(log.SeverityWarning, log.CodeDuplicate, p.Dir, nil,
				fmt.Sprintf("%s is also in %s", p.Partition, before)))
		}
		dirs[at] = p.Dir
		if f, ok := v.topicID(p, ids); ok {
			findings = append(findings, f)
		}
	}
	return findings
}

// topicID compares the topic id of a partition with that of the topic's first one.
func (v *verifier) topicID(p PartitionView, first map[string]PartitionView) (f log.Finding, ok bool) {
	name := p.Dir + "/" + checkpoint.PartitionMetadata
	if p.TopicID == [16]byte{} {
		_, err := v.fsys.Stat(name)
		needed := v.view.seen.Load().meta.Version > 0
		return finding(log.SeverityWarning, log.CodeMetadata, name, err, "there is none: a broker puts the partition aside as a stray one"),
			needed && errors.Is(err, fs.ErrNotExist)
	}
	before, seen := first[p.Topic]
	if !seen {
		first[p.Topic] = p
		return f, false
	}
	message := fmt.Sprintf("topic id %s, where %s has %s", checkpoint.FormatID(p.TopicID), before.Dir, checkpoint.FormatID(before.TopicID))
	return finding(log.SeverityWarning, log.CodeMetadata, name, nil, message), before.TopicID != p.TopicID
}

// Duplicate is a partition that is there more than once.
type Duplicate struct {
	Partition
	Views []int // in which of the views, rising
}

// Duplicates are the partitions that are Current in more than one of the views of a node's log directories, by
// topic and ID. A broker does not start with any.
func Duplicates(views ...*View) (all []Duplicate) {
	in := map[Partition][]int{}
	for i, v := range views {
		for _, p := range v.Partitions() {
			if p.Role == Current {
				in[p.Partition] = append(in[p.Partition], i)
			}
		}
	}
	for p, at := range in {
		if len(at) > 1 {
			all = append(all, Duplicate{p, at})
		}
	}
	slices.SortFunc(all, func(a, b Duplicate) int { return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID)) })
	return all
}
