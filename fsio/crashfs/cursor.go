package crashfs

import (
	"cmp"
	"io/fs"
	"slices"
)

// cursor is the model at a step of the journal: what is durable by a policy's barriers, what is pending, and
// what the user was told.
type cursor struct {
	o      *options
	policy Policy
	sums   sums
	base   *image
	step   int // events that were applied

	files   []*inode  // by inode; nil: no file
	folders []*folder // by inode; nil: no directory
	groups  []*group  // pending, in order

	acks, notes, unprotected []any
	lies                     int
	rubbish                  []table // of removed files, for SizeGarbage
	plan                     plan
}

func newCursor(o *options, base *image, policy Policy) *cursor {
	c := &cursor{o: o, policy: policy, sums: newSums(o.sectorBytes), base: base}
	c.grow(base.top)
	c.adopt(base.root)
	c.plan.c = c
	return c
}

// grow makes room for inodes up to top.
func (c *cursor) grow(top uint64) {
	if n := int(top) + 1 - len(c.files); n > 0 {
		c.files = append(c.files, make([]*inode, n)...)
		c.folders = append(c.folders, make([]*folder, n)...)
	}
}

// adopt takes a directory of the image, and what is below it.
func (c *cursor) adopt(dir *imageDir) {
	f := &folder{number: dir.inode, mode: dir.mode, mtime: dir.mtime, entries: make([]entry, 0, len(dir.entries))}
	c.folders[dir.inode] = f
	for _, e := range dir.entries {
		own := entry{name: e.name, hash: e.hash}
		if e.dir != nil {
			own.inode, own.isDir = e.dir.inode, true
			c.adopt(e.dir)
		} else {
			own.inode = e.file.inode
			c.files[own.inode] = &inode{
				number: own.inode, name: e.name, mode: e.file.mode, mtime: e.file.mtime, older: e.file.mtime, size: e.file.size,
				table: e.file.table.fork(), sum: e.file.sum, owned: e.file.owned, plan: -1,
			}
		}
		f.entries = append(f.entries, own)
	}
}

// advance applies the events up to step.
func (c *cursor) advance(events []event, step int) {
	for ; c.step < step; c.step++ {
		c.apply(&events[c.step])
	}
}

// apply makes one event.
func (c *cursor) apply(e *event) {
	switch e.what {
	case renamed:
		c.rename(e)
	case dirSynced:
		c.syncDir(e.inode)
	case forgotten:
		c.forget(e.inode)
	case touched:
		c.touch(e)
	case lied:
		c.lies++
	case acked:
		if c.lies > 0 {
			c.unprotected = append(c.unprotected, e.value)
		} else {
			c.acks = append(c.acks, e.value)
		}
	case noted:
		c.notes = append(c.notes, e.value)
	default:
		c.applyFile(c.files[e.inode], e)
	}
}

// applyFile makes an event of a file.
func (c *cursor) applyFile(f *inode, e *event) {
	step, unit := uint64(c.step), c.sums.unit
	from, to := c.pages(e)
	switch e.what {
	case wrote:
		f.write(effect{step: step, off: e.off, data: e.data}, unit)
		c.own(f, e.off, e.off+int64(len(e.data)))
	case stored:
		c.store(f, e)
	case resized:
		if c.policy.Size == SizeGarbage && e.off < f.latest() {
			c.litter(f)
		}
		f.resize(step, e.off, unit)
		f.owned = f.owned.cut((e.off + unit - 1) / unit)
	case reserved:
		f.resize(step, max(f.latest(), e.off), unit)
		c.own(f, 0, e.off)
	case synced:
		f.sync(&c.sums)
		if c.policy.FsyncFileDir {
			c.keepName(f.number)
		}
	case flushed:
		f.flush(from, to, &c.sums)
	case cleaned:
		f.drop(from, to, unit)
		f.setSize(f.latest(), step, &c.sums)
	case reverted:
		f.drop(from, to, unit)
		if e.n == everything {
			f.sizes = nil
		}
	case rotted:
		f.rot(e.off, e.data[0], &c.sums)
	}
	if e.what == wrote || e.what == resized || e.what == reserved {
		f.older, f.mtime = f.mtime, e.time
	}
}

// pages is the range of e, in whole pages.
func (c *cursor) pages(e *event) (from, to int64) {
	if e.n == everything {
		return 0, 1<<63 - 1
	}
	page := c.o.pageBytes
	return e.off / page * page, (e.off + e.n + page - 1) / page * page
}

// store adds a store as one effect a page.
func (c *cursor) store(f *inode, e *event) {
	for off, data := e.off, e.data; len(data) > 0; {
		n := min(int64(len(data)), c.o.pageBytes-off%c.o.pageBytes)
		f.write(effect{step: uint64(c.step), off: off, data: data[:n], store: true}, c.sums.unit)
		off, data = off+n, data[n:]
	}
	c.own(f, e.off, e.off+int64(len(e.data)))
}

// own counts [from, to) as f's, where there is a quota.
func (c *cursor) own(f *inode, from, to int64) {
	if c.o.quota > 0 {
		f.owned = f.owned.add(from/c.sums.unit, (to+c.sums.unit-1)/c.sums.unit)
	}
}

// touch sets a modification time. Those of directories are not kept.
func (c *cursor) touch(e *event) {
	if f := c.files[e.inode]; f != nil {
		f.older, f.mtime = f.mtime, e.time
	}
}

