package crashfs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stratalog/strata/fsio"
)

// build makes the image that id names.
func (x *explorer) build(d *disk, id CrashID) (*sample, error) {
	c, k, err := x.locate(d, id)
	if err != nil {
		return nil, err
	}
	id.Inner = nil
	return &sample{id: id, image: c.plan.image(k), history: c.history()}, nil
}

// locate finds the step and the pick of id. What is in id.Inner is about another journal.
func (x *explorer) locate(d *disk, id CrashID) (*cursor, *pick, error) {
	events := d.journal()
	if id.Step > uint64(len(events)) {
		return nil, nil, fmt.Errorf("crashfs: image %s: the journal has %d steps", id, len(events))
	}
	for _, p := range x.cfg.Policies {
		if p.Name != id.Policy {
			continue
		}
		choice, err := parseChoice(id.Choice)
		if err != nil {
			return nil, nil, err
		}
		c := newCursor(d.o, d.base, p)
		c.advance(events, int(id.Step))
		c.plan.make()
		k, err := c.plan.parse(choice, id.Seed)
		return c, k, err
	}
	return nil, nil, fmt.Errorf("crashfs: image %s: no policy of that name", id)
}

// replay runs the image that the environment names.
func (x *explorer) replay(tb testing.TB, run *recording) {
	tb.Helper()
	if _, _, ok := cutSite(x.only); ok {
		tb.Logf("crashfs: CRASHFS_REPLAY=%s is an image of FailEverywhere: nothing was explored", x.only)
		return
	}
	id, err := ParseCrashID(x.only)
	if err != nil {
		tb.Error(err)
		return
	}
	if differs := x.repeat(tb, run, x.cfg.faults()); differs != "" {
		tb.Errorf("crashfs: the workload is not deterministic: %s", differs)
		return
	}
	s, err := x.again(run, id)
	if err != nil {
		tb.Error(err)
		return
	}
	x.report.Images, x.report.Unique = 1, 1
	if s.err != nil {
		x.report.Failures, x.report.First = 1, id
		tb.Errorf("crashfs: replayed %s: check %s\n%v", id, s.how, s.err)
	}
}

// again builds the image of id, and has it checked.
func (x *explorer) again(run *recording, id CrashID) (*sample, error) {
	if id.Choice == choiceNow {
		s := asItIs(run)
		x.try(run, s)
		return s, nil
	}
	s, err := x.build(run.fs.disk, id)
	if err != nil {
		return nil, err
	}
	x.try(run, s)
	if id.Inner == nil {
		return s, nil
	}
	in, err := x.build(s.fs.disk, *id.Inner)
	if err != nil {
		return nil, err
	}
	in.id, in.history = id, s.history
	x.try(run, in)
	return in, nil
}

// tell fails tb with the first failure, reduced, and with the check that did not return.
func (x *explorer) tell(tb testing.TB, run *recording) {
	tb.Helper()
	if f := x.hung; f != nil {
		x.report.First = f.id
		tb.Errorf("crashfs: check did not return on an image, and the exploration ended there\n%s\n%v", rerun(tb, f.id.String()), f.err)
	}
	if x.failed == nil {
		return
	}
	note := x.reduce(tb, run, x.failed, x.cfg.faults())
	x.report.First = x.failed.id
	tb.Errorf("crashfs: check %s on %d of %d images; the first:\n%v\n%s\n%s%s",
		x.failed.how, x.report.Failures, x.report.Unique, x.failed.err, x.failed.lost(), rerun(tb, x.failed.id.String()), note)
}

// rerun is the command that runs one image of tb's test.
func rerun(tb testing.TB, id string) string {
	var elements []string
	for element := range strings.SplitSeq(tb.Name(), "/") {
		elements = append(elements, "^"+regexp.QuoteMeta(element)+"$")
	}
	name := strings.ReplaceAll(strings.Join(elements, "/"), "'", `'\''`) // as a shell quotes it
	return fmt.Sprintf("CRASHFS_REPLAY=%s go test -run '%s'", id, name)
}

