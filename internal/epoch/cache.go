package epoch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
)

// Entry is where a leader epoch begins.
type Entry = checkpoint.Epoch

// End is where a leader epoch ends.
type End struct {
	Epoch  int32 // the largest that is not above the one asked for; below the first, that one itself
	Offset int64 // where the next larger one begins, or the log's end
}

// Options say how to open a Cache.
type Options struct {
	ReadOnly bool // never write the file: changes are of the memory only
	Empty    bool // begin with nothing, whatever the file says: the next Flush or Assign replaces it
}

// Cache is the leader epochs of one partition.
type Cache struct {
	fsys     fsio.FS
	name     string
	readOnly bool

	entries atomic.Pointer[[]Entry] // rising in both; a list is never changed once it is here
	mu      sync.Mutex              // held to change entries, and to write the file
	dirty   atomic.Bool             // the file is not what entries are; stored with mu held
}

// Open reads the file name. A missing one is an empty Cache, and is not created; a damaged one is
// checkpoint.ErrCorrupt. Of entries that do not rise, the later erases the earlier, as in Kafka.
func Open(fsys fsio.FS, name string, o Options) (*Cache, error) {
	c := &Cache{fsys: fsys, name: name, readOnly: o.ReadOnly}
	var entries []Entry
	if o.Empty {
		c.dirty.Store(true)
	} else {
		read, err := checkpoint.ReadEpochs(fsys, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range read {
			if changes(entries, e) {
				entries = assigned(entries, e)
			}
		}
		c.dirty.Store(len(entries) != len(read))
	}
	c.entries.Store(&entries)
	return c, nil
}

// Moved tells it that its file has a new name.
func (c *Cache) Moved(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name = name
}

// Entries are the epochs, rising. The slice is the caller's only to read.
func (c *Cache) Entries() []Entry { return *c.entries.Load() }

// Latest is the last epoch. ok is false where there is none.
func (c *Cache) Latest() (e Entry, ok bool) {
	entries := c.Entries()
	if len(entries) == 0 {
		return Entry{}, false
	}
	return entries[len(entries)-1], true
}

// Assign notes that epoch begins at offset. Epochs that are not below epoch, or begin at offset or above,
// are erased; the last epoch again, at no lower offset, changes nothing. What is negative is fs.ErrInvalid.
//
// After nil the file is what the Cache is, durably, also where an earlier change was not written. After an error
// the Cache is as it was, and the file may be either.
func (c *Cache) Assign(epoch int32, offset int64) error {
	if epoch < 0 || offset < 0 {
		return fmt.Errorf("epoch %d at offset %d: %w", epoch, offset, fs.ErrInvalid)
	}
	e := Entry{Epoch: epoch, StartOffset: offset}
	if !changes(c.Entries(), e) { // the rule: a leader appends many batches in its epoch
		return c.Flush()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	entries := c.Entries()
	if !changes(entries, e) {
		return nil
	}
	entries = assigned(slices.Clone(entries), e)
	c.dirty.Store(true)
	if err := c.write(entries); err != nil {
		return err
	}
	c.entries.Store(&entries)
	return nil
}

// TruncateFromEnd drops the epochs that begin at offset or above, and reports whether there were any: the
// log ends at offset now. A negative offset drops nothing.
func (c *Cache) TruncateFromEnd(offset int64) (changed bool) {
	return c.change(func(entries []Entry) []Entry {
		if offset < 0 {
			return entries
		}
		return entries[:firstFrom(entries, offset)]
	})
}

// TruncateFromStart drops what lies below offset, and reports whether that changed anything: the log begins
// at offset now, and so does the epoch that offset belongs to.
func (c *Cache) TruncateFromStart(offset int64) (changed bool) {
	return c.change(func(entries []Entry) []Entry {
		below := 0
		for below < len(entries) && entries[below].StartOffset <= offset {
			below++
		}
		if below == 0 {
			return entries
		}
		kept := slices.Clone(entries[below-1:])
		kept[0].StartOffset = offset
		return kept
	})
}

// Clear drops all epochs, and reports whether there were any. The next Flush writes the file in any case, as
// Kafka does.
func (c *Cache) Clear() (changed bool) {
	changed = c.change(func([]Entry) []Entry { return nil })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirty.Store(true)
	return changed
}

// change puts what edit makes of the entries in their place. edit must not change them where they are.
func (c *Cache) change(edit func(entries []Entry) []Entry) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.Entries()
	after := edit(before)
	if slices.Equal(before, after) {
		return false
	}
	c.dirty.Store(true)
	c.entries.Store(&after)
	return true
}

// Flush writes the file, durably, if it is not what the Cache is. With an error it may be tried again, since
// the file is replaced as a whole.
func (c *Cache) Flush() error {
	if !c.dirty.Load() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.write(c.Entries())
}

// write makes entries the content of the file. c.mu is held.
func (c *Cache) write(entries []Entry) error {
	if c.readOnly {
		return nil
	}
	if err := checkpoint.WriteEpochs(c.fsys, c.name, entries); err != nil {
		return fmt.Errorf("leader epochs: %w", err)
	}
	c.dirty.Store(false)
	return nil
}

// EndOffset says where epoch ended in a log that ends at logEnd. ok is false for an epoch above the latest,
// a negative one, and where there is none.
func (c *Cache) EndOffset(epoch int32, logEnd int64) (e End, ok bool) {
	entries := c.Entries()
	next, found := slices.BinarySearchFunc(entries, epoch, func(e Entry, epoch int32) int {
		return cmp.Compare(e.Epoch, epoch)
	})
	if found {
		next++
	}
	switch {
	case epoch < 0 || next == len(entries) && !found:
		return End{}, false
	case next == len(entries):
		return End{Epoch: epoch, Offset: logEnd}, true
	case next == 0:
		return End{Epoch: epoch, Offset: entries[0].StartOffset}, true
	}
	return End{Epoch: entries[next-1].Epoch, Offset: entries[next].StartOffset}, true
}

// ForOffset is the epoch that offset belongs to. ok is false below the first.
func (c *Cache) ForOffset(offset int64) (epoch int32, ok bool) {
	entries := c.Entries()
	next := firstFrom(entries, offset)
	if next < len(entries) && entries[next].StartOffset == offset {
		next++
	}
	if next == 0 {
		return 0, false
	}
	return entries[next-1].Epoch, true
}

// firstFrom is the index of the first entry that begins at offset or above.
func firstFrom(entries []Entry, offset int64) int {
	i, _ := slices.BinarySearchFunc(entries, offset, func(e Entry, offset int64) int {
		if e.StartOffset < offset {
			return -1
		}
		return 1
	})
	return i
}

// changes reports whether e says something new.
func changes(entries []Entry, e Entry) bool {
	if len(entries) == 0 {
		return true
	}
	last := entries[len(entries)-1]
	return e.Epoch != last.Epoch || e.StartOffset < last.StartOffset
}

// assigned appends e, once what contradicts it is gone from the end.
func assigned(entries []Entry, e Entry) []Entry {
	kept := len(entries)
	for kept > 0 && (entries[kept-1].Epoch >= e.Epoch || entries[kept-1].StartOffset >= e.StartOffset) {
		kept--
	}
	return append(entries[:kept], e)
}
