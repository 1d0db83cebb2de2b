package epoch

import (
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
	Empty    bool // begin with nothing, whatever the file says: it is written with the first change
}

// Cache is the leader epochs of one partition.
type Cache struct{}

// Open reads the file name. A missing one is an empty Cache, and is not created; a damaged one is
// checkpoint.ErrCorrupt. Of entries that do not rise, the later erases the earlier, as in Kafka.
func Open(fsys fsio.FS, name string, o Options) (*Cache, error) { panic("skeleton") }

// Entries are the epochs, rising. The slice is the caller's only to read.
func (c *Cache) Entries() []Entry { panic("skeleton") }

// Latest is the last epoch. ok is false where there is none.
func (c *Cache) Latest() (e Entry, ok bool) { panic("skeleton") }

// Assign notes that epoch begins at offset. Epochs that are not below epoch, or begin at offset or above,
// are erased; the last epoch again, at no lower offset, changes nothing. What is negative is fs.ErrInvalid.
//
// After nil the change is durable. After an error the Cache is as it was, and the file may be either.
func (c *Cache) Assign(epoch int32, offset int64) error { panic("skeleton") }

// TruncateFromEnd drops the epochs that begin at offset or above, and reports whether there were any: the
// log ends at offset now.
func (c *Cache) TruncateFromEnd(offset int64) (changed bool) { panic("skeleton") }

// TruncateFromStart drops what lies below offset, and reports whether that changed anything: the log begins
// at offset now, and so does the epoch that offset belongs to.
func (c *Cache) TruncateFromStart(offset int64) (changed bool) { panic("skeleton") }

// Clear drops all epochs, and reports whether there were any.
func (c *Cache) Clear() (changed bool) { panic("skeleton") }

// Flush writes the file, durably, if it is not what the Cache is. With an error it may be tried again, since
// the file is replaced as a whole.
func (c *Cache) Flush() error { panic("skeleton") }

// EndOffset says where epoch ended in a log that ends at logEnd. ok is false for an epoch above the latest,
// a negative one, and where there is none.
func (c *Cache) EndOffset(epoch int32, logEnd int64) (e End, ok bool) { panic("skeleton") }

// ForOffset is the epoch that offset belongs to. ok is false below the first.
func (c *Cache) ForOffset(offset int64) (epoch int32, ok bool) { panic("skeleton") }
