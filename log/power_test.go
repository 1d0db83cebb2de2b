package log_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/crashfs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/log"
	"github.com/stratalog/strata/scheduler"
	"github.com/stratalog/strata/segment"
)

// deed is what a workload notes before it does something, and acknowledges when it is done.
type deed struct {
	at   int // its place among all
	kind string
	to   int64 // an offset
	text string
	by   sender // of what was appended
}

// powered is a log on a disk that loses power.
type powered struct {
	*log.Log
	fsys  *crashfs.FS
	parts segment.Parts
	stays error // why it is closed for good, or nothing is sent any more
	at    int
	round int // tells the records of one offset apart
}

func openPowered(fsys fsio.FS, parts segment.Parts) (*log.Log, error) {
	return log.Open(context.Background(), "t-0", log.Options{
		FS: fsys, Parts: parts, Clock: scheduler.NewManual(scheduler.ManualOptions{Start: time.UnixMilli(started)}),
		Config: log.Config{SegmentBytes: 250, IndexBytes: 64, IndexIntervalBytes: 1, DeleteDelay: log.Zero},
	})
}

func (p *powered) note(kind string, to int64, text string) { p.noteOf(sender{}, kind, to, text) }

func (p *powered) noteOf(by sender, kind string, to int64, text string) {
	p.at++
	p.fsys.Note(deed{p.at, kind, to, text, by})
}

func (p *powered) ack(kind string, to int64) {
	p.at++
	p.fsys.Ack(deed{at: p.at, kind: kind, to: to})
}

// add appends n records, each in a batch of its own.
func (p *powered) add(n int) error {
	for range n {
		p.round++
		text := fmt.Sprintf("value %d", p.round)
		end := p.EndOffset()
		p.note("append", end, text)
		if _, err := p.AppendRecords(codec.Record{Timestamp: started, Value: []byte(text)}); err != nil {
			return err
		}
		p.ack("appended", end+1)
	}
	return nil
}

func (p *powered) sync() error {
	end := p.EndOffset()
	err := p.Sync(end)
	if err == nil {
		p.ack("synced", end)
	}
	return err
}

func (p *powered) cut(to int64) error {
	p.note("cut", to, "")
	_, err := p.Truncate(to)
	if err == nil {
		p.ack("cut", to)
	}
	return err
}

func (p *powered) reset(to int64) error {
	p.note("cut", 0, "")
	p.note("drop", to, "")
	err := p.Reset(to, to)
	if err == nil {
		p.ack("cut", 0)
		p.ack("dropped", to)
	}
	return err
}

func (p *powered) deleteBefore(to int64) error {
	p.note("drop", to, "")
	_, err := p.DeleteBefore(to)
	if err == nil {
		p.ack("dropped", to)
	}
	return err
}

func (p *powered) drop(to int64) error {
	if err := p.deleteBefore(to); err != nil {
		return err
	}
	_, err := p.Retain(context.Background())
	if err == nil {
		_, err = p.Reap(context.Background())
	}
	return err
}

// reopen closes the log, which syncs it, and opens it again. Once that failed, it stays closed.
func (p *powered) reopen() error {
	if p.stays != nil {
		return p.stays
	}
	end := p.EndOffset()
	if p.stays = p.Close(); p.stays != nil {
		return p.stays
	}
	p.ack("synced", end)
	l, err := openPowered(p.fsys, p.parts)
	if p.stays = err; err == nil {
		p.Log = l
	}
	return err
}

