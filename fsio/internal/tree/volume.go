package tree

import (
	"io/fs"
	"time"
)

// Place is where in the tree something is, or is to be.
type Place struct {
	Path    string // the whole name
	Dir     uint64 // the inode of the directory; 0 of the root
	Element string // the name in it
	Inode   uint64 // what is there, or is to be; 0 is nothing
	Origin  string // the name that it had when it was loaded; empty where the Tree made it
}

// Found is an entry that a Volume had before the Tree.
type Found struct {
	Element string
	Inode   uint64 // 0: the Tree gives it a number
	Mode    fs.FileMode
	Size    int64
	ModTime time.Time
}

// Volume is where a Tree's files have their bytes, and who is told of its changes.
//
// A change is asked for after all rules were checked, and is made in the Tree where the answer is nil. All
// calls come one at a time.
type Volume interface {
	// Load lists a directory that the Volume had before the Tree, the root first. It is asked once for each.
	Load(at Place) ([]Found, error)

	// Create makes an empty file at a free place, Mkdir a directory.
	Create(at Place, perm fs.FileMode) error
	Mkdir(at Place, perm fs.FileMode) error

	// Rename moves what is at from to to. to.Inode is what it replaces there.
	Rename(from, to Place) error

	// Remove takes a name away. The inode lives on while it is in use.
	Remove(at Place) error

	// Chtimes notes a time, SyncDir makes the entries of a directory durable.
	Chtimes(at Place, mtime time.Time) error
	SyncDir(at Place) error

	// Open gives the bytes of a file that is coming into use. Without write it may give a Content that
	// cannot be changed; writable says which.
	Open(at Place, write bool) (c Content, writable bool, err error)

	// Forget is told of an inode that has neither a name nor a user any more, and of its origin.
	Forget(inode uint64, origin string)
}

// Content is the bytes of one file in use. The Tree keeps the size, checks positions, and makes one call at
// a time.
type Content interface {
	// ReadAt fills p. The range lies below the size.
	ReadAt(p []byte, off int64) error

	// WriteAt writes p, which is not empty, and returns how much of it, from the front, is there. The
	// range may begin and end past the size.
	WriteAt(p []byte, off int64) (int, error)

	// Store is WriteAt by a store through a Map, never past the size.
	Store(p []byte, off int64) (int, error)

	// Truncate sets the size. Allocate reserves [0, size), and sets the size where it was less.
	Truncate(size int64) error
	Allocate(size int64) error

	// Sync and Flush make durable what they say.
	Sync() error
	Flush(off, n int64) error

	// Close ends the use of the file.
	Close() error
}
