package aferofs

import (
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/spf13/afero"

	"github.com/stratalog/strata/fsio/internal/tree"
)

// blockBytes is the unit in which files in memory are sparse.
const blockBytes = 4096

// blockFile is the bytes of a file in memory, in one file of a MemMapFs.
//
// MemMapFs has no holes, and moves all that lies behind a write. So the file there has a block where a
// block was written, in the order of the first writes, and a table says which is where: setting a size
// costs nothing, and files that grow at their end are written at their end.
type blockFile struct {
	base *afero.MemMapFs
	name string
	file afero.File

	table  map[int64]int64 // which block of file has the file's n-th
	free   []int64         // blocks of file that are nobody's, with stale bytes
	blocks int64           // blocks of file
	peak   int64           // the most that it had: MemMapFs keeps their memory
}

var _ tree.Content = (*blockFile)(nil)

func newBlockFile(base *afero.MemMapFs, name string, file afero.File) *blockFile {
	return &blockFile{base: base, name: name, file: file, table: map[int64]int64{}}
}

// adoptBlockFile makes a blockFile of a file that has bytes already, in their natural order.
func adoptBlockFile(base *afero.MemMapFs, name string, file afero.File) (*blockFile, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	f := newBlockFile(base, name, file)
	for f.blocks*blockBytes < info.Size() {
		f.append(f.blocks)
	}
	return f, nil
}

// append gives the file's n-th block the next one of file.
func (f *blockFile) append(n int64) {
	f.table[n] = f.blocks
	f.blocks++
	f.peak = max(f.peak, f.blocks)
}

// ReadAt is tree.Content's.
func (f *blockFile) ReadAt(p []byte, off int64) error {
	for len(p) > 0 {
		pos, n := f.run(off, int64(len(p)))
		if err := f.readRun(p[:n], pos); err != nil {
			return err
		}
		p, off = p[n:], off+n
	}
	return nil
}

// run says where in file the bytes from off lie, or -1 in a hole, and how many, up to limit, lie in one
// piece.
func (f *blockFile) run(off, limit int64) (pos, n int64) {
	first, ok := f.table[off/blockBytes]
	n = blockBytes - off%blockBytes
	for next := off/blockBytes + 1; n < limit; next++ {
		block, mapped := f.table[next]
		if mapped != ok || mapped && block != first+next-off/blockBytes {
			break
		}
		n += blockBytes
	}
	if !ok {
		return -1, min(n, limit)
	}
	return first*blockBytes + off%blockBytes, min(n, limit)
}

// readRun fills p from pos of file. Its last block may not be all there: the rest is zeros.
func (f *blockFile) readRun(p []byte, pos int64) error {
	if pos < 0 {
		clear(p)
		return nil
	}
	n, err := f.file.ReadAt(p, pos)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	clear(p[n:])
	return nil
}

// WriteAt is tree.Content's.
func (f *blockFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fill(off/blockBytes, (off+int64(len(p))-1)/blockBytes); err != nil {
		return 0, err
	}
	done := 0
	for done < len(p) {
		pos, n := f.run(off+int64(done), int64(len(p)-done))
		wrote, err := f.file.WriteAt(p[done:done+int(n)], pos)
		done += wrote
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// fill gives each of the file's blocks from first to last one of file.
func (f *blockFile) fill(first, last int64) error {
	for n := first; n <= last; n++ {
		if _, ok := f.table[n]; ok {
			continue
		}
		if len(f.free) == 0 {
			f.append(n)
			continue
		}
		block := f.free[len(f.free)-1]
		if _, err := f.file.WriteAt(make([]byte, blockBytes), block*blockBytes); err != nil {
			return err
		}
		f.free = f.free[:len(f.free)-1]
		f.table[n] = block
	}
	return nil
}

// Store is tree.Content's.
func (f *blockFile) Store(p []byte, off int64) (int, error) { return f.WriteAt(p, off) }

// Truncate is tree.Content's.
func (f *blockFile) Truncate(size int64) error {
	end := (size + blockBytes - 1) / blockBytes
	for n, block := range f.table {
		if n >= end {
			delete(f.table, n)
			f.free = append(f.free, block)
		}
	}
	tidy := f.trim
	if 2*int64(len(f.table)) < f.peak {
		tidy = f.compact
	}
	if err := tidy(); err != nil {
		return err
	}
	return f.cutBlock(size)
}

// trim gives back the free blocks at the end of file.
func (f *blockFile) trim() error {
	slices.Sort(f.free)
	for n := len(f.free); n > 0 && f.free[n-1] == f.blocks-1; n-- {
		f.free = f.free[:n-1]
		f.blocks--
	}
	return f.shorten(f.blocks * blockBytes)
}

// cutBlock clears the block in which size lies from there on. Where it is the last one of file, it is
// shortened instead, so that a file written in order is the same in base.
func (f *blockFile) cutBlock(size int64) error {
	block, ok := f.table[size/blockBytes]
	if !ok || size%blockBytes == 0 {
		return nil
	}
	pos := block*blockBytes + size%blockBytes
	if block == f.blocks-1 {
		return f.shorten(pos)
	}
	_, err := f.file.WriteAt(make([]byte, blockBytes-size%blockBytes), pos)
	return err
}

// shorten cuts file to at most size.
func (f *blockFile) shorten(size int64) error {
	info, err := f.file.Stat()
	if err != nil || info.Size() <= size {
		return err
	}
	return f.file.Truncate(size)
}

// compact writes the blocks that are left into a new file of the same name: a MemMapFs gives nothing back
// when a file is cut.
func (f *blockFile) compact() error {
	file, err := f.base.Create(f.name)
	if err != nil {
		return err
	}
	fresh := newBlockFile(f.base, f.name, file)
	buf := make([]byte, blockBytes)
	for _, n := range slices.Sorted(maps.Keys(f.table)) {
		if err := f.ReadAt(buf, n*blockBytes); err != nil {
			return err
		}
		if _, err := fresh.WriteAt(buf, n*blockBytes); err != nil {
			return err
		}
	}
	err = f.file.Close()
	*f = *fresh
	return err
}

// Allocate is tree.Content's. Memory is there or the process ends.
func (f *blockFile) Allocate(int64) error { return nil }

// Sync is tree.Content's.
func (f *blockFile) Sync() error { return nil }

// Flush is tree.Content's.
func (f *blockFile) Flush(int64, int64) error { return nil }

// Close is tree.Content's. The file stays open until its inode is forgotten.
func (f *blockFile) Close() error { return nil }
