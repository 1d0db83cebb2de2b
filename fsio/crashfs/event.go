package crashfs

import (
	"fmt"
	"time"
)

// what says what an event of the journal is.
type what uint8

// The events.
const (
	wrote     what = iota // data at off of inode, by File.WriteAt
	stored                // data at off of inode, by Map.WriteAt
	resized               // inode has the size off
	reserved              // inode owns [0, off), and its size is not less
	synced                // all of inode is durable
	flushed               // the stores to inode in the pages of [off, off+n) are durable
	renamed               // the entries of group changed: it may be a create, a mkdir or a remove, too
	dirSynced             // the entries of inode are durable
	touched               // inode has the time
	cleaned               // inode's bytes in the pages of [off, off+n) count as durable, and are not
	reverted              // inode's bytes, and its size, are what they were durably
	forgotten             // the entry changes in inode are lost
	rotted                // the byte at off of inode was changed at rest, by XOR with data[0]
	lied                  // a call was claimed and not made
	acked                 // value was acknowledged
	noted                 // value was noted
)

// everything is the n of an event that is about all of a file.
const everything = -1

// event is an entry of the journal.
type event struct {
	what  what
	inode uint64
	off   int64
	n     int64
	data  []byte
	group *group
	value any
	time  time.Time
}

// String says what was done, for the comparison of two journals.
func (e *event) String() string {
	switch e.what {
	case renamed:
		return e.group.String()
	case acked:
		return fmt.Sprintf("ack %v", e.value)
	case noted:
		return fmt.Sprintf("note %v", e.value)
	}
	words := [...]string{
		wrote: "write", stored: "store", resized: "size", reserved: "reserve", synced: "sync", flushed: "flush",
		dirSynced: "syncdir", touched: "chtimes", cleaned: "clean", reverted: "revert", forgotten: "forget",
		rotted: "rot", lied: "lie",
	}
	return fmt.Sprintf("%s of inode %d at %d, %d bytes %x", words[e.what], e.inode, e.off, e.n, sketch(e.data))
}

// sketch is the beginning of data, and its sum where there is more.
func sketch(data []byte) []byte {
	if len(data) <= 16 {
		return data
	}
	sum := uint64(len(data))
	for _, b := range data {
		sum = scramble(sum ^ uint64(b))
	}
	return append(data[:8:8], byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24))
}

// scramble is a bijection of 64-bit numbers that spreads each bit over all (the finalizer of SplitMix64).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// link is a name in a directory.
type link struct {
	dir  uint64
	name string
}

// group is an atomic change of entries: a create or mkdir has added, a remove has removed, a rename both.
type group struct {
	step    uint64
	inode   uint64
	isDir   bool
	removed link
	added   link
	path    string // the name as it was, for people
	to      string // of a rename

	earlier *group // the change of the same inode before it, where that was pending then
	part    part   // how much of it the image has that is being made
	durable bool
}

// source is the name of which g takes its inode away: that of removed, or an older one where the image does not
// have the changes since. So a file never ends with two names. It is zero where the inode has none.
func (g *group) source() link {
	name := g.removed
	for e := g.earlier; e != nil && !e.durable; e = e.earlier {
		switch {
		case e.part == kept && e.adds():
			return e.added
		case e.part == kept || e.part == onlyRemoved:
			return link{}
		}
		name = e.removed
	}
	return name
}

// adds and removes say what g does.
func (g *group) adds() bool    { return g.added.name != "" }
func (g *group) removes() bool { return g.removed.name != "" }
func (g *group) renames() bool { return g.adds() && g.removes() }

// touches reports whether g changes the directory dir.
func (g *group) touches(dir uint64) bool {
	return g.adds() && g.added.dir == dir || g.removes() && g.removed.dir == dir
}

// String is "rename a → b".
func (g *group) String() string {
	switch {
	case g.renames():
		return fmt.Sprintf("rename %s → %s", g.path, g.to)
	case g.removes():
		return "remove " + g.path
	case g.isDir:
		return "mkdir " + g.path
	}
	return "create " + g.path
}