// powerCuts are what the power fails in.
var powerCuts = []struct {
	name string
	run  func(p *powered) error
}{
	{"append and sync", func(p *powered) error {
		return errors.Join(p.add(1), p.sync(), p.add(2), p.sync(), p.add(1), p.Close())
	}},
	{"roll", func(p *powered) error {
		return errors.Join(p.add(5), p.sync(), p.add(4), p.sync(), p.add(2), p.Close())
	}},
	{"roll by hand", func(p *powered) error {
		_, err := p.Roll()
		err = errors.Join(err, p.add(2))
		_, rolled := p.Roll()
		return errors.Join(err, rolled, p.add(1), p.sync(), p.Close())
	}},
	{"truncate", func(p *powered) error {
		return errors.Join(p.add(6), p.sync(), p.cut(4), p.add(3), p.sync(), p.cut(1), p.add(2), p.sync(), p.Close())
	}},
	{"truncate whole segments", func(p *powered) error {
		return errors.Join(p.add(8), p.sync(), p.cut(4), p.add(1), p.sync(), p.Close())
	}},
	{"reset", func(p *powered) error {
		return errors.Join(p.add(4), p.sync(), p.reset(20), p.add(1), p.sync(), p.Close())
	}},
	{"truncate what was not synced", func(p *powered) error {
		return errors.Join(p.add(2), p.sync(), p.add(2), p.cut(1), p.add(4), p.sync(), p.Close())
	}},
	{"retain", func(p *powered) error {
		return errors.Join(p.add(8), p.sync(), p.drop(2), p.add(2), p.drop(7), p.sync(), p.Close())
	}},
	{"delete records", func(p *powered) error {
		return errors.Join(p.add(3), p.deleteBefore(1), p.add(2), p.sync(), p.deleteBefore(5), p.add(1), p.sync(), p.Close())
	}},
	{"close and open again", func(p *powered) error {
		return errors.Join(p.add(2), p.reopen(), p.add(3), p.sync(), p.add(1), p.reopen(), p.reopen(), p.add(1), p.sync(), p.Close())
	}},
	{"transactions", func(p *powered) error {
		return errors.Join(
			p.send(sender{id: 1, txn: true}), p.send(sender{id: 2, txn: true}), p.send(sender{id: 1, sequence: 1, txn: true}), p.sync(),
			p.send(sender{id: 1, marker: true}), p.send(sender{id: 3}), p.send(sender{id: 2, marker: true, commit: true}), p.sync(),
			p.send(sender{id: 1, sequence: 2, txn: true}), p.send(sender{id: 3, sequence: 1}), p.reopen(),
			p.send(sender{id: 2, sequence: 1, txn: true}), p.send(sender{id: 1, marker: true}), p.sync(), p.Close(),
		)
	}},
	{"truncate a transaction", func(p *powered) error {
		return errors.Join(
			p.send(sender{id: 1, txn: true}), p.send(sender{id: 2}), p.send(sender{id: 1, marker: true}), p.sync(), p.cut(2),
			p.send(sender{id: 1, marker: true, commit: true}), p.send(sender{id: 2, sequence: 1}), p.sync(), p.Close(),
		)
	}},
	{"leader epochs", func(p *powered) error {
		return errors.Join(
			p.send(sender{leader: 1}), p.send(sender{leader: 1}), p.send(sender{leader: 2}), p.sync(),
			p.send(sender{leader: 4}), p.send(sender{leader: 4}), p.sync(), p.cut(3), p.send(sender{leader: 5}),
			p.send(sender{leader: 7}), p.sync(), p.Close(),
		)
	}},
}

// TestPowerCutAnywhere cuts the power after each event of each workload, in every way that a policy knows,
// and in the recovery from that.
func TestPowerCutAnywhere(t *testing.T) {
	var total crashfs.Report
	for _, b := range []struct {
		name  string
		parts segment.Parts
	}{
		{"file", segment.Parts{OpenIndex: index.OpenFile}},
		{"mmap", segment.Parts{OpenIndex: index.OpenMmap}},
	} {
		for i, row := range powerCuts {
			if testing.Short() && b.name == "mmap" && i > 0 {
				break
			}
			t.Run(b.name+"/"+row.name, func(t *testing.T) {
				workload := func(_ testing.TB, fsys *crashfs.FS) error {
					l, err := openPowered(fsys, b.parts)
					if err != nil {
						return err
					}
					return row.run(&powered{Log: l, fsys: fsys, parts: b.parts})
				}
				for _, config := range powerConfigs() {
					report := crashfs.CrashEverywhere(t, config, workload, func(_ testing.TB, image *crashfs.FS, h crashfs.History) error {
						return judge(image, b.parts, h, config.Policies[0].Name == crashfs.Kill.Name)
					})
					total.Unique += report.Unique
					total.Nested += report.Nested
					total.Failures += report.Failures
					total.Elapsed += report.Elapsed
				}
			})
		}
	}
	fmt.Printf("RESULT log images=%d nested=%d per_second=%.0f failures=%d\n",
		total.Unique, total.Nested, float64(total.Unique)/total.Elapsed.Seconds(), total.Failures)
}

// powerConfigs are the explorations. That of a killed process is judged more strictly, and alone.
func powerConfigs() []crashfs.Config {
	strict, ext4 := crashfs.Strict, crashfs.Ext4
	strict.EveryNth, strict.ExhaustUpTo, strict.Random = 3, 8, 1
	ext4.EveryNth, ext4.Random = 2, 2
	if !testing.Short() {
		strict.EveryNth, ext4.EveryNth = 1, 1
	}
	return []crashfs.Config{
		{Policies: []crashfs.Policy{crashfs.Kill}},
		{Policies: []crashfs.Policy{crashfs.Lost, ext4, strict}, Depth: powerDepth()},
	}
}

