package cli

import (
	"context"
	"errors"
	"iter"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/manager"
	"github.com/stratalog/strata/segment"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	output        string
	deep          bool
	sanityOnly    bool
	indexOnly     bool
	failFast      bool
	modifiedSince string
	noProgress    bool
}

// newVerify is the verb verify.
func newVerify(e *env) *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify [flags] PATH...",
		Short: "Check log directories, partitions and segments for damage",
		Long: "verify reads log directories, partitions' directories, and segments, of which any of their files is\n" +
			"named, and compares batches with their checksums and neighbours, and indexes, producer snapshots, leader\n" +
			"epochs and checkpoints with the batches. It changes nothing, and may be used on a running broker's\n" +
			"directory: what is being written there meanwhile may show as a torn tail.\n\n" +
			"Errors and warnings go to standard error, a line each: severity, code, file and position, what is\n" +
			"wrong, and in brackets the offsets concerned, the way to mend it, and where a reader can go on. The\n" +
			"rest goes to standard output, with -o json everything, one object a line. An error is about records\n" +
			"that are lost or cannot be trusted; a warning about what can be built anew; info needs nobody's care.\n\n" +
			"The exit status is 3 where there is an error or a warning.",
		Example: "  strata verify /var/lib/kafka\n" +
			"  strata verify -o json --deep /var/lib/kafka/orders-0\n" +
			"  strata verify --modified-since -24h /var/lib/kafka",
		Args: takes(1, -1, "at least one log directory, partition's directory, or file of a segment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v := &verify{env: e, verifyOptions: o}
			if err := v.check(time.Now()); err != nil {
				return err
			}
			return v.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "text", "text or json: one object a finding, and a summary")
	f.BoolVar(&o.deep, "deep", false, "inflate every batch, and look at its records, too")
	f.BoolVar(&o.sanityOnly, "index-sanity-check", false, "only check indexes as a broker does when it starts")
	f.BoolVar(&o.indexOnly, "verify-index-only", false, "tell only of what is wrong with indexes")
	f.BoolVar(&o.failFast, "fail-fast", false, "end with the first error or warning")
	f.StringVar(&o.modifiedSince, "modified-since", "", "pass over segments older than this: RFC 3339, epoch ms, or -24h")
	f.BoolVar(&o.noProgress, "no-progress", false, "no progress bar on the terminal")
	offer(cmd, "output", "text", "json")
	return cmd
}

// verify is one run of the verb.
type verify struct {
	*env
	verifyOptions
	since    time.Time
	told     teller
	counts   log.Counts
	views    []*manager.View // of the log directories, and their paths
	dirs     []string
	progress progress
}

// errFirst says that one finding was enough.
var errFirst = errors.New("first finding")

// check looks at the flags.
func (v *verify) check(now time.Time) (err error) {
	switch v.output {
	case "text":
		v.told = &textTeller{out: v.out, errs: &v.progress}
	case "json":
		v.told = &jsonTeller{lines: jsonLines(v.out)}
	default:
		return usagef("unknown output %q: -o takes text or json", v.output)
	}
	if v.sanityOnly && v.indexOnly {
		return usagef("--index-sanity-check does less than --verify-index-only: leave one of them out")
	}
	v.since, err = parseSince(v.modifiedSince, now)
	return err
}

// parseSince reads a time: RFC 3339, ms since 1970, or, with a sign, a duration before now.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil && ms >= 0 {
		return time.UnixMilli(ms), nil
	}
	if d, err := time.ParseDuration(s); err == nil && d < 0 {
		return now.Add(d), nil
	}
	return time.Time{}, usagef("--modified-since is %q: give 2026-07-01T00:00:00Z, milliseconds since 1970, or -24h", s)
}

// run verifies what paths name.
func (v *verify) run(ctx context.Context, paths []string) error {
	v.progress.start(v.errs, paths, !v.noProgress)
	above := *v.env
	above.errs = &v.progress
	v.env = &above
	err := v.all(ctx, paths)
	v.progress.stop()
	if err != nil {
		return err
	}
	if err := v.told.summary(v.counts); err != nil {
		return err
	}
	if v.told.problems() > 0 {
		return errProblems
	}
	return nil
}

