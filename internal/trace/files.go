package trace

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/segment"
)

// File is a file as a listing has it.
type File struct {
	Name string
	Size int64
	CRC  string // CRC-32C in hex
}

// listing is the text of which a digest is the CRC.
func listing(files []File) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s\t%d\t%s\n", f.Name, f.Size, f.CRC)
	}
	return b.String()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the CRC-32C of b as traces have it.
func checksum(b []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli)) }

// isIndex reports whether a file is an offset or a time index, of a segment in whatever state.
func isIndex(name string) bool {
	_, ext, _, ok := segment.ParseFileName(name)
	return ok && (ext == segment.IndexExt || ext == segment.TimeIndexExt)
}

// withoutIndexes are the files but the offset and the time indexes.
func withoutIndexes(files []File) []File {
	return slices.DeleteFunc(slices.Clone(files), func(f File) bool { return isIndex(f.Name) })
}

// digests are those of all files, and of all but the indexes.
func digests(files []File) (data, dir string) {
	return checksum([]byte(listing(withoutIndexes(files)))), checksum([]byte(listing(files)))
}

// names are those of the regular files in the directory dir, rising.
func names(fsys fsio.FS, dir string) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			all = append(all, e.Name())
		}
	}
	slices.SortFunc(all, cmp.Compare[string])
	return all, nil
}

// readFile reads a file.
func readFile(fsys fsio.FS, name string) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	b := make([]byte, size)
	if err == nil {
		_, err = io.ReadFull(io.NewSectionReader(f, 0, size), b)
	}
	return b, errors.Join(err, f.Close())
}

// change opens a file, making it where flag says so, and calls do.
func change(fsys fsio.FS, name string, flag int, do func(f fsio.File) error) error {
	f, err := fsys.OpenFile(name, os.O_RDWR|flag, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(do(f), f.Close())
}

// writeFile gives a file new content.
func writeFile(fsys fsio.FS, name string, b []byte) error {
	return change(fsys, name, os.O_CREATE|os.O_TRUNC, func(f fsio.File) error {
		_, err := f.WriteAt(b, 0)
		return err
	})
}

// copyDir copies the files of a directory, with their times, and each .log file as long as size says.
func copyDir(fsys fsio.FS, from, to string, size func(name string, actual int64) int64) error {
	if err := fsys.MkdirAll(to, 0o755); err != nil {
		return err
	}
	all, err := names(fsys, from)
	if err != nil {
		return err
	}
	for _, name := range all {
		info, err := fsys.Stat(path.Join(from, name))
		if err != nil {
			return err
		}
		b, err := readFile(fsys, path.Join(from, name))
		if err != nil {
			return err
		}
		if err := writeFile(fsys, path.Join(to, name), b[:size(name, info.Size())]); err != nil {
			return err
		}
		if err := fsys.Chtimes(path.Join(to, name), info.ModTime()); err != nil {
			return err
		}
	}
	return nil
}

// removeDir removes a directory of files.
func removeDir(fsys fsio.FS, dir string) error {
	all, err := names(fsys, dir)
	if err != nil {
		return err
	}
	for _, name := range all {
		if err := fsys.Remove(path.Join(dir, name)); err != nil {
			return err
		}
	}
	return fsys.Remove(dir)
}
