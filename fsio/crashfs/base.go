package crashfs

import (
	"io/fs"
	"time"

	"github.com/stratalog/strata/fsio/internal/tree"
)

// image is a tree that is durable as a whole: what a crash left, or the empty disk. It never changes.
type image struct {
	root *imageDir
	top  uint64 // the highest inode
	now  time.Time
	used int64 // bytes of blocks
}

// imageDir is a directory of an image.
type imageDir struct {
	inode   uint64
	mode    fs.FileMode
	mtime   time.Time
	entries []imageEntry // by name
}

// imageEntry is a file or a directory with its name.
type imageEntry struct {
	name string
	hash uint64 // of name
	dir  *imageDir
	file *imageFile
}

// imageFile is a file of an image.
type imageFile struct {
	inode uint64
	mode  fs.FileMode
	mtime time.Time
	size  int64
	table table
	sum   uint64 // see sums
	owned extents
}

// found is e for the tree.
func (e *imageEntry) found() tree.Found {
	if e.dir != nil {
		return tree.Found{Element: e.name, Inode: e.dir.inode, Mode: e.dir.mode, ModTime: e.dir.mtime}
	}
	f := e.file
	return tree.Found{Element: e.name, Inode: f.inode, Mode: f.mode, Size: f.size, ModTime: f.mtime}
}

// empty is a disk on which nothing is.
func empty() *image {
	now := time.UnixMilli(1_600_000_000_000).UTC()
	return &image{root: &imageDir{inode: 1, mode: fs.ModeDir | 0o755, mtime: now}, top: 1, now: now}
}