// all verifies paths in turn, and goes on behind one that cannot be read.
func (v *verify) all(ctx context.Context, paths []string) error {
	enough := false
	unless := func(do func() error) error {
		if enough {
			return nil
		}
		err := do()
		if errors.Is(err, errFirst) {
			enough, err = true, nil
		}
		return err
	}
	err := each(ctx, v.env, paths, func(path string) error {
		return unless(func() error { return v.path(ctx, path) })
	})
	if err == nil {
		err = unless(v.duplicates)
	}
	return err
}

// path verifies what one argument names.
func (v *verify) path(ctx context.Context, given string) (err error) {
	at, err := openPlace(given)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.fsys.Close()) }()
	switch {
	case v.sanityOnly:
		return v.sanity(ctx, at)
	case !at.isDir():
		return v.file(ctx, at)
	case holdsSegments(at.fsys):
		return v.partition(ctx, given, nil)
	}
	return v.directory(ctx, at)
}

// directory verifies a log directory.
func (v *verify) directory(ctx context.Context, at place) error {
	view, err := manager.OpenView(ctx, at.fsys)
	if err != nil {
		return err
	}
	v.views, v.dirs = append(v.views, view), append(v.dirs, at.path)
	return v.findings(manager.Verify(ctx, at.fsys, manager.VerifyOptions{VerifyOptions: v.options()}), at.show)
}

// file verifies the segment that a file is one of.
func (v *verify) file(ctx context.Context, at place) error {
	base, _, state, ok := segment.ParseFileName(at.name)
	if !ok || state == segment.Deleted || state == segment.Cleaned {
		return usagef("%s is no file of a segment: verify takes those, partitions' directories, and log directories", at.path)
	}
	return v.partition(ctx, filepath.Dir(at.path), &base)
}

// partition verifies the partition in the directory dir, or one segment of it.
func (v *verify) partition(ctx context.Context, dir string, base *int64) (err error) {
	p, err := openNamed(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	o := v.options()
	o.Base = base
	r, err := p.resume()
	if err != nil {
		v.notice("%v: done without", err)
	}
	o.Resume = (*log.Resume)(r)
	return v.findings(log.Verify(ctx, p.fsys, p.dir, o), func(name string) string {
		if rest, ok := strings.CutPrefix(name, p.dir+"/"); ok {
			return p.show(rest)
		}
		if name == p.dir {
			return dir
		}
		return p.show("../" + name) // a checkpoint
	})
}

// findings tells of findings, whose files show names as the arguments do.
func (v *verify) findings(findings iter.Seq2[log.Finding, error], show func(string) string) error {
	for f, err := range findings {
		if err != nil {
			return err
		}
		f.File = show(f.File)
		if err := v.finding(f); err != nil {
			return err
		}
	}
	return nil
}

// options are those of the library.
func (v *verify) options() log.VerifyOptions {
	return log.VerifyOptions{
		Deep: v.deep, ModifiedSince: v.since, Workers: runtime.GOMAXPROCS(0),
		Counts: &v.counts, Throttle: v.progress.read,
	}
}

// duplicates tells of partitions that are in more than one of the log directories.
func (v *verify) duplicates() error {
	for _, d := range manager.Duplicates(v.views...) {
		for _, i := range d.Views[1:] {
			err := v.finding(log.Finding{
				Severity: log.SeverityWarning, Code: log.CodeDuplicate, File: path.Join(v.dirs[i], d.String()), Position: -1,
				FirstOffset: -1, NextOffset: -1, SeekTo: -1, Repair: log.MendNone,
				Message: "it is also in " + v.dirs[d.Views[0]] + ": a broker does not start with both",
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// indexCodes are what is found in, or missing of, indexes.
var indexCodes = []log.FindingCode{log.CodeIndex, log.CodeTimeIndex, log.CodeTxnIndex, log.CodeIndexMissing}

// wanted reports whether f is to be told of.
func (v *verify) wanted(f log.Finding) bool {
	return !v.indexOnly || slices.Contains(indexCodes, f.Code)
}

// finding tells of one finding.
func (v *verify) finding(f log.Finding) error {
	if !v.wanted(f) {
		return nil
	}
	if err := v.told.finding(f); err != nil {
		return err
	}
	if v.failFast && f.Severity > log.SeverityInfo {
		return errFirst
	}
	return nil
}