// powerDepth is 2 where STRATA_LONG is set: recoveries are crashed, too.
func powerDepth() int {
	if os.Getenv("STRATA_LONG") != "" {
		return 2
	}
	return 1
}

// expectation is what a history lets a log hold.
type expectation struct {
	allowed map[int64][]string // by offset
	owed    map[int64]string
	latest  map[int64]string // the last appended
	end     int64            // of the records that ever were
	start   [2]int64         // the least and the most that StartOffset may be
	senders                  // of what was appended, and not cut
}

func expect(h crashfs.History, killed bool) *expectation {
	e := &expectation{allowed: map[int64][]string{}, owed: map[int64]string{}, latest: map[int64]string{}}
	var deeds []deed
	for _, v := range slices.Concat(h.Acks, h.Notes) {
		deeds = append(deeds, v.(deed))
	}
	slices.SortFunc(deeds, func(a, b deed) int { return cmp.Compare(a.at, b.at) })
	acked := map[int]bool{}
	for _, v := range h.Acks {
		acked[v.(deed).at] = true
	}
	for _, d := range deeds {
		e.apply(d, acked[d.at], killed)
	}
	return e
}

func (e *expectation) apply(d deed, acked, killed bool) {
	switch d.kind {
	case "append":
		e.allowed[d.to] = append(e.allowed[d.to], d.text)
		e.latest[d.to] = d.text
		e.end = max(e.end, d.to+1)
		e.add(d)
	case "appended", "synced":
		for o, text := range e.latest {
			if o < d.to && (d.kind == "synced" || killed) {
				e.owed[o] = text
			}
		}
	case "cut":
		e.cut(d.to, acked)
		for o := range e.latest {
			if o >= d.to {
				delete(e.owed, o)
				if acked {
					delete(e.allowed, o)
					delete(e.latest, o)
				}
			}
		}
	case "drop":
		e.start[1] = max(e.start[1], d.to)
		for o := range e.owed {
			if o < d.to {
				delete(e.owed, o)
			}
		}
	case "dropped":
		e.start[0] = d.to
	}
}

// extra is what judge appends to a log that it found good.
const extra = "after the crash"

// judge opens what a power cut left, and holds it against what is known.
func judge(image fsio.FS, parts segment.Parts, h crashfs.History, killed bool) error {
	e := expect(h, killed)
	l, err := openPowered(image, parts)
	if err != nil {
		return err
	}
	if err := errors.Join(e.holds(l), e.senders.hold(l)); err != nil {
		return errors.Join(err, l.Close())
	}
	end := l.EndOffset()
	e.cut(end, true)
	got, err := l.AppendRecords(codec.Record{Timestamp: started, Value: []byte(extra)})
	if err == nil && got.LastOffset != end {
		err = fmt.Errorf("a record after the end %d is at %d", end, got.LastOffset)
	}
	if err := errors.Join(err, l.Sync(end+1), l.Close()); err != nil {
		return err
	}
	if l, err = openPowered(image, parts); err != nil {
		return fmt.Errorf("opened again: %w", err)
	}
	if l.EndOffset() != end+1 {
		err = fmt.Errorf("opened again it ends at %d, want %d", l.EndOffset(), end+1)
	}
	return errors.Join(err, e.holds(l), l.Close())
}

// holds compares the records of l.
func (e *expectation) holds(l *log.Log) error {
	start, next := l.StartOffset(), l.StartOffset()
	if start < e.start[0] || start > e.start[1] {
		return fmt.Errorf("starts at %d, want %d to %d", start, e.start[0], e.start[1])
	}
	for r, err := range l.RecordsWith(context.Background(), start, log.ReadOptions{Isolation: log.ReadToEnd}) {
		if err != nil {
			return err
		}
		next = e.behindMarkers(next, l.EndOffset())
		if r.Offset != next {
			return fmt.Errorf("record %d comes where %d should", r.Offset, next)
		}
		next++
		text := string(r.Value)
		if text != extra && !slices.Contains(e.allowed[r.Offset], text) {
			return fmt.Errorf("record %d is %q, which is not of %q", r.Offset, text, e.allowed[r.Offset])
		}
		if want, ok := e.owed[r.Offset]; ok && text != want {
			return fmt.Errorf("record %d is %q, acknowledged as %q", r.Offset, text, want)
		}
	}
	if next = e.behindMarkers(next, l.EndOffset()); next != l.EndOffset() {
		return fmt.Errorf("the records end at %d, the log at %d", next, l.EndOffset())
	}
	for o, text := range e.owed {
		if o >= next && o >= start {
			return fmt.Errorf("ends at %d, acknowledged was record %d, %q", next, o, text)
		}
	}
	return nil
}
