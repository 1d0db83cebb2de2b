package crashfs

import (
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"
)

// CrashID names an image: with the journal, or the workload that makes it, the image can be built again.
type CrashID struct {
	Policy string
	Step   uint64
	Choice string // "prefix:7", "drop:12", "keep:3", "all:41", "rand", and what a failing image was reduced to
	Seed   uint64
	Inner  *CrashID // where the recovery of this image was crashed, too
}

// String is a word without spaces that ParseCrashID reads.
func (c CrashID) String() string {
	word := fmt.Sprintf("%s,%d,%s,%d", url.QueryEscape(c.Policy), c.Step, legible.Replace(url.QueryEscape(c.Choice)), c.Seed)
	if c.Inner != nil {
		word += "/" + c.Inner.String()
	}
	return word
}

// legible takes back what need not be escaped: choices are full of it.
var legible = strings.NewReplacer("%3A", ":", "%3D", "=")

// ParseCrashID reads what String writes.
func ParseCrashID(s string) (CrashID, error) {
	outer, inner, nested := strings.Cut(s, "/")
	fields := strings.Split(outer, ",")
	if len(fields) != 4 {
		return CrashID{}, fmt.Errorf("crashfs: image id %q: want policy,step,choice,seed", s)
	}
	var c CrashID
	var errs [4]error
	c.Policy, errs[0] = url.QueryUnescape(fields[0])
	c.Step, errs[1] = strconv.ParseUint(fields[1], 10, 63)
	c.Choice, errs[2] = url.QueryUnescape(fields[2])
	c.Seed, errs[3] = strconv.ParseUint(fields[3], 10, 64)
	for _, err := range errs {
		if err != nil {
			return CrashID{}, fmt.Errorf("crashfs: image id %q: %w", s, err)
		}
	}
	if nested {
		in, err := ParseCrashID(inner)
		if err != nil {
			return CrashID{}, err
		}
		c.Inner = &in
	}
	return c, nil
}

// History is what had happened before the crash.
type History struct {
	Step  uint64
	Acks  []any // what was owed: the values given to Ack
	Notes []any

	// Unprotected are acknowledgements that a lie came before: a sync, or another change, that was claimed
	// and not done (faultfs.Rule.Drop, FsyncLate). They are not owed. The store still may not invent,
	// reorder or panic.
	Unprotected []any
}

// CrashClone returns the FS as a power cut now may leave it, one image drawn by seed.
//
//   - It does not change f, and f goes on, also while calls on it are in progress: such a call has happened
//     if its event is in the journal.
//   - The clone is a full FS with an empty journal, the options of f but no interceptor, and all its bytes
//     durable.
//   - A policy that cannot be panics. It needs no name.
func (f *FS) CrashClone(seed uint64, p Policy) *FS {
	p.must()
	if f.disk.o.bare {
		return newFS(f.disk.o, f.snapshot())
	}
	c, unlock := f.disk.cursor(p)
	defer unlock()
	c.plan.make()
	k := c.plan.newPick()
	c.plan.drawn(k, seed)
	return newFS(f.disk.o, c.plan.image(k))
}

// CrashClones yields the images of a power cut now that p asks for, systematic, exhaustive and drawn,
// without repeats. A policy that cannot be panics.
func (f *FS) CrashClones(seed uint64, p Policy) iter.Seq2[CrashID, *FS] {
	p.must()
	return func(yield func(CrashID, *FS) bool) {
		if f.disk.o.bare {
			yield(CrashID{Policy: p.Name, Choice: choiceRand, Seed: seed}, f.CrashClone(seed, p))
			return
		}
		c := newCursor(f.disk.o, f.disk.base, p)
		events := f.disk.journal()
		c.advance(events, len(events))
		c.plan.make()
		seen := map[uint64]bool{}
		for choice, drawSeed := range c.plan.choices(seed) {
			k, err := c.plan.parse(choice, drawSeed)
			if err != nil {
				panic(err) // choices yields what parse reads
			}
			sum := c.plan.sum(k)
			if seen[sum] {
				continue
			}
			seen[sum] = true
			id := CrashID{Policy: p.Name, Step: uint64(c.step), Choice: choice.String(), Seed: drawSeed}
			if !yield(id, newFS(f.disk.o, c.plan.image(k))) {
				return
			}
		}
	}
}

// cursor is the model at the end of the journal. It is nobody else's until unlock.
func (d *disk) cursor(p Policy) (c *cursor, unlock func()) {
	events := d.journal()
	d.modelMu.Lock()
	if d.cursors == nil {
		d.cursors = map[Policy]*cursor{}
	}
	c = d.cursors[p]
	if c == nil {
		c = newCursor(d.o, d.base, p)
		d.cursors[p] = c
	}
	c.advance(events, max(len(events), c.step))
	return c, d.modelMu.Unlock
}