// lost says what the image is without.
func (f *failure) lost() string {
	if len(f.loss) == 0 {
		return "the power cut takes nothing: all is there but what a failed sync threw away"
	}
	return strings.Join(f.loss, "\n")
}

// reduce makes f what fails with the fewest losses, and says why a replay of it may not fail.
func (x *explorer) reduce(tb testing.TB, run *recording, f *failure, faults []fsio.Interceptor) (note string) {
	x.putBack(run, f)
	if differs := x.repeat(tb, run, faults); differs != "" {
		return "\nThis cannot be replayed, since the workload is not deterministic: " + differs
	}
	if s, err := x.again(run, f.id); err == nil && s.err == nil {
		return "\nThis cannot be replayed, since the check is not deterministic: it did not fail when it was given the same image again"
	}
	return ""
}

// putBack gives f what it is without, a digit at a time, as long as check still fails.
func (x *explorer) putBack(run *recording, f *failure) {
	if f.id.Choice == choiceNow {
		return // the power cut takes nothing
	}
	d, last := run.fs.disk, f.id
	var outer *sample
	if f.id.Inner != nil {
		s, err := x.build(d, f.id)
		if err != nil {
			return
		}
		x.try(run, s)
		outer, d, last = s, s.fs.disk, *f.id.Inner
		outer.id = f.id
	}
	c, k, err := x.locate(d, last)
	if err != nil {
		return
	}
	stop := false // a check did not return: another could take as long
	attempt := func() bool {
		s := &sample{image: c.plan.image(k), history: f.history}
		x.try(run, s)
		stop = s.how == hung
		if s.err == nil || stop {
			return false
		}
		f.verdict = s.verdict
		return true
	}
	drawn := k.drawn
	k.drawn = false
	if drawn && !attempt() {
		k.drawn = true
	}
	full := c.plan.full()
	for u := range full {
		if k.digits[u] == full[u] || stop {
			continue
		}
		was := k.digits[u]
		k.digits[u] = full[u]
		if !attempt() {
			k.digits[u] = was
		}
	}
	choice := choice{how: reduced, torn: k.drawn}
	for u := range full {
		if k.digits[u] != full[u] {
			choice.lost = append(choice.lost, loss{unit: u, digit: k.digits[u]})
		}
	}
	last.Choice = choice.String()
	f.loss = c.plan.describe(k)
	f.id = within(outer, last)
}

// describe says what a pick is without.
func (p *plan) describe(k *pick) (lines []string) {
	p.settle(k)
	for i := range p.files {
		fp := &p.files[i]
		for n, s := range fp.f.sectors {
			lines = append(lines, p.describeSector(fp, s, p.digit(fp, n, k), k)...)
		}
		if latest := fp.f.latest(); fp.settled != latest {
			lines = append(lines, fmt.Sprintf("lost: the size %d of %s, which has %d", latest, fp.f.name, fp.settled))
		}
	}
	for _, g := range p.c.groups {
		switch g.part {
		case lost:
			lines = append(lines, fmt.Sprintf("lost: %s (step %d)", g, g.step+1))
		case onlyAdded:
			lines = append(lines, fmt.Sprintf("half: %s, with both names (step %d)", g, g.step+1))
		case onlyRemoved:
			lines = append(lines, fmt.Sprintf("half: %s, with neither name (step %d)", g, g.step+1))
		}
	}
	return lines
}

func (p *plan) describeSector(fp *filePlan, s *sector, v int, k *pick) (lines []string) {
	unit := p.c.sums.unit
	for n, e := range s.effects {
		effect := &fp.f.effects[e]
		if effect.cut || n < v && p.has(fp, int(e), k) {
			continue
		}
		from, to := max(effect.off, s.number*unit), min(effect.end(), (s.number+1)*unit)
		lines = append(lines, fmt.Sprintf("lost: write %s [%d, %d) (step %d)", fp.f.name, from, to, effect.step+1))
	}
	if k.drawn && p.spoil(fp, s, v, k) {
		lines = append(lines, fmt.Sprintf("spoiled: the sector of %s at %d", fp.f.name, s.number*unit))
	}
	return lines
}
