package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stratalog/strata/fsio"
)

// The largest files that are read. An offset checkpoint of a million partitions with the longest names has
// 280 MB, one of ordinary names 30 MB; the others are far below their limit.
const (
	maxOffsetsSize = 512 << 20
	maxEpochsSize  = 64 << 20
	maxTextSize    = 64 << 10
)

// ReadFile reads the file name as a whole. One of more than limit bytes is ErrCorrupt, and is not read.
func ReadFile(fsys fsio.FS, name string, limit int64) (data []byte, err error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, corrupt(name, limit, "%d bytes, more than such a file has", size)
	}
	data = make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) { // a file that was cut meanwhile is as long as it is
		return nil, err
	}
	return data[:n], nil
}

// corrupt is ErrCorrupt at a position of a file.
func corrupt(name string, pos int64, format string, args ...any) error {
	err := fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrCorrupt)
	return &fsio.PosError{Op: "read", Path: name, Pos: pos, Err: err}
}
