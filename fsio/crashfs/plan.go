package crashfs

import (
	"cmp"
	"slices"
)

// plan is what a power cut at one step may leave, as a number with mixed radices: each unit has its digit,
// which says how much of what is pending there the disk has. All digits 0 is what is durable, all at their
// highest what a running system sees. Images are made from picks of digits.
type plan struct {
	c      *cursor
	files  []filePlan
	units  []unit
	groups int // the first unit of the groups
	splits int // the first unit of the renames that may be half there
	dirs   []uint64
	items  []item // in the order of the journal
	rank   []int  // the place in items of item n before sorting

	// What settle found for one pick.
	list listings
	buf  []byte
}

// filePlan is the part of a plan that is about one file.
type filePlan struct {
	f     *inode
	data  int // its first unit of data
	size  int // its first unit of sizes
	first int // its first item: those of its effects, then those of its sizes

	settled int64   // the size in this pick
	since   uint64  // the step at which it was set
	ends    []int64 // where the surviving data of each effect ends
}

// unit is what one digit is about.
type unit struct {
	radix  int32
	object uint64
	sub    uint64
}

// kind says what an item is.
type kind uint8

const (
	itemData kind = iota
	itemSize
	itemGroup
)

// item is a pending change of which an image may be without.
type item struct {
	kind kind
	step uint64
	file int // in plan.files
	at   int // in the file's effects or sizes, or in the cursor's groups
}

// The subs of units: two of one object must not be alike.
const (
	subSector = iota
	subSize
	subPrefix
	subEffect
	subResize
	subGroup
	subOrder
	subSplit
	subTorn
	subGarbage
	subTime
	subKinds = 16
)

// make plans a power cut at the cursor's step.
func (p *plan) make() {
	for i := range p.files {
		p.files[i].f.plan = -1
	}
	p.files, p.units, p.items = p.files[:0], p.units[:0], p.items[:0]
	for _, f := range p.c.files {
		if f != nil && f.pending() {
			f.plan = len(p.files)
			p.files = append(p.files, filePlan{f: f})
			p.planFile(&p.files[f.plan])
		}
	}
	p.planGroups()
	p.sortItems()
	if int64(len(p.buf)) != p.c.sums.unit {
		p.buf = make([]byte, p.c.sums.unit)
	}
}

func (p *plan) unit(radix int, object, sub, kind uint64) {
	p.units = append(p.units, unit{radix: int32(radix), object: object, sub: sub*subKinds + kind})
}

// planFile makes the units and items of a file.
func (p *plan) planFile(fp *filePlan) {
	f := fp.f
	if p.c.policy.Size == SizeGarbage {
		p.c.expose(f)
	}
	fp.data = len(p.units)
	switch p.c.policy.Data {
	case DataPrefix:
		p.unit(len(f.effects)+1, f.number, 0, subPrefix)
	case DataWhole:
		for i := range f.effects {
			p.unit(2-when(f.effects[i].done || f.effects[i].cut), f.number, f.effects[i].step<<8|uint64(i&255), subEffect)
		}
	case DataSectors, DataTorn:
		for _, s := range f.sectors {
			p.unit(len(s.effects)+1, f.number, uint64(s.number), subSector)
		}
	}
	fp.size = len(p.units)
	if p.c.policy.Size != SizeFollows {
		p.unit(len(f.sizes)+1, f.number, 0, subSize)
	} else if p.c.dataVaries() {
		for i := range f.sizes {
			p.unit(2-when(f.sizes[i].write), f.number, f.sizes[i].step, subResize)
		}
	}
	fp.first = len(p.items)
	for i := range f.effects {
		p.items = append(p.items, item{kind: itemData, step: f.effects[i].step, file: f.plan, at: i})
	}
	for i := range f.sizes {
		p.items = append(p.items, item{kind: itemSize, step: f.sizes[i].step, file: f.plan, at: i})
	}
}

// when is 1 where b holds.
func when(b bool) int {
	if b {
		return 1
	}
	return 0
}

// dataVaries reports whether images differ in the data that they have.
func (c *cursor) dataVaries() bool { return c.policy.Data != DataLost && c.policy.Data != DataKept }

// exposedBytes is how far behind a file's durable end SizeGarbage puts bytes of removed files.
const exposedBytes = 64 << 10

// expose makes sectors without effects of the space behind f's durable end.
func (c *cursor) expose(f *inode) {
	end := f.size
	for _, s := range f.sizes {
		end = max(end, s.size)
	}
	for n := f.size / c.sums.unit; n*c.sums.unit < min(end, f.size+exposedBytes); n++ {
		f.sector(n)
	}
}

