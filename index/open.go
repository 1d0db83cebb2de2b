package index

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/stratalog/strata/fsio"
)

// Sizes of index files.
const (
	defaultMaxBytes = 10 << 20      // Kafka's segment.index.bytes
	maxFileBytes    = math.MaxInt32 // Kafka's sizes are int32
)

// reserve is the size of the file as long as it is appended to; 0 where nothing is reserved.
func (o Options) reserve() (int64, error) {
	maxBytes := o.MaxBytes
	if maxBytes == 0 {
		maxBytes = defaultMaxBytes
	}
	entry := int64(o.Layout.EntryBytes())
	switch {
	case !o.Layout.valid():
		return 0, fmt.Errorf("layout %+v: %w", o.Layout, ErrRange)
	case o.Base < 0:
		return 0, fmt.Errorf("base offset %d: %w", o.Base, ErrRange)
	case o.Sealed || o.ReadOnly:
		return 0, nil
	case maxBytes < entry || maxBytes > maxFileBytes:
		return 0, fmt.Errorf("size %d with entries of %d: %w", maxBytes, entry, ErrRange)
	}
	return maxBytes - maxBytes%entry, nil
}

// open is OpenMmap and OpenFile, which differ in back.
func open(fsys fsio.FS, name string, o Options, back newBacking) (Index, error) {
	reserve, err := o.reserve()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	flag := os.O_RDWR | os.O_CREATE
	if o.ReadOnly {
		flag = os.O_RDONLY
	}
	file, err := fsys.OpenFile(name, flag, 0o644)
	if err != nil {
		return nil, err
	}
	x, err := openTable(file, o, reserve, back)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return x, nil
}

// openTable checks what file holds before it reserves space: with ErrCorrupt nothing was changed.
func openTable(file fsio.File, o Options, reserve int64, back newBacking) (*table, error) {
	src, err := newSource(file, newFormat(o.Layout, o.Base))
	if err != nil {
		return nil, err
	}
	if err := src.check(o.Check, o.ReadOnly); err != nil {
		return nil, err
	}
	used, entry := src.used(), int64(src.entryBytes)
	x := &table{
		format:   src.format,
		file:     file,
		room:     reserve / entry,
		readOnly: o.ReadOnly,
		sealed:   o.Sealed || o.ReadOnly,
		longer:   reserve > used,
	}
	if src.n > 0 {
		if x.last, err = src.entry(src.n - 1); err != nil {
			return nil, err
		}
	}
	if used < reserve {
		if err := file.Allocate(reserve); err != nil {
			return nil, err
		}
	}
	prot := fsio.ReadWrite
	if x.sealed {
		prot = fsio.ReadOnly
	}
	pages, err := back(file, used, max(used, reserve), prot)
	if err != nil {
		return nil, errors.Join(err, x.cut(used)) // zeros behind the entries would be damage
	}
	x.publish(pages, int64(src.n))
	return x, nil
}
