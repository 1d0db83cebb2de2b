package crashfs

import (
	"fmt"
	"syscall"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/internal/tree"
)

// FsyncMode says what a failed sync does to the bytes that it was to make durable: of a Sync the file's
// effects, of a Flush the stores in its pages, of a SyncDir the directory's entry changes. The four were
// read from the source of filesystems and of the CuttleFS tool, and each is what some kernel does.
type FsyncMode uint8

// What a failed sync does.
const (
	// FsyncKeep: the error, and all stays pending; a later sync can make it durable. What code that retries
	// believes.
	FsyncKeep FsyncMode = iota

	// FsyncClean is ext4 in ordered mode, and XFS: the error, once for each File that is open on the file
	// (to the next one opened where there is none), and the pages count as clean. So later syncs return
	// nil, reads see the bytes until Evict, the size is durable, and the bytes are in no image.
	FsyncClean

	// FsyncRevert is Btrfs: the error, and the file, or the directory, is as the disk has it again, at
	// once.
	FsyncRevert

	// FsyncLate is ext4 with data=journal: nil now, though the bytes are lost as with FsyncClean, and the
	// error at the next sync.
	FsyncLate
)

// SyncError is how a fault rule asks for an FsyncMode: it fails a sync with one, inside (WithInterceptor),
// and FS does to the file what Mode says. The caller of the sync gets a *SyncError, for FsyncLate at the
// next sync; errors.Is finds Err in it. Over any other FS it is an error like others, which acts as
// FsyncKeep. Err of nil is syscall.EIO.
//
// An acknowledgement given after a sync that FsyncLate made return nil is in History.Unprotected.
type SyncError struct {
	Mode FsyncMode
	Err  error
}

// Error is Err's text.
func (e *SyncError) Error() string { return e.Unwrap().Error() }

// Unwrap returns Err.
func (e *SyncError) Unwrap() error {
	if e.Err == nil {
		return syscall.EIO
	}
	return e.Err
}

// SyncErrors names a SyncError with syscall.EIO for each mode, for faultfs.ParseRules: fsync-keep,
// fsync-clean, fsync-revert, fsync-late.
func SyncErrors() map[string]error {
	return map[string]error{
		"fsync-keep":   &SyncError{Mode: FsyncKeep, Err: syscall.EIO},
		"fsync-clean":  &SyncError{Mode: FsyncClean, Err: syscall.EIO},
		"fsync-revert": &SyncError{Mode: FsyncRevert, Err: syscall.EIO},
		"fsync-late":   &SyncError{Mode: FsyncLate, Err: syscall.EIO},
	}
}

// faults is what failed syncs of an inode have left to say.
type faults struct {
	open     int        // Files
	failures []error    // of FsyncClean, in order: each File reports those that it has not
	unseen   bool       // the last came when no File was open: the next one opened reports it
	late     *SyncError // of FsyncLate: the next sync reports it
}

// of is the faults of inode. The caller holds d.mu.
func (d *disk) of(inode uint64) *faults {
	if d.faults == nil {
		d.faults = map[uint64]*faults{}
	}
	if d.faults[inode] == nil {
		d.faults[inode] = &faults{}
	}
	return d.faults[inode]
}

// opened counts a File, and says how many failures it need not report.
func (d *disk) opened(inode uint64) (seen uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.of(inode)
	f.open++
	seen = uint64(len(f.failures))
	if f.unseen {
		f.unseen = false
		seen--
	}
	return seen
}

func (d *disk) closed(inode uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of(inode).open--
}

// overdue is the error of a FsyncLate before, once.
func (d *disk) overdue(inode uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.of(inode)
	late := f.late
	f.late = nil
	if late == nil {
		return nil
	}
	return late
}

// due is the error that h's File has to report before it syncs, once.
func (h *handle) due() error {
	if err := h.disk.overdue(h.inode); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	failures := h.disk.of(h.inode).failures
	if h.seen == uint64(len(failures)) {
		return nil
	}
	err := failures[h.seen]
	h.seen = uint64(len(failures))
	return err
}

// lie notes that a call was claimed and not made.
func (d *disk) lie() { d.mark(event{what: lied}) }

