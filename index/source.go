package index

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sort"

	"github.com/stratalog/strata/fsio"
)

// Entries yields all entries of the index file name as they lie there, for tools that show a file. Nothing
// is checked, and reserved space is entries of zeros: Key is base where it is relative, otherwise 0, and so
// is Value.
//
// It opens the file for reading only. An error is yielded last, without an Entry. A part of an entry at the
// end is ErrCorrupt.
func Entries(fsys fsio.FS, name string, l Layout, base int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := yieldEntries(fsys, name, Options{Layout: l, Base: base, ReadOnly: true}, yield); err != nil {
			yield(Entry{}, err)
		}
	}
}

// yieldEntries returns the error that is to be yielded last.
func yieldEntries(fsys fsio.FS, name string, o Options, yield func(Entry, error) bool) error {
	if _, err := o.reserve(); err != nil {
		return err
	}
	file, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // nothing was written
	src, partial := newSource(file, newFormat(o.Layout, o.Base))
	for e, err := range src.entries() {
		if err != nil {
			return err
		}
		if !yield(e, nil) {
			return nil
		}
	}
	return partial
}

// source is an index file that is looked at before it is trusted.
type source struct {
	format
	file fsio.File
	n    int // entries; check takes reserved space off
}

// newSource counts the entries of file. With an error about its size, the source has the whole entries.
func newSource(file fsio.File, f format) (*source, error) {
	s := &source{format: f, file: file}
	size, err := file.Size()
	if err != nil {
		return s, err
	}
	if size > maxFileBytes {
		return s, s.corrupt(0, fmt.Errorf("size %d is above %d: %w", size, int64(maxFileBytes), ErrCorrupt))
	}
	s.n = int(size) / s.entryBytes
	if part := int(size) % s.entryBytes; part != 0 {
		return s, s.corrupt(s.n, fmt.Errorf("%d bytes of an entry of %d: %w", part, s.entryBytes, ErrCorrupt))
	}
	return s, nil
}

// used is the size of the entries.
func (s *source) used() int64 { return int64(s.n) * int64(s.entryBytes) }

// corrupt places err at entry i.
func (s *source) corrupt(i int, err error) error {
	return &fsio.PosError{Op: "check", Path: s.file.Name(), Pos: int64(i) * int64(s.entryBytes), Err: err}
}

// entry reads entry i.
func (s *source) entry(i int) (Entry, error) {
	var b [16]byte
	if err := s.read(b[:s.entryBytes], i); err != nil {
		return Entry{}, err
	}
	return s.decode(b[:]), nil
}

// read fills b with the entries from i on.
func (s *source) read(b []byte, i int) error {
	_, err := s.file.ReadAt(b, int64(i)*int64(s.entryBytes))
	if errors.Is(err, io.EOF) { // a broker has cut the file meanwhile
		return s.corrupt(i, fmt.Errorf("file became shorter: %w", ErrCorrupt))
	}
	return err
}

// entries yields all entries, read in pieces.
func (s *source) entries() iter.Seq2[Entry, error] {
	const pieceBytes = 64 << 10
	return func(yield func(Entry, error) bool) {
		buf := make([]byte, min(s.n, pieceBytes/s.entryBytes)*s.entryBytes)
		for i := 0; i < s.n; {
			piece := buf[:min(len(buf), (s.n-i)*s.entryBytes)]
			if err := s.read(piece, i); err != nil {
				yield(Entry{}, err)
				return
			}
			for ; len(piece) > 0; piece = piece[s.entryBytes:] {
				if !yield(s.decode(piece), nil) {
					return
				}
				i++
			}
		}
	}
}

// zero is what reserved space reads as.
func (s *source) zero() Entry { return Entry{Key: s.key.base, Value: s.value.base} }

// check looks at every entry or at the last. With tail, a tail of zeros is taken off and no damage.
func (s *source) check(every, tail bool) error {
	if every {
		return s.checkEvery(tail)
	}
	if tail {
		if err := s.skipTail(); err != nil {
			return err
		}
	}
	return s.checkLast()
}

// checkLast looks at the last entry, and at the first to compare.
func (s *source) checkLast() error {
	if s.n == 0 {
		return nil
	}
	last, err := s.entry(s.n - 1)
	if err != nil {
		return err
	}
	var first *Entry
	if s.n > 1 {
		e, err := s.entry(0)
		if err != nil {
			return err
		}
		first = &e
	}
	return s.damage(s.n-1, s.follows(first, last))
}

// damage is what open says of an entry that cannot be where it is.
func (s *source) damage(i int, why error) error {
	if why == nil {
		return nil
	}
	return s.corrupt(i, fmt.Errorf("entry %d: %w: %w", i, why, ErrCorrupt))
}

// checkEvery looks at every entry.
func (s *source) checkEvery(tail bool) error {
	var last Entry
	var before *Entry // &last, once there is one
	i, zeros := 0, -1 // zeros is where the tail begins
	for e, err := range s.entries() {
		switch {
		case err != nil:
			return err
		case zeros >= 0 && e != s.zero():
			return s.corrupt(zeros, fmt.Errorf("entry %d: zeros before entry %d: %w", zeros, i, ErrCorrupt))
		case zeros < 0 && tail && i > 0 && e == s.zero():
			zeros = i
		case zeros < 0:
			if err := s.damage(i, s.follows(before, e)); err != nil {
				return err
			}
		}
		if zeros < 0 {
			last, before = e, &last
		}
		i++
	}
	if zeros >= 0 {
		s.cutTail(zeros, last)
	}
	return nil
}

// skipTail finds by binary search where a tail of zeros begins.
func (s *source) skipTail() error {
	var failed error
	zero := func(i int) bool {
		e, err := s.entry(i)
		failed = errors.Join(failed, err)
		return e == s.zero()
	}
	if s.n < 2 || !zero(s.n-1) {
		return failed
	}
	n := 1 + sort.Search(s.n-1, func(i int) bool { return zero(i + 1) })
	first, err := s.entry(0)
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	s.cutTail(n, first)
	return nil
}

// cutTail takes off the tail that begins at entry n, and the entry before it, where that is the first and
// zeros, too.
func (s *source) cutTail(n int, before Entry) {
	if n == 1 && before == s.zero() {
		n = 0
	}
	s.n = n
}