// planGroups makes the units and items of the groups.
func (p *plan) planGroups() {
	groups := p.c.groups
	p.groups = len(p.units)
	p.dirs = p.dirs[:0]
	switch p.c.policy.Dir {
	case DirOrdered:
		p.unit(len(groups)+1, 0, 0, subOrder)
	case DirPerDir:
		for _, g := range groups {
			for _, l := range [...]link{g.removed, g.added} {
				if l.name != "" && !slices.Contains(p.dirs, l.dir) {
					p.dirs = append(p.dirs, l.dir)
					p.unit(p.c.count(l.dir)+1, l.dir, 0, subOrder)
				}
			}
		}
	case DirUnordered:
		for _, g := range groups {
			p.unit(2, g.inode, g.step, subGroup)
		}
	}
	p.splits = len(p.units)
	for i, g := range groups {
		if p.c.policy.SplitRename {
			p.unit(1+2*when(g.renames() && !g.isDir), g.inode, g.step, subSplit)
		}
		p.items = append(p.items, item{kind: itemGroup, step: g.step, at: i})
	}
}

// count is how many groups touch dir.
func (c *cursor) count(dir uint64) (n int) {
	for _, g := range c.groups {
		n += when(g.touches(dir))
	}
	return n
}

// sortItems puts the items into the order of the journal, and remembers where each went. The data of a
// write comes before the size that it made.
func (p *plan) sortItems() {
	order := make([]int, len(p.items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.items[a].step, p.items[b].step) })
	p.rank = slices.Grow(p.rank[:0], len(order))[:len(order)]
	sorted := make([]item, len(order))
	for to, from := range order {
		p.rank[from], sorted[to] = to, p.items[from]
	}
	p.items = sorted
}

// mostStates is the highest Policy.ExhaustUpTo, which nobody would wait for.
const mostStates = 1 << 30

// states is how many picks there are, or limit+1 where there are more than limit.
func (p *plan) states(limit int) int {
	n := 1
	for _, u := range p.units {
		if n > limit/int(u.radix) {
			return limit + 1
		}
		n *= int(u.radix)
	}
	return n
}

// choose sets digits to the most that the modes allow of the items that in names, by their place.
func (p *plan) choose(digits []int32, in func(item int) bool) {
	for i := range p.files {
		p.chooseData(digits, &p.files[i], in)
		p.chooseSize(digits, &p.files[i], in)
	}
	p.chooseGroups(digits, in)
	for u := p.splits; u < len(p.units); u++ {
		digits[u] = 0
	}
}

func (p *plan) chooseData(digits []int32, fp *filePlan, in func(item int) bool) {
	f := fp.f
	has := func(effect int) bool { return in(p.rank[fp.first+effect]) }
	switch p.c.policy.Data {
	case DataPrefix:
		n := 0
		for n < len(f.effects) && (f.effects[n].cut || has(n)) {
			n++
		}
		digits[fp.data] = int32(n)
	case DataWhole:
		for i := range f.effects {
			digits[fp.data+i] = min(p.units[fp.data+i].radix-1, int32(when(has(i))))
		}
	case DataSectors, DataTorn:
		for i, s := range f.sectors {
			v := len(s.effects)
			for v > 0 && !has(int(s.effects[v-1])) {
				v--
			}
			digits[fp.data+i] = int32(v)
		}
	}
}

func (p *plan) chooseSize(digits []int32, fp *filePlan, in func(item int) bool) {
	has := func(size int) bool { return in(p.rank[fp.first+len(fp.f.effects)+size]) }
	switch {
	case p.c.policy.Size != SizeFollows:
		n := len(fp.f.sizes)
		for n > 0 && !has(n-1) {
			n--
		}
		digits[fp.size] = int32(n)
	case p.c.dataVaries():
		for i := range fp.f.sizes {
			digits[fp.size+i] = min(p.units[fp.size+i].radix-1, int32(when(has(i))))
		}
	}
}

func (p *plan) chooseGroups(digits []int32, in func(item int) bool) {
	groups := p.c.groups
	has := func(group int) bool { return in(p.rank[len(p.items)-len(groups)+group]) }
	switch p.c.policy.Dir {
	case DirOrdered:
		n := 0
		for n < len(groups) && has(n) {
			n++
		}
		digits[p.groups] = int32(n)
	case DirPerDir:
		for i, dir := range p.dirs {
			n := int32(0)
			for g := range groups {
				if groups[g].touches(dir) {
					if !has(g) {
						break
					}
					n++
				}
			}
			digits[p.groups+i] = n
		}
	case DirUnordered:
		for i := range groups {
			digits[p.groups+i] = int32(when(has(i)))
		}
	}
}

// full are the digits of an image without a loss.
func (p *plan) full() []int32 {
	digits := make([]int32, len(p.units))
	p.choose(digits, func(int) bool { return true })
	return digits
}