// fail does what e asks for to what op was to make durable, and returns what the caller gets.
func (h *handle) fail(op *fsio.Op, e *SyncError, err error) error {
	switch {
	case e.Mode > FsyncLate:
		return fmt.Errorf("crashfs: no FsyncMode %d: %w", e.Mode, err)
	case e.Mode == FsyncKeep:
		return err
	}
	inode, ev := h.inode, event{what: cleaned, inode: h.inode, n: everything}
	switch {
	case op.Kind == fsio.OpSyncDir:
		dir, dirErr := h.disk.tree.Inode(op.Path)
		if dirErr != nil {
			return err
		}
		inode, ev = dir, event{what: forgotten, inode: dir}
	case e.Mode == FsyncRevert:
		ev.what = reverted
	}
	if op.Kind == fsio.OpMapFlush {
		ev.off, ev.n = op.Off, op.Size
	}
	if e.Mode == FsyncRevert && op.Kind == fsio.OpSyncDir {
		h.disk.revertDir(ev)
		return err
	}
	h.disk.mark(ev)
	switch e.Mode {
	case FsyncRevert:
		h.disk.reread(h.file)
	case FsyncClean:
		h.remember(op, inode, e)
	case FsyncLate:
		h.disk.mu.Lock()
		h.disk.of(inode).late = e
		h.disk.mu.Unlock()
		h.disk.lie()
		return nil
	}
	return err
}

// remember has each other File of inode report e.
func (h *handle) remember(op *fsio.Op, inode uint64, e *SyncError) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	f := h.disk.of(inode)
	f.failures = append(f.failures, e)
	if op.Kind == fsio.OpSync {
		h.seen = uint64(len(f.failures)) // it reports e now
	}
	f.unseen = f.open == 0
}

// plain is the policy of the model that tells what the disk has now.
var plain = Policy{Name: "plain"}

// reread gives file, and the Maps of it, the bytes that a read from the disk gives now.
func (d *disk) reread(file fsio.File) {
	inode := tree.InodeOf(file)
	tree.Reread(file, func() (size, from int64) {
		c := d.content(inode)
		model, unlock := d.cursor(plain)
		defer unlock()
		f := model.files[inode]
		if f == nil || f.gone {
			return c.size, c.size
		}
		c.table, c.size = f.now(&model.sums)
		return c.size, 0
	})
}

// revertDir forgets the entry changes in a directory, and has the tree list what is left.
func (d *disk) revertDir(e event) {
	model, unlock := d.cursor(plain)
	dirs := map[uint64]bool{e.inode: true}
	for _, g := range model.groups {
		if g.touches(e.inode) {
			dirs[g.added.dir], dirs[g.removed.dir] = true, true
		}
	}
	unlock()
	d.mark(e)
	model, unlock = d.cursor(plain)
	listings := map[uint64][]tree.Found{}
	l := listingsOf(model)
	for dir := range dirs {
		if dir != 0 && model.folders[dir] != nil {
			listings[dir] = d.foundIn(model, l.of(dir))
		}
	}
	unlock()
	d.tree.Relist(listings)
}

// listingsOf are the entries of a running system.
func listingsOf(c *cursor) *listings {
	l := &listings{folders: c.folders}
	for _, g := range c.groups {
		g.part = kept
		l.apply(g, 0)
	}
	return l
}

// foundIn is entries for the tree. Files that were forgotten come back with the bytes that the disk has.
func (d *disk) foundIn(model *cursor, entries []entry) (found []tree.Found) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range entries {
		if e.isDir {
			f := model.folders[e.inode]
			found = append(found, tree.Found{Element: e.name, Inode: e.inode, Mode: f.mode, ModTime: f.mtime})
			continue
		}
		f := model.files[e.inode]
		if d.live[e.inode] == nil && d.found[e.inode] == nil {
			t, size := f.now(&model.sums)
			d.found[e.inode] = &imageFile{inode: e.inode, mode: f.mode, mtime: f.mtime, size: size, table: t, owned: f.owned}
			d.used += f.owned.total() * d.o.sectorBytes
		}
		found = append(found, tree.Found{Element: e.name, Inode: e.inode, Mode: f.mode, Size: f.latest(), ModTime: f.mtime})
	}
	return found
}
