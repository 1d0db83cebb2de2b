package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/producer"
	"github.com/stratalog/strata/segment"
)

// dumpOptions are the flags of dump.
type dumpOptions struct {
	output         string
	files          []string // --files
	data           bool     // --print-data-log
	deep           bool     // --deep-iteration
	skipMetadata   bool     // --skip-record-metadata
	verifyOnly     bool     // --verify-index-only
	sanityOnly     bool     // --index-sanity-check
	maxBytes       int64    // --max-bytes
	maxMessageSize int64    // --max-message-size
}

// newDump is the verb dump.
func newDump(e *env) *cobra.Command {
	var o dumpOptions
	cmd := &cobra.Command{
		Use:   "dump [flags] FILE|DIR...",
		Short: "Show what is in the files of a partition, as kafka-dump-log does",
		Long: "dump shows what is in .log, .index, .timeindex, .txnindex and .snapshot files, and checks the\n" +
			"indexes against the log. Of a directory it takes all such files. It has kafka-dump-log's options,\n" +
			"and with -o kafka its lines, those of Kafka 4.4.\n\n" +
			"Unlike kafka-dump-log it goes on with the next file where one cannot be read further, writes\n" +
			"nothing, and exits with 3 where something was wrong.",
		Example: "  strata dump /var/lib/kafka/orders-0\n" +
			"  strata dump -o kafka --print-data-log --files 00000000000000000000.log",
		Args: takes(0, -1, "files and directories"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.deep = o.deep || o.data
			show, err := newSink(e, o)
			if err != nil {
				return err
			}
			switch args = append(o.files, args...); {
			case len(args) == 0:
				return usagef("dump takes at least one file or directory: %s", cmd.UseLine())
			case slices.Contains(o.files, ""):
				return usagef("--files is %q, and has an empty name: give names with commas between", strings.Join(o.files, ","))
			case o.maxBytes < 0:
				return usagef("--max-bytes is %d: give a number of bytes", o.maxBytes)
			case o.maxMessageSize < 0:
				return usagef("--max-message-size is %d: give a number of bytes", o.maxMessageSize)
			}
			return (&dump{env: e, dumpOptions: o, codec: codec.Kafka(), show: show}).run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "text", "text, json, or kafka: the lines of kafka-dump-log")
	f.StringSliceVar(&o.files, "files", nil, "files to dump, as arguments, with commas between")
	f.BoolVar(&o.data, "print-data-log", false, "show keys and values, too")
	f.BoolVar(&o.deep, "deep-iteration", false, "show the records of each batch")
	f.BoolVar(&o.skipMetadata, "skip-record-metadata", false, "of a record show key and value only, and no control records")
	f.BoolVar(&o.verifyOnly, "verify-index-only", false, "check indexes against the log, and do not show their entries")
	f.BoolVar(&o.sanityOnly, "index-sanity-check", false, "only check indexes as a broker does when it starts")
	f.Int64Var(&o.maxBytes, "max-bytes", math.MaxInt32, "of a .log file look at so many bytes")
	f.Int64Var(&o.maxMessageSize, "max-message-size", 5<<20, "how many bytes of the log are looked at for one entry of an index")
	offer(cmd, "output", "text", "json", "kafka")
	return cmd
}

// sink shows what dump finds, in one of the outputs.
type sink interface {
	open(file string)                            // what follows is of that file
	note(text string)                            // the line that begins it
	verdict(text string)                         // what was found of it as a whole
	batch(pos int64, h codec.Header, valid bool) // a batch
	record(h codec.Header, r codec.Record)       // a record of it
	entry(x *indexFile, e index.Entry)           // an entry of an index
	aborted(version int16, t index.AbortedTxn)   // an entry of a transaction index
	producer(p producer.Entry)                   // an entry of a producer snapshot
	problem(p problem)                           // something that is not as it should be
	close() error                                // that was all
}

// newSink makes the sink that o asks for.
func newSink(e *env, o dumpOptions) (sink, error) {
	switch o.output {
	case "kafka":
		return &kafkaSink{env: e, data: o.data, skipMetadata: o.skipMetadata}, nil
	case "json":
		return &jsonSink{env: e, lines: jsonLines(e.out), skipControl: o.skipMetadata}, nil
	case "text":
		return &textSink{env: e, data: o.data, skipControl: o.skipMetadata}, nil
	}
	return nil, usagef("unknown output %q: -o takes text, json or kafka", o.output)
}

// problem is something that is not as it should be. Index problems have two numbers, as Kafka tells them;
// others an error.
type problem struct {
	kind   problemKind
	a, b   int64 // what the index says and what the log says; two offsets that should follow each other; a size
	pos    int64 // in the file; −1 where nothing tells
	offset int64 // of damage: the first that is lost, −1 where nothing tells
	next   int64 // of damage: the one behind the last that is lost, −1 where nothing tells
	err    error // of damage
}

// problemKind says what a problem is.
type problemKind uint8

// The kinds. The first ones are kafka-dump-log's, in the order in which it tells them.
const (
	indexMismatch  problemKind = iota // an offset entry leads to a batch with another last offset
	timeMismatch                      // a time entry has another timestamp than its batch
	timeOrder                         // a time entry's timestamp is not above the one before
	offsetNotFound                    // a time entry's offset is no batch's last
	gap                               // offsets that do not follow each other: no damage in a compacted log
	trailing                          // bytes behind the last batch
	damage                            // what was found cannot be read
)

// checkpointExt is the extension of a KRaft snapshot, which holds batches as a log does.
const checkpointExt = ".checkpoint"

// dump is one run of the verb.
type dump struct {
	*env
	dumpOptions
	codec codec.Codec
	show  sink
	bad   bool         // a problem was found
	stop  func() error // says why to end early, if so
}

// run dumps the files and directories that paths name.
func (d *dump) run(ctx context.Context, paths []string) error {
	d.stop = func() error { return d.stopped(ctx) }
	failed := each(ctx, d.env, paths, d.path)
	if err := d.stop(); err != nil {
		return err
	}
	err := d.show.close()
	switch {
	case failed != nil:
		return failed
	case err == nil && d.bad:
		return errProblems
	}
	return err
}

// path dumps the file or directory p.
func (d *dump) path(p string) (err error) {
	at, err := openPlace(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.fsys.Close()) }()
	names := []string{at.name}
	if at.isDir() {
		if names, err = d.dumpable(at.fsys); err != nil {
			return err
		}
		if len(names) == 0 {
			return fmt.Errorf("%s holds no files that dump shows: name a file, or the directory of a partition", p)
		}
	}
	var failed []error
	for _, name := range names {
		d.show.open(at.show(name))
		err := d.file(at, name)
		if stopped := d.stop(); stopped != nil {
			return stopped
		}
		switch {
		case err == nil:
		case unreadable(err):
			err = fmt.Errorf("%s: %w", at.show(name), err)
			d.tellError(err)
			failed = append(failed, err)
		default:
			d.report(problem{kind: damage, pos: -1, offset: codec.NoOffset, next: codec.NoOffset, err: err})
		}
	}
	return asTold(failed)
}

