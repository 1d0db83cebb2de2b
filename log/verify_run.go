package log

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/scheduler"
	"github.com/stratalog/strata/segment"
)

// errEnough says that nobody wants to hear of more.
var errEnough = errors.New("enough")

// verifier is a Verify at work. Segments are read by its workers, each into a segmentReport of its own; all
// else belongs to the caller's goroutine.
type verifier struct {
	loader // finds the segments, as a log that is opened to be looked at does
	o      VerifyOptions
	yield  func(Finding) bool

	others []Finding // about other files than those of segments, until it is their turn
	failed []error   // what could not be read

	txns    txnCheck
	epochs  epochCheck
	logEnd  int64 // the offset behind the last batch; codec.NoOffset where that is not known
	logSize int64 // of the last segment
}

// newVerifier prepares a Verify.
func newVerifier(fsys fsio.FS, dir string, o VerifyOptions, yield func(Finding) bool) *verifier {
	l := newLog(Options{FS: fsys, Parts: o.Parts, ReadOnly: true, Resume: o.Resume})
	l.dir.Store(&dir)
	if o.Counts == nil {
		o.Counts = &Counts{}
	}
	return &verifier{
		loader: loader{Log: l}, o: o, yield: yield, txns: newTxnCheck(), logEnd: codec.NoOffset,
	}
}

// run verifies the directory. Its errors are those that are yielded last.
func (v *verifier) run(ctx context.Context) error {
	entries, err := v.fsys.ReadDir(v.Dir())
	if err != nil {
		return err
	}
	v.list = list(entries)
	if err := v.readResume(); err != nil {
		v.fail(err)
	}
	places := v.find()
	if v.o.Base == nil {
		v.directory(entries)
	} else {
		v.snapshots(func(offset int64) bool { return offset == *v.o.Base })
	}
	if err := v.segments(ctx, places); err != nil {
		return err
	}
	if v.o.Base == nil {
		v.strays(places)
		v.epochFile()
	}
	sortFindings(v.others)
	if v.o.Base == nil {
		v.others = append(v.others, v.checkpoints()...)
	}
	if err := v.tell(v.others); err != nil {
		return err
	}
	return errors.Join(v.failed...)
}

// fail notes what could not be read. A file that is gone is none, and of what has the name of a file and is
// none, foreign tells.
func (v *verifier) fail(err error) {
	if !errors.Is(err, fs.ErrNotExist) && !fsio.NotAFile(err) {
		v.failed = append(v.failed, err)
	}
}

// find finds the segments that are to be verified: those of a complete compaction are in the place of the
// older ones.
func (v *verifier) find() []place {
	places, err := v.places()
	if err != nil { // what a .swap file holds cannot be told
		v.swapFailed(err)
		v.list.swaps = nil
		places, _ = v.places()
	}
	if v.o.Base != nil {
		places = slices.DeleteFunc(places, func(p place) bool { return p.base != *v.o.Base })
	}
	return places
}

// segments verifies segments, a few side by side, and tells in order of what was found.
func (v *verifier) segments(ctx context.Context, places []place) error {
	workers := max(v.o.Workers, 1)
	for from := 0; from < len(places); from += workers {
		reports := make([]*segmentReport, min(workers, len(places)-from))
		err := scheduler.Each(ctx, workers, len(reports), func(ctx context.Context, i int) error {
			reports[i] = v.segment(ctx, places, from+i)
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		for _, r := range reports {
			if err := v.take(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// take compares what a segment holds with what is before it, and tells of all that was found up to the next.
func (v *verifier) take(r *segmentReport) error {
	if r.err != nil {
		v.fail(r.err)
	}
	r.counts.addTo(v.o.Counts)
	findings := append(r.findings, v.epochs.take(r)...)
	if r.known {
		findings = append(findings, v.aborted(r)...)
		v.logEnd, v.logSize = r.end, r.size
	} else {
		v.txns.forget(r.next)
		v.logEnd = codec.NoOffset
	}
	if r.next != codec.NoOffset {
		findings = append(findings, v.othersBefore(v.path(segment.FileName(r.next, "", segment.Live)))...)
	}
	sortFindings(findings)
	return v.tell(findings)
}

// othersBefore takes the findings about files whose names are below name.
func (v *verifier) othersBefore(name string) (before []Finding) {
	v.others = slices.DeleteFunc(v.others, func(f Finding) bool {
		if f.File < name {
			before = append(before, f)
		}
		return f.File < name
	})
	return before
}

// tell yields findings.
func (v *verifier) tell(findings []Finding) error {
	for _, f := range findings {
		if !v.yield(f) {
			return errEnough
		}
	}
	return nil
}

// sortFindings sorts by file and position, and otherwise keeps the order.
func sortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Position, b.Position))
	})
}

// addTo adds c to sum.
func (c Counts) addTo(sum *Counts) {
	sum.Files += c.Files
	sum.Bytes += c.Bytes
	sum.Batches += c.Batches
	sum.Records += c.Records
}