// rename adds a group.
func (c *cursor) rename(e *event) {
	g := *e.group
	if g.adds() && !g.removes() {
		c.create(e)
	} else if g.removes() {
		c.leave(&g)
		for _, earlier := range c.groups {
			if earlier.inode == g.inode {
				g.earlier = earlier
			}
		}
	}
	if f := c.files[g.inode]; f != nil && g.adds() {
		f.name = cmp.Or(g.to, g.path)
	}
	g.isDir = c.folders[g.inode] != nil
	c.groups = append(c.groups, &g)
}

// create makes the inode of a new entry.
func (c *cursor) create(e *event) {
	c.grow(e.inode)
	if mode := fs.FileMode(e.n); mode.IsDir() {
		c.folders[e.inode] = &folder{number: e.inode, mode: mode, mtime: e.time}
	} else {
		c.files[e.inode] = &inode{
			number: e.inode, name: e.group.path, mode: mode, mtime: e.time, older: e.time, plan: -1,
			table: table{gen: generations.Add(1)},
		}
	}
}

// leave notes for SizeGarbage what a file that loses its name has.
func (c *cursor) leave(g *group) {
	if c.policy.Size != SizeGarbage {
		return
	}
	if !g.renames() {
		c.litter(c.files[g.inode])
		return
	}
	l := listingsOf(c)
	if c.folders[g.added.dir] != nil {
		if i, ok := search(l.of(g.added.dir), g.added.name); ok {
			c.litter(c.files[l.of(g.added.dir)[i].inode])
		}
	}
}

// rubbishFiles is how many removed files SizeGarbage draws from.
const rubbishFiles = 8

// litter keeps the bytes of a file that is removed or cut.
func (c *cursor) litter(f *inode) {
	if f == nil {
		return
	}
	t, _ := f.now(&c.sums)
	c.rubbish = append(c.rubbish, t)
	if n := len(c.rubbish); n > rubbishFiles {
		c.rubbish = slices.Clone(c.rubbish[n-rubbishFiles:])
	}
}

// syncDir makes the groups in dir durable.
func (c *cursor) syncDir(dir uint64) {
	if c.policy.SyncDirInodes {
		c.keepSizes(dir)
	}
	c.commit(func(g *group) bool { return g.touches(dir) })
}

// forget loses the groups in dir.
func (c *cursor) forget(dir uint64) {
	c.groups = slices.DeleteFunc(c.groups, func(g *group) bool {
		g.part = lost
		return g.touches(dir)
	})
}

// keepSizes makes the sizes of the files in dir durable, without their bytes.
func (c *cursor) keepSizes(dir uint64) {
	for _, e := range listingsOf(c).of(dir) {
		if f := c.files[e.inode]; f != nil && len(f.sizes) > 0 {
			f.setSize(f.latest(), uint64(c.step), &c.sums)
		}
	}
}

// keepName makes durable how inode got its name, and how the directories above it got theirs.
func (c *cursor) keepName(inode uint64) {
	want := map[uint64]bool{inode: true}
	for _, g := range slices.Backward(c.groups) {
		if g.adds() && want[g.inode] {
			want[g.added.dir] = true
		}
	}
	c.commit(func(g *group) bool { return g.adds() && want[g.inode] })
}

// commit makes durable the groups that chosen names, in order, and those that their order asks for: what was done
// to the same inode before, with DirOrdered all before the last, with DirPerDir those before it in its directories.
func (c *cursor) commit(chosen func(g *group) bool) {
	take := make([]bool, len(c.groups))
	var dirs []uint64
	inodes := map[uint64]bool{}
	for i := len(c.groups) - 1; i >= 0; i-- {
		g := c.groups[i]
		take[i] = chosen(g) || inodes[g.inode]
		switch c.policy.Dir {
		case DirOrdered:
			take[i] = take[i] || i+1 < len(take) && take[i+1]
		case DirPerDir:
			take[i] = take[i] || slices.ContainsFunc(dirs, g.touches)
		}
		if take[i] {
			dirs = append(dirs, g.added.dir, g.removed.dir)
			inodes[g.inode] = true
		}
	}
	var l listings
	l.reset(c.folders)
	var rest []*group
	for i, g := range c.groups {
		if take[i] {
			g.part = kept
			l.apply(g, 0)
		} else {
			g.part = lost
			rest = append(rest, g)
		}
	}
	for i, g := range c.groups {
		g.durable = take[i]
	}
	c.groups = rest
	for _, one := range l.changed {
		f := *c.folders[one.dir]
		f.entries = slices.Clone(one.entries)
		c.folders[one.dir] = &f
	}
	c.collect()
}

// collect forgets what is pending of files that no image can have under a name.
func (c *cursor) collect() {
	named := make([]bool, len(c.files))
	for _, f := range c.folders {
		if f == nil {
			continue
		}
		for _, e := range f.entries {
			named[e.inode] = true
		}
	}
	for _, g := range c.groups {
		named[g.inode] = named[g.inode] || g.adds()
	}
	for i, f := range c.files {
		if f != nil && !named[i] {
			f.effects, f.sectors, f.sizes, f.size, f.sum = nil, nil, nil, 0, 0
			f.table, f.gone = table{gen: generations.Add(1)}, true
		}
	}
}

// history is what had happened so far.
func (c *cursor) history() History {
	return History{
		Step: uint64(c.step), Acks: slices.Clip(c.acks), Notes: slices.Clip(c.notes),
		Unprotected: slices.Clip(c.unprotected),
	}
}
