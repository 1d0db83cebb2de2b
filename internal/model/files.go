package model

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/stratalog/strata/fsio"
)

// copyDir copies the files of a directory.
func copyDir(fsys fsio.FS, from, to string) error {
	if err := fsys.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := fsys.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyFile(fsys, path.Join(from, e.Name()), path.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies a file.
func copyFile(fsys fsio.FS, from, to string) error {
	in, err := fsys.OpenFile(from, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	size, err := in.Size()
	b := make([]byte, size)
	if err == nil && size > 0 {
		_, err = in.ReadAt(b, 0)
	}
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	out, err := fsys.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = out.WriteAt(b, 0)
	return errors.Join(err, out.Close())
}

// removeTree removes a directory with all that is in it.
func removeTree(fsys fsio.FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			err = errors.Join(err, removeTree(fsys, name))
		} else {
			err = errors.Join(err, fsys.Remove(name))
		}
	}
	return errors.Join(err, fsys.Remove(dir))
}
