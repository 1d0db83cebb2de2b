package trace

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// readArchive reads the files in a tar.gz, or nothing where there is none.
func readArchive(fsys fs.FS, name string) (map[string][]byte, error) {
	zipped, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	packed, err := unzip(name, zipped)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(packed)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, h.Name, err)
		}
	}
}
