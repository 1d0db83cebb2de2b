package fsio

import (
	"io/fs"
	"path"
)

// entry is what ReadDir lists: the name and the type are those of the moment, Info asks again.
type entry struct {
	fs.DirEntry

	fsys FS
	dir  string
}

// entriesOf makes the sorted list of dir the entries of fsys: their Info is fsys' Stat.
func entriesOf(fsys FS, dir string, list []fs.DirEntry) []fs.DirEntry {
	entries := make([]entry, len(list))
	for i, e := range list {
		entries[i] = entry{DirEntry: e, fsys: fsys, dir: dir}
		list[i] = &entries[i]
	}
	return list
}

// Info is what Stat says now.
func (e *entry) Info() (fs.FileInfo, error) { return e.fsys.Stat(path.Join(e.dir, e.Name())) }

// String is fs.FormatDirEntry's.
func (e *entry) String() string { return fs.FormatDirEntry(e) }