// unreadable reports whether the system does not give a file's bytes, which says nothing about them.
func unreadable(err error) bool {
	_, system := errors.AsType[syscall.Errno](err)
	return system && !errors.Is(err, fs.ErrNotExist) && !fsio.NotAFile(err)
}

// dumpable are the names of the files in the root of fsys that dump can show.
func (d *dump) dumpable(fsys fsio.FS) (names []string, err error) {
	entries, err := fsys.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() && d.shower(entry.Name()) != nil {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// shower is the function that shows files of name's kind, or nil.
func (d *dump) shower(name string) func(*openFile) error {
	switch path.Ext(name) {
	case segment.LogExt:
		return d.log
	case checkpointExt: // but not the log's own strata.checkpoint
		if _, err := logHead(name); err == nil {
			return d.log
		}
	case segment.IndexExt:
		return d.offsetIndex
	case segment.TimeIndexExt:
		return d.timeIndex
	case segment.TxnIndexExt:
		return d.txnIndex
	case producer.SnapshotExt:
		return d.snapshot
	}
	return nil
}

// file shows one file.
func (d *dump) file(at place, name string) (err error) {
	show := d.shower(name)
	if show == nil {
		d.notice("ignoring unknown file %s", at.show(name))
		return nil
	}
	f, err := openForReading(at.fsys, name)
	if errors.Is(err, fs.ErrNotExist) && at.isDir() { // since it was listed
		d.notice("%s is gone: a broker removes old files", at.show(name))
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return show(f)
}

// report shows p, and remembers that there was one where it is damage.
func (d *dump) report(p problem) {
	d.bad = d.bad || p.kind != gap
	d.show.problem(p)
}
