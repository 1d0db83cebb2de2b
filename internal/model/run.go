package model

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/scheduler"
	"github.com/stratalog/strata/segment"
)

// Store is what a script is run on.
type Store struct {
	FS    fsio.FS // an empty one
	Parts segment.Parts
	// Wrap puts a log of another kind in the place of the one that was opened. nil keeps it.
	Wrap func(Subject) Subject
}

// Difference is the first thing in which a log differs from the model.
type Difference struct {
	Step      int // the number of the operation, from 0; it may show behind it only
	Op        string
	What      string
	Got, Want string
}

// String tells all of it.
func (d *Difference) String() string {
	return fmt.Sprintf("operation %d, %s: %s:\n  got  %s\n  want %s", d.Step, d.Op, d.What, d.Got, d.Want)
}

// runner runs a script.
type runner struct {
	Store
	ctx    context.Context
	setup  setup
	clock  *scheduler.Manual
	model  *Log
	log    Subject
	opened *log.Log // what log wraps

	guards     map[log.Guard]log.Guard // of the log, by those of the model
	generation int                     // counts kills
	epoch      int32                   // of the leader
	values     int                     // counts records
	op         op
	difference *Difference
	step       int
}

// Run runs a script on a log and on the model, and returns the first difference, or nil. err says that the
// script could not be run.
func Run(ctx context.Context, script []byte, s Store) (d *Difference, err error) {
	r := &runner{Store: s, ctx: ctx, setup: choose(script)}
	r.clock = scheduler.NewManual(scheduler.ManualOptions{Start: time.UnixMilli(epochStart)})
	r.model = NewLog(r.setup.config, epochStart)
	r.model.Replicated, r.model.Alone, r.model.Scheduled = r.setup.replicated, r.setup.alone, r.setup.scheduled
	r.model.Verify = r.setup.verify
	if err := r.FS.MkdirAll(r.dir(), 0o755); err != nil {
		return nil, err
	}
	r.load(Stored{})
	for r.step = range ops(script) {
		if r.difference != nil {
			break
		}
		r.op = opAt(script, r.step)
		r.op.do(r)
		r.clock.Advance(0)
		r.model.Settle()
		r.compareOffsets()
	}
	if r.difference == nil {
		r.compareAll()
	}
	if r.opened != nil {
		if closed := r.opened.Close(); r.difference == nil {
			r.same("close", errName(closed), "")
		}
	}
	return r.difference, errors.Join(r.clock.Close(ctx), removeTree(r.FS, r.run()))
}

// run and dir are where the log lies.
func (r *runner) run() string { return fmt.Sprintf("run-%d", r.generation) }
func (r *runner) dir() string { return path.Join(r.run(), "t-0") }

// same notes a difference, if there is one and it is the first. No list and an empty one are the same.
func (r *runner) same(what string, got, want any) bool {
	if r.difference != nil || reflect.DeepEqual(got, want) {
		return r.difference == nil
	}
	gotText, wantText := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want)
	if gotText != wantText {
		r.difference = &Difference{r.step, r.op.String(), what, gotText, wantText}
	}
	return gotText == wantText
}

// sameErr compares the classes of two errors, and reports whether there were none.
func (r *runner) sameErr(what string, got, want error) bool {
	if want != nil && errors.Is(got, want) {
		return false
	}
	return r.same(what, errName(got), errName(want)) && got == nil
}

