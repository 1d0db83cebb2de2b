package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stratalog/strata/fsio"
)

// place is a file or a directory that an argument names.
type place struct {
	path string // as it was given
	fsys *fsio.OSFS
	name string // in fsys: "." where the argument is a directory, which is fsys' root then
}

// openPlace opens what the argument path names: the directory itself, or that in which the file lies.
func openPlace(path string) (place, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return place{}, fmt.Errorf("%s does not exist", path)
	case err != nil:
		return place{}, err
	}
	at, dir := place{path: path, name: "."}, path
	if !info.IsDir() {
		dir, at.name = filepath.Split(filepath.Clean(path))
		dir = filepath.Clean(dir)
	}
	at.fsys, err = fsio.OS(dir)
	return at, err
}

// isDir reports whether the argument is a directory.
func (p place) isDir() bool { return p.name == "." }

// show is the name of the file name in it, as it is told: the argument, or a path that begins with it.
func (p place) show(name string) string {
	if !p.isDir() || name == "." {
		return p.path
	}
	return strings.TrimSuffix(filepath.ToSlash(p.path), "/") + "/" + name
}

// openFile is a file that is read, and its size when it was opened: what a broker appends meanwhile is left
// out.
type openFile struct {
	fsio.File
	fsys fsio.FS
	size int64
}

// openForReading opens the file name of fsys.
func openForReading(fsys fsio.FS, name string) (*openFile, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &openFile{f, fsys, size}, nil
}

// partitionName is what a directory's name tells of its partition; both are nil where it is not
// topic-partition.
type partitionName struct {
	topic *string
	id    *int32
}

// namePartition reads the name of the directory dir. Those that are being deleted, moved or are stray have a
// suffix, behind a dot, which does not count.
func namePartition(dir string) partitionName {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	base := filepath.Base(dir)
	for _, suffix := range []string{"-delete", "-future", "-stray"} {
		if dot := strings.LastIndexByte(base, '.'); dot >= 0 && strings.HasSuffix(base, suffix) {
			base = base[:dot]
		}
	}
	dash := strings.LastIndexByte(base, '-')
	if dash <= 0 {
		return partitionName{}
	}
	id, err := strconv.ParseInt(base[dash+1:], 10, 32)
	if err != nil || id < 0 {
		return partitionName{}
	}
	topic, number := base[:dash], int32(id)
	return partitionName{&topic, &number}
}

// namePartitionOf is the partition in whose directory the file lies.
func namePartitionOf(file string) partitionName {
	abs, err := filepath.Abs(file)
	if err != nil {
		return partitionName{}
	}
	return namePartition(filepath.Dir(abs))
}
