package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// destroyer is one run of a verb that takes records away. Without execute it only tells what it would do: it
// takes no lock then, and writes nothing.
type destroyer struct {
	*env
	verb    destroyingVerb
	execute bool
	dryRun  bool
	offset  int64         // --to-offset
	file    string        // --offset-json-file
	lines   *json.Encoder // of json, otherwise nil
	offered bool          // there is something that --execute does
}

// destroyingVerb is what the verbs that take records away do not share.
type destroyingVerb interface {
	// least is the smallest offset that the verb takes.
	least() int64
	// options are what the log in the directory dir is opened with, to be changed.
	options(dir string) (log.Options, error)
	// plan finds out what is to be done to p, which is open as l, and changes nothing. With a *refusal it
	// returns both.
	plan(ctx context.Context, p *partition, l *log.Log, offset int64) (destruction, error)
	// close frees what options opened.
	close() error
}

// destruction is what is to be done to one partition.
type destruction interface {
	do(ctx context.Context, up *above, l *log.Log) error // does it
	line(executed bool) any                              // the object that tells of it
	text(executed bool) string                           // the sentence that tells of it
}

// newDestroying makes a verb that takes records away out of cmd. offset says what --to-offset is.
func newDestroying(e *env, verb destroyingVerb, cmd *cobra.Command, offset string) *cobra.Command {
	d := &destroyer{env: e, verb: verb}
	f := cmd.Flags()
	f.BoolVar(&d.execute, "execute", false, "do it; without, it is told what would be done")
	f.BoolVar(&d.dryRun, "dry-run", false, "only tell what would be done, as without --execute")
	f.Int64Var(&d.offset, "to-offset", codec.NoOffset, offset)
	f.StringVar(&d.file, "offset-json-file", "", "partitions of the log directory DIR and their offsets, in the form of kafka-delete-records")
	f.Lookup("to-offset").DefValue = "0" // none: it has to be given
	asJSON := textOrJSON(cmd)
	cmd.Args = takes(1, 1, "one partition's directory, or, with --offset-json-file, one log directory")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch asJSON, err := asJSON(); {
		case err != nil:
			return err
		case asJSON:
			d.lines = jsonLines(e.out)
		}
		targets, err := d.check(cmd, args[0])
		if err != nil {
			return err
		}
		return d.run(cmd.Context(), targets)
	}
	return cmd
}

// check looks at the flags, and returns what is to be done in dir.
func (d *destroyer) check(cmd *cobra.Command, dir string) ([]target, error) {
	one := cmd.Flags().Changed("to-offset")
	switch {
	case d.execute && d.dryRun:
		return nil, usagef("--execute does it, and --dry-run does not: leave one of them out")
	case one == (d.file != ""):
		return nil, usagef("%s takes one of --to-offset and --offset-json-file: %s", cmd.Name(), cmd.UseLine())
	case one && d.offset < d.verb.least():
		return nil, usagef("--to-offset is %d: give %d or above", d.offset, d.verb.least())
	case one:
		return []target{{dir, d.offset}}, nil
	}
	return readTargets(d.file, dir, d.verb.least())
}

// run does it for targets, or tells what would be done. Behind one that fails it goes on with the others.
func (d *destroyer) run(ctx context.Context, targets []target) error {
	err := each(ctx, d.env, targets, func(t target) error { return d.target(ctx, t) })
	if d.offered {
		d.notice("nothing was changed: --execute does it")
	}
	return err
}

// target does it for t, or tells what would be done.
func (d *destroyer) target(ctx context.Context, t target) (err error) {
	p, err := openPartition(t.dir) // which must be there: a log that is opened to be changed would be made
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	do := d.look
	if d.execute {
		do = d.do
	}
	if err := do(ctx, p, t); err != nil {
		return fmt.Errorf("%s: %w", t.dir, err)
	}
	return nil
}

// look tells what would be done for t, which is p.
func (d *destroyer) look(ctx context.Context, p *partition, t target) (err error) {
	l, err := p.log(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	x, refused := d.verb.plan(ctx, p, l, t.offset)
	if x == nil {
		return refused
	}
	d.offered = d.offered || refused == nil
	return errors.Join(d.tell(x), refused)
}

// do does it for t, whose directory is there, and looks at it anew.
func (d *destroyer) do(ctx context.Context, _ *partition, t target) (err error) {
	o, err := d.verb.options(t.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.verb.close()) }()
	var done destruction
	err = d.change(ctx, t.dir, o, func(up *above, l *log.Log) (err error) {
		p, err := openPartition(t.dir) // as it is now that it is locked and recovered
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.close()) }()
		if done, err = d.verb.plan(ctx, p, l, t.offset); err != nil {
			return err
		}
		return done.do(ctx, up, l)
	})
	if err != nil {
		return err
	}
	return d.tell(done)
}

// tell tells of x, which was done, or would be.
func (d *destroyer) tell(x destruction) error {
	if d.lines != nil {
		return d.lines.Encode(x.line(d.execute))
	}
	_, err := fmt.Fprintln(d.out, x.text(d.execute))
	return err
}
