package crashfs

import (
	"hash/maphash"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// folder is a directory in the model.
type folder struct {
	number  uint64
	mode    fs.FileMode
	mtime   time.Time
	entries []entry // durable, by name; replaced, never changed
}

// entry is a name in a directory.
type entry struct {
	name  string
	hash  uint64 // of name
	inode uint64
	isDir bool
}

func hashName(name string) uint64 { return maphash.String(seed, name) }

// search finds name in entries.
func search(entries []entry, name string) (int, bool) {
	return slices.BinarySearchFunc(entries, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
}

// listing is the entries of a directory while they are being changed.
type listing struct {
	dir     uint64
	entries []entry
}

// listings are the directories in which an image differs from what is durable.
type listings struct {
	folders []*folder // all, by inode
	changed []listing
}

// reset forgets the changes.
func (l *listings) reset(folders []*folder) {
	l.folders, l.changed = folders, l.changed[:0]
}

// of are the entries of dir.
func (l *listings) of(dir uint64) []entry {
	for i := range l.changed {
		if l.changed[i].dir == dir {
			return l.changed[i].entries
		}
	}
	return l.folders[dir].entries
}

// open is the listing of dir, for changes.
func (l *listings) open(dir uint64) *listing {
	for i := range l.changed {
		if l.changed[i].dir == dir {
			return &l.changed[i]
		}
	}
	if len(l.changed) < cap(l.changed) { // with the memory of one before it
		l.changed = l.changed[:len(l.changed)+1]
	} else {
		l.changed = append(l.changed, listing{})
	}
	one := &l.changed[len(l.changed)-1]
	one.dir, one.entries = dir, append(one.entries[:0], l.folders[dir].entries...)
	return one
}

// set names inode at to.
func (l *listings) set(to link, inode uint64, isDir bool) {
	one := l.open(to.dir)
	e := entry{name: to.name, hash: hashName(to.name), inode: inode, isDir: isDir}
	i, ok := search(one.entries, to.name)
	if ok {
		one.entries[i] = e
	} else {
		one.entries = slices.Insert(one.entries, i, e)
	}
}

// clear takes the name from away where it is inode's.
func (l *listings) clear(from link, inode uint64) {
	i, ok := search(l.of(from.dir), from.name)
	if !ok || l.of(from.dir)[i].inode != inode {
		return
	}
	one := l.open(from.dir)
	one.entries = slices.Delete(one.entries, i, i+1)
}

// part says how much of a group an image has.
type part int

// The parts. The last two are for a rename without a journal.
const (
	lost part = iota
	kept
	onlyAdded
	onlyRemoved
)

// apply makes g, as far as the image has it. Those before it have been applied. twin is the inode that a file of
// two names has under the second.
func (l *listings) apply(g *group, twin uint64) {
	switch {
	case g.part == lost:
		return
	case g.part == onlyAdded:
		l.set(g.added, twin, g.isDir)
		return
	case g.removes():
		if from := g.source(); from.name != "" {
			l.clear(from, g.inode)
		}
	}
	if g.adds() && g.part == kept {
		l.set(g.added, g.inode, g.isDir)
	}
}
