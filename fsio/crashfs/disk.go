package crashfs

import (
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/internal/tree"
)

// disk is the journal, and what there was before it. It is the volume below the tree.
type disk struct {
	o    *options
	base *image
	tree *tree.Tree
	step atomic.Uint64 // events so far

	mu      sync.Mutex // the innermost lock: it orders the events
	events  []event
	used    int64 // bytes of blocks
	live    map[uint64]*content
	folders map[uint64]*imageDir // of base, as far as they were looked at
	found   map[uint64]*imageFile
	faults  map[uint64]*faults
	off     bool // no event is written any more
	most    int  // how many events there may be; 0: no limit
	bytes   int64
	flooded bool // there would have been more

	modelMu sync.Mutex // held before mu
	cursors map[Policy]*cursor
}

var _ tree.Volume = (*disk)(nil)

func newDisk(o *options, base *image) *disk {
	return &disk{
		o: o, base: base, used: base.used,
		live:    map[uint64]*content{},
		folders: map[uint64]*imageDir{base.root.inode: base.root},
		found:   map[uint64]*imageFile{},
	}
}

// now is the time. At first each event is a millisecond after the one before it.
func (d *disk) now() time.Time {
	if d.o.clock != nil {
		return d.o.clock()
	}
	return d.base.now.Add(time.Duration(d.step.Load()) * time.Millisecond)
}

// log writes e into the journal. Once the disk is off it is fsio.ErrPowerOff.
func (d *disk) log(e event) error {
	if d.o.bare {
		d.step.Add(1)
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bytes += int64(len(e.data))
	if d.most > 0 && (len(d.events) == d.most || d.bytes > mostBytes) {
		d.off, d.flooded = true, true
	}
	if d.off {
		return fsio.ErrPowerOff
	}
	d.step.Add(1)
	if e.time.IsZero() {
		e.time = d.now()
	}
	if e.group != nil {
		e.group.step = uint64(len(d.events))
	}
	d.events = append(d.events, e)
	return nil
}

// mostBytes is how many bytes a call whose events are limited may write.
const mostBytes = 1 << 30

// limit lets there be most events. The next one switches the disk off.
func (d *disk) limit(most int) { d.most = most }

// flood is the error of who wanted more, or nil.
func (d *disk) flood() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.flooded {
		return nil
	}
	return fmt.Errorf("it made %d steps and wrote %d bytes, and did not end; Config.Steps has %d, and the bytes are %d at most",
		len(d.events), d.bytes, d.most, int64(mostBytes))
}

// mark writes into the journal what no disk does, and so no power cut keeps from being done.
func (d *disk) mark(e event) { _ = d.log(e) }

// switchOff lets nothing change any more. It is for who was left behind, and may go on.
func (d *disk) switchOff() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
}

// journal is the events so far.
func (d *disk) journal() []event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clip(d.events)
}

// Load is tree.Volume's: it lists a directory of the image.
func (d *disk) Load(at tree.Place) ([]tree.Found, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := d.folders[at.Inode]
	if dir == nil {
		return nil, nil // of the tree's own making
	}
	found := make([]tree.Found, 0, len(dir.entries))
	for _, e := range dir.entries {
		if e.dir != nil {
			d.folders[e.dir.inode] = e.dir
		} else {
			d.found[e.file.inode] = e.file
		}
		found = append(found, e.found())
	}
	return found, nil
}

// Create is tree.Volume's.
func (d *disk) Create(at tree.Place, perm fs.FileMode) error {
	d.mu.Lock()
	d.live[at.Inode] = &content{disk: d, inode: at.Inode, table: table{gen: generations.Add(1)}}
	d.mu.Unlock()
	return d.made(at, perm.Perm()&^tree.Umask)
}

// Mkdir is tree.Volume's.
func (d *disk) Mkdir(at tree.Place, perm fs.FileMode) error {
	return d.made(at, fs.ModeDir|perm.Perm()&^tree.Umask)
}

func (d *disk) made(at tree.Place, mode fs.FileMode) error {
	g := &group{inode: at.Inode, isDir: mode.IsDir(), added: link{at.Dir, at.Element}, path: at.Path}
	return d.log(event{what: renamed, inode: at.Inode, n: int64(mode), group: g})
}

// Rename is tree.Volume's.
func (d *disk) Rename(from, to tree.Place) error {
	g := &group{
		inode: from.Inode, path: from.Path, to: to.Path,
		removed: link{from.Dir, from.Element}, added: link{to.Dir, to.Element},
	}
	return d.log(event{what: renamed, inode: from.Inode, group: g})
}

// Remove is tree.Volume's.
func (d *disk) Remove(at tree.Place) error {
	g := &group{inode: at.Inode, removed: link{at.Dir, at.Element}, path: at.Path}
	return d.log(event{what: renamed, inode: at.Inode, group: g})
}

// Chtimes is tree.Volume's.
func (d *disk) Chtimes(at tree.Place, mtime time.Time) error {
	return d.log(event{what: touched, inode: at.Inode, time: mtime})
}

// SyncDir is tree.Volume's.
func (d *disk) SyncDir(at tree.Place) error {
	return d.log(event{what: dirSynced, inode: at.Inode})
}

// Open is tree.Volume's.
func (d *disk) Open(at tree.Place, _ bool) (tree.Content, bool, error) {
	return d.content(at.Inode), true, nil
}

// content is the bytes of an inode.
func (d *disk) content(inode uint64) *content {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.live[inode]
	if c == nil {
		f := d.found[inode]
		c = &content{disk: d, inode: inode, table: f.table.fork(), size: f.size, owned: f.owned}
		d.live[inode] = c
	}
	return c
}

// Forget is tree.Volume's: the blocks are free. The journal keeps what a crash may bring back.
func (d *disk) Forget(inode uint64, _ string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.live[inode]; c != nil {
		c.own(nil)
		delete(d.live, inode)
	} else if f := d.found[inode]; f != nil {
		d.used -= f.owned.total() * d.o.sectorBytes
	}
	delete(d.found, inode)
}
