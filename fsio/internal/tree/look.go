package tree

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"
)

// ReadDir is fsio.FS's.
func (t *Tree) ReadDir(dir string) ([]fs.DirEntry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, err := t.directory(dir)
	if err != nil {
		return nil, pathError("readdir", dir, err)
	}
	entries := make([]fs.DirEntry, 0, len(at.node.entries))
	for _, element := range slices.Sorted(maps.Keys(at.node.entries)) {
		entries = append(entries, &entry{
			tree: t, dir: dir, element: element, mode: at.node.entries[element].mode.Type(),
		})
	}
	return entries, nil
}

// entry is one line of a listing.
type entry struct {
	tree    *Tree
	dir     string
	element string
	mode    fs.FileMode
}

func (e *entry) Name() string               { return e.element }
func (e *entry) IsDir() bool                { return e.mode.IsDir() }
func (e *entry) Type() fs.FileMode          { return e.mode }
func (e *entry) Info() (fs.FileInfo, error) { return e.tree.Stat(path.Join(e.dir, e.element)) }
func (e *entry) String() string             { return fs.FormatDirEntry(e) }

// Stat is fsio.FS's.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	t.mu.Lock()
	at, err := t.existing(name)
	t.mu.Unlock()
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	n := at.node
	n.mu.Lock()
	defer n.mu.Unlock()
	return &info{name: path.Base(name), size: n.size, mode: n.mode, mtime: n.mtime}, nil
}

// info is a snapshot of a node.
type info struct {
	name  string
	size  int64
	mode  fs.FileMode
	mtime time.Time
}

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.size }
func (i *info) Mode() fs.FileMode  { return i.mode }
func (i *info) ModTime() time.Time { return i.mtime }
func (i *info) IsDir() bool        { return i.mode.IsDir() }
func (i *info) Sys() any           { return nil }
func (i *info) String() string     { return fs.FormatFileInfo(i) }

// Chtimes is fsio.FS's.
func (t *Tree) Chtimes(name string, mtime time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, err := t.existing(name)
	if err == nil {
		err = t.volume.Chtimes(at.place(), mtime)
	}
	if err != nil {
		return pathError("chtimes", name, err)
	}
	at.node.touch(mtime)
	return nil
}

// SyncDir is fsio.FS's.
func (t *Tree) SyncDir(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, err := t.directory(dir)
	if err == nil {
		err = t.volume.SyncDir(at.place())
	}
	return pathError("syncdir", dir, err)
}