func errName(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// load opens the log anew, and the model.
func (r *runner) load(s Stored) {
	o := log.Options{
		Config: r.setup.config, FS: r.FS, Parts: r.Parts, Clock: r.clock, Replicated: r.setup.replicated,
		VerifyTransactions: r.setup.verify, SegmentSums: r.setup.sums, RecoverWorkers: r.setup.workers,
	}
	if n := r.setup.handles; n > 0 {
		o.Handles = segment.NewHandles(segment.HandleOptions{MaxFiles: n, MaxMaps: n})
	}
	r.guards = map[log.Guard]log.Guard{}
	if r.setup.scheduled {
		o.Scheduler = r.clock
	}
	if !r.setup.alone {
		o.Resume = &log.Resume{Clean: s.Clean, RecoveryPoint: s.RecoveryPoint, StartOffset: s.Start, HighWatermark: s.High}
	}
	opened, err := log.Open(r.ctx, r.dir(), o)
	r.opened = opened
	if !r.same("open", errName(err), "") {
		return
	}
	if r.log = opened; r.Wrap != nil {
		r.log = r.Wrap(opened)
	}
	r.model.Load(s)
	r.learn()
}

// learn has the log look at the largest timestamps of all segments: what it finds out later, behind a
// truncation, is an accident of Kafka's (segment.Segment.MaxTimestamp).
func (r *runner) learn() { r.time(log.MaxTimestamp) }

func (r *runner) roll() {
	got, err := r.log.Roll()
	want := r.model.Roll(0)
	if r.sameErr("error", err, nil) {
		r.same("base offset", got, want)
	}
}

func (r *runner) sync() {
	err := r.log.Sync(r.offset())
	r.model.Sync(r.offset())
	r.sameErr("error", err, nil)
}

func (r *runner) deleteBefore() {
	got, err := r.log.DeleteBefore(r.offset())
	want, wantErr := r.model.DeleteBefore(r.offset())
	if r.sameErr("error", err, wantErr) {
		r.same("moved", got, want)
	}
}

func (r *runner) advance() {
	r.clock.Advance(time.Duration(r.op.a%8) * pick[time.Duration](r.op.b, 1, 1, 5, 50) * tick)
	r.model.Now = r.clock.Now().UnixMilli()
}

func (r *runner) retain() {
	r.dateFiles()
	got, err := r.log.Retain(r.ctx)
	want := r.model.Retain()
	if r.sameErr("error", err, nil) {
		r.same("segments", got.Segments, want)
	}
}

func (r *runner) truncate() {
	offset := r.offset()
	got, err := r.log.Truncate(offset)
	want, wantErr := r.model.Truncate(offset)
	if r.sameErr("error", err, wantErr) {
		r.same("truncated", got, want)
		r.learn()
	}
}

func (r *runner) reset() {
	to := r.offset()
	start := to - pick[int64](r.op.b, 0, 0, 1, 5)
	r.sameErr("error", r.log.Reset(to, start), r.model.Reset(to, start))
}

func (r *runner) reopen() {
	r.sameErr("error", r.opened.Close(), nil)
	r.load(r.model.Close())
}

func (r *runner) snapshot() {
	r.model.snapshot()
	r.sameErr("error", r.log.TakeSnapshot(), nil)
}

func (r *runner) aborted() {
	from := max(r.offset(), r.model.Segments[0].Base)
	to := from + int64(r.op.b%16)
	got, err := r.log.Aborted(from, to)
	if r.sameErr("error", err, nil) {
		r.same(fmt.Sprintf("aborted in [%d, %d)", from, to), got, r.model.AbortedIn(from, to))
	}
}

func (r *runner) configure() {
	retention(&r.setup.config, r.op.a)
	r.model.Config = r.setup.config.WithDefaults()
	r.sameErr("error", r.log.Configure(r.setup.config), nil)
}

func (r *runner) assign() {
	r.sameErr("error", r.log.AssignEpoch(r.someEpoch(), r.offset()), r.model.AssignEpoch(r.someEpoch(), r.offset()))
}

// offset is one in the log or beside it.
func (r *runner) offset() int64 {
	return r.model.Start - 2 + int64(r.op.a)%(r.model.End-r.model.Start+5)
}

// someTime is a time that records may have, or a special one.
func (r *runner) someTime() int64 {
	if r.op.a < 40 {
		return -1 - int64(r.op.a)%6
	}
	return epochStart + (int64(r.op.a)-60)*pick(r.op.b, time.Millisecond, tick, tick, tick).Milliseconds()
}

// someEpoch is an epoch about that of the leader.
func (r *runner) someEpoch() int32 { return r.epoch + pick[int32](r.op.b, 0, 0, 1, 2, -1) }

// someHigh is an offset for the high watermark, often the end.
func (r *runner) someHigh() int64 {
	if r.op.b%3 == 0 {
		return r.model.End
	}
	return r.offset()
}

func (r *runner) setHigh() {
	got, moved := r.log.SetHighWatermark(r.someHigh())
	want, wantMoved := r.model.SetHighWatermark(r.someHigh())
	r.same("high watermark", got, want)
	r.same("moved", moved, wantMoved)
}

func (r *runner) raiseHigh() {
	got, moved, err := r.log.RaiseHighWatermark(r.someHigh())
	want, wantMoved, wantErr := r.model.RaiseHighWatermark(r.someHigh())
	if r.sameErr("error", err, wantErr) {
		r.same("high watermark before", got, want)
		r.same("moved", moved, wantMoved)
	}
}

func (r *runner) time(ms int64) {
	r.dateFiles()
	f, ok, err := r.log.OffsetForTime(ms)
	want := segment.Found{}
	var found bool
	want.Offset, want.Timestamp, want.LeaderEpoch, found = r.model.FindTime(ms)
	if r.sameErr("error", err, nil) && r.same("found", ok, found) && ok {
		r.same(fmt.Sprintf("offset for time %d", ms), f, want)
	}
}

func (r *runner) epochs() {
	epoch, offset := r.someEpoch()-int32(r.op.c%4), r.offset()
	got, ok := r.log.OffsetForEpoch(epoch)
	want, wantOK := r.model.OffsetForEpoch(epoch)
	if r.same("known", ok, wantOK) && ok {
		r.same(fmt.Sprintf("end of epoch %d", epoch), got, want)
	}
	of, ok := r.log.EpochForOffset(offset)
	wantOf, wantOK := r.model.EpochForOffset(offset)
	if r.same("known", ok, wantOK) && ok {
		r.same(fmt.Sprintf("epoch of %d", offset), of, wantOf)
	}
}

func (r *runner) read() {
	o := log.ReadOptions{
		MaxBytes:  pick(r.op.b, 1, 100, 300, 1000, 5000),
		Isolation: pick(r.op.c, log.ReadUncommitted, log.ReadCommitted, log.ReadToEnd),
		Strict:    r.op.c > 200,
	}
	offset := r.offset()
	s, err := r.log.ReadWith(offset, o)
	want, wantErr := r.model.Read(offset, o)
	if !r.sameErr("error", err, wantErr) {
		return
	}
	got := Read{Aborted: s.Aborted()}
	got.Base, got.Pos, _ = s.Place()
	if got.Batches, err = decode(s); err == nil {
		err = s.Close()
	}
	r.sameErr("error", err, nil)
	r.same(fmt.Sprintf("read at %d, %+v", offset, o), got, want)
}

// dateFiles gives files of batches without timestamps the age that the model has for them.
func (r *runner) dateFiles() {
	for _, s := range r.model.Segments {
		if s.largest.time < 0 {
			name := path.Join(r.dir(), segment.FileName(s.Base, segment.LogExt, segment.Live))
			r.sameErr("date "+name, r.FS.Chtimes(name, time.UnixMilli(epochStart)), nil)
		}
	}
}

// kill goes on with a copy of the directory. A log that keeps its own checkpoint, and has changed nothing since a
// clean stop, counts as stopped cleanly then, which no rule of Kafka's knows: it is closed.
func (r *runner) kill() {
	if r.setup.alone && !r.model.touched {
		r.reopen()
		return
	}
	old := r.run()
	from := r.dir()
	r.generation++
	err := copyDir(r.FS, from, r.dir())
	_ = r.opened.Close() // whatever it meets: nobody needs it any more
	r.sameErr("copy", errors.Join(err, removeTree(r.FS, old)), nil)
	r.load(r.model.Kill())
}
