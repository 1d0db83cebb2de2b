// Command replay replays recorded runs of Kafka's log layer on package log, and compares results and files:
//
//	go run ./internal/cmd/replay [-v] [-parts os+mmap,os+file,mem+mmap,mem+file,os+mmapset] DIR...
//
// A DIR is a trace, or holds traces. Each is replayed on each composition: a filesystem (os, mem), and
// behind the plus the backend of its indexes (mmap, file), or mmapset, with mapped indexes and a mapped
// message set. A line is printed for each trace that differs, with the first difference, and at the end a line
// for each composition:
//
//	RESULT parts=os+mmap traces=129 pass=98 quirk=3 skipped=28 ops=12345
//
// A quirk differs where its meta.json says that Kafka's behaviour is an accident. A skipped trace has
// operations that cannot be replayed yet, and was replayed up to the first of those. The exit status is 1 if
// any other trace differs, and 2 for a wrong call.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stratalog/strata/internal/trace"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is the command, and returns its exit status.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.SetOutput(errs)
	names := flags.String("parts", strings.Join(trace.CompositionNames(), ","), "the compositions to replay on")
	verbose := flags.Bool("v", false, "list the files where they differ")
	if flags.Parse(args) != nil {
		return 2
	}
	compositions, err := trace.Compositions(*names)
	if err == nil && flags.NArg() == 0 {
		err = fmt.Errorf("name at least one directory")
	}
	var traces []*trace.Trace
	if err == nil {
		traces, err = read(flags.Args())
	}
	if err != nil {
		fmt.Fprintf(errs, "replay: %v\n", err)
		return 2
	}
	status := 0
	results := make([]tally, 0, len(compositions))
	for _, c := range compositions {
		r := tally{parts: c.Name, verbose: *verbose}
		for _, t := range traces {
			if err := r.replay(ctx, c, t, out); err != nil {
				fmt.Fprintf(errs, "replay: %v\n", err)
				return 2
			}
		}
		results = append(results, r)
		if r.failed > 0 {
			status = 1
		}
	}
	for _, r := range results {
		fmt.Fprintln(out, r)
	}
	return status
}

// read reads the traces in dirs.
func read(dirs []string) (all []*trace.Trace, err error) {
	for _, dir := range dirs {
		found, err := trace.ReadAll(os.DirFS(dir))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Clean(dir), err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// tally counts the traces on one composition.
type tally struct {
	verbose                                   bool
	parts                                     string
	traces, pass, quirk, skipped, failed, ops int
}

// replay replays t on c.
func (r *tally) replay(ctx context.Context, c trace.Composition, t *trace.Trace, out io.Writer) error {
	tmp, err := os.MkdirTemp("", "strata-replay-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	o, err := c.Replay(ctx, t, tmp)
	if err != nil {
		return err
	}
	if r.verbose && o.Files != "" {
		fmt.Fprint(out, o.Files)
	}
	r.traces++
	r.ops += o.Ops
	switch {
	case o.Difference != "" && t.Meta.Quirk != "":
		r.quirk++
		fmt.Fprintf(out, "quirk parts=%s %s: %s\n", c.Name, t.Meta.Name, o.Difference)
	case o.Difference != "":
		r.failed++
		fmt.Fprintf(out, "FAIL parts=%s %s: %s\n", c.Name, t.Meta.Name, o.Difference)
	case o.Skipped:
		r.skipped++
	default:
		r.pass++
	}
	return nil
}

// String is the line of results.
func (r tally) String() string {
	return fmt.Sprintf("RESULT parts=%s traces=%d pass=%d quirk=%d skipped=%d ops=%d",
		r.parts, r.traces, r.pass, r.quirk, r.skipped, r.ops)
}
