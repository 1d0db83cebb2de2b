package crashfs

import (
	"bytes"
	"syscall"

	"github.com/stratalog/strata/fsio/internal/tree"
)

// content is the bytes of a file as the running system sees them, whatever the disk has. Its file's lock in
// the tree guards it.
type content struct {
	disk  *disk
	inode uint64
	table table
	size  int64
	owned extents // sectors that count against the quota
}

var _ tree.Content = (*content)(nil)

// ReadAt is tree.Content's.
func (c *content) ReadAt(p []byte, off int64) error {
	c.table.read(p, off)
	return nil
}

// WriteAt is tree.Content's.
func (c *content) WriteAt(p []byte, off int64) (int, error) { return c.write(wrote, p, off) }

// Store is tree.Content's.
func (c *content) Store(p []byte, off int64) (int, error) { return c.write(stored, p, off) }

func (c *content) write(what what, p []byte, off int64) (int, error) {
	n, err := c.take(off, int64(len(p)))
	if n == 0 {
		return 0, err
	}
	if err := c.disk.log(event{what: what, inode: c.inode, off: off, data: bytes.Clone(p[:n])}); err != nil {
		return 0, err
	}
	c.table.write(p[:n], off)
	c.size = max(c.size, off+int64(n))
	return n, err
}

// take gives c the sectors of [off, off+n) that it does not have, and says how many bytes fitted.
func (c *content) take(off, n int64) (int, error) {
	quota, unit := c.disk.o.quota, c.disk.o.sectorBytes
	if quota == 0 {
		return int(n), nil
	}
	c.disk.mu.Lock()
	defer c.disk.mu.Unlock()
	from, to := off/unit, (off+n+unit-1)/unit
	fits := c.owned.fit(from, to, max(quota-c.disk.used, 0)/unit)
	c.own(c.owned.add(from, fits))
	if fits < to {
		return int(max(fits*unit-off, 0)), syscall.ENOSPC
	}
	return int(n), nil
}

// own sets what c owns. The caller holds the disk's lock.
func (c *content) own(owned extents) {
	c.disk.used += (owned.total() - c.owned.total()) * c.disk.o.sectorBytes
	c.owned = owned
}

// Truncate is tree.Content's.
func (c *content) Truncate(size int64) error {
	if err := c.disk.log(event{what: resized, inode: c.inode, off: size}); err != nil {
		return err
	}
	c.table.cut(size)
	c.size = size
	c.free(size)
	return nil
}

// free gives back the sectors past size.
func (c *content) free(size int64) {
	unit := c.disk.o.sectorBytes
	c.disk.mu.Lock()
	defer c.disk.mu.Unlock()
	c.own(c.owned.cut((size + unit - 1) / unit))
}

// Allocate is tree.Content's.
func (c *content) Allocate(size int64) error {
	was := c.owned
	if _, err := c.take(0, size); err != nil {
		c.disk.mu.Lock()
		defer c.disk.mu.Unlock()
		c.own(was)
		return err
	}
	if c.disk.o.quota == 0 && size <= c.size {
		return nil
	}
	if err := c.disk.log(event{what: reserved, inode: c.inode, off: size}); err != nil {
		return err
	}
	c.size = max(c.size, size)
	return nil
}

// Sync is tree.Content's.
func (c *content) Sync() error {
	return c.disk.log(event{what: synced, inode: c.inode})
}

// Flush is tree.Content's.
func (c *content) Flush(off, n int64) error {
	return c.disk.log(event{what: flushed, inode: c.inode, off: off, n: n})
}

// Close is tree.Content's. The bytes stay until the inode is forgotten.
func (c *content) Close() error { return nil }
