package segment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

const (
	// maxSetBytes is the largest set: positions in an index are int32.
	maxSetBytes = math.MaxInt32

	// pieceBytes is what one write of a large append carries.
	pieceBytes = 1 << 20

	// filePerm is the permissions of a segment's files, before umask.
	filePerm = 0o644
)

// fileSet is a MessageSet that is read through its File, and written through it or through a mapping.
type fileSet struct {
	file   fsio.File
	size   atomic.Int64 // what readers have
	closed atomic.Bool
	left   atomic.Bool // Abandon was called

	// The appender's.
	sealed  bool
	length  int64    // of the file, with the space that is reserved
	mapped  fsio.Map // nil where it is written through the File
	reserve int64    // what is to be mapped

	mu     sync.Mutex // guards broken
	broken error      // why nothing may be appended or synced any more
}

var (
	_ MessageSet      = (*fileSet)(nil)
	_ index.Abandoner = (*fileSet)(nil)
)

// OpenFile opens a set that is read and written through its File. It is the default.
func OpenFile(fsys fsio.FS, name string, o SetOptions) (MessageSet, error) {
	return openFileSet(fsys, name, o)
}

func openFileSet(fsys fsio.FS, name string, o SetOptions) (*fileSet, error) {
	file, fresh, err := openSetFile(fsys, name, o.ReadOnly)
	if err != nil {
		return nil, err
	}
	size, err := setSize(file)
	s := &fileSet{file: file, sealed: o.Sealed || o.ReadOnly, length: size}
	s.size.Store(size)
	if err == nil && fresh && !o.Sealed && o.PreallocateBytes > 0 {
		err = file.Allocate(o.PreallocateBytes)
		s.length = o.PreallocateBytes
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

// openSetFile opens the file of a set; fresh says that it was made.
func openSetFile(fsys fsio.FS, name string, readOnly bool) (file fsio.File, fresh bool, err error) {
	if readOnly {
		file, err = fsys.OpenFile(name, os.O_RDONLY, 0)
		return file, false, err
	}
	file, err = fsys.OpenFile(name, os.O_RDWR, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, false, err
	}
	file, err = fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, filePerm)
	return file, true, err
}

// setSize is the size of file, if a set can have it.
func setSize(file fsio.File) (int64, error) {
	size, err := file.Size()
	if err == nil && size > maxSetBytes {
		err = &fsio.PosError{Op: "open", Path: file.Name(), Pos: size, Err: ErrOverflow}
	}
	return size, err
}

func (s *fileSet) ReadAt(p []byte, pos int64) (int, error) {
	switch size := s.size.Load(); {
	case s.closed.Load():
		return 0, fs.ErrClosed
	case pos < 0:
		return 0, fs.ErrInvalid
	case len(p) == 0:
		return 0, nil
	case pos >= size:
		return 0, io.EOF
	case int64(len(p)) <= size-pos:
		return s.file.ReadAt(p, pos)
	default:
		n, err := s.file.ReadAt(p[:size-pos], pos)
		if err == nil {
			err = io.EOF
		}
		return n, err
	}
}

func (s *fileSet) CopyTo(w io.Writer, pos, n int64) (int64, error) {
	if s.closed.Load() {
		return 0, fs.ErrClosed
	}
	if pos < 0 || n < 0 {
		return 0, fs.ErrInvalid
	}
	there := max(0, min(n, s.size.Load()-pos))
	copied, err := s.file.CopyTo(w, pos, there)
	if err == nil && copied < n {
		err = io.ErrUnexpectedEOF
	}
	return copied, err
}

func (s *fileSet) Size() int64 { return s.size.Load() }

func (s *fileSet) Append(batches []byte) (pos int64, err error) {
	pos = s.size.Load()
	switch cause := s.cause(); {
	case s.closed.Load() || s.sealed:
		return 0, fs.ErrClosed
	case cause != nil:
		return 0, cause
	case int64(len(batches)) > maxSetBytes-pos:
		return 0, ErrOverflow
	}
	write := s.write
	if s.mapped != nil {
		write = s.store
	}
	if err := write(batches, pos); err != nil {
		return 0, s.cutBack(pos, err)
	}
	s.length = max(s.length, pos+int64(len(batches)))
	s.size.Store(pos + int64(len(batches)))
	return pos, nil
}

// write writes b at pos, what is large in pieces.
func (s *fileSet) write(b []byte, pos int64) error {
	for len(b) > 0 {
		piece := b[:min(len(b), pieceBytes)]
		if _, err := s.file.WriteAt(piece, pos); err != nil {
			return err
		}
		b, pos = b[len(piece):], pos+int64(len(piece))
	}
	return nil
}

// cutBack takes away what a failed write left behind size, if it failed for want of room. After any other
// failure nobody knows what the disk has, and the set is broken.
func (s *fileSet) cutBack(size int64, cause error) error {
	if !fsio.NoRoom(cause) {
		return s.fail(cause)
	}
	if err := s.resize(size); err != nil {
		return s.fail(errors.Join(cause, err))
	}
	return cause
}

// resize cuts the file.
func (s *fileSet) resize(size int64) error {
	resize := s.file.Truncate
	if s.mapped != nil {
		resize = s.mapped.Resize
	}
	if err := resize(size); err != nil {
		return err
	}
	s.length = size
	return nil
}

func (s *fileSet) Truncate(size int64) error {
	was := s.size.Load()
	switch {
	case s.closed.Load():
		return fs.ErrClosed
	case size < 0 || size > was:
		return ErrRange
	case size == s.length: // a call to the system would change the modification time (KAFKA-3802)
		return nil
	}
	s.size.Store(size)
	if err := s.resize(size); err != nil {
		s.size.Store(was)
		return s.fail(err)
	}
	return nil
}

func (s *fileSet) Seal() error {
	if s.closed.Load() {
		return fs.ErrClosed
	}
	if s.sealed {
		return nil
	}
	if err := s.giveBack(); err != nil {
		return err
	}
	s.sealed = true
	return nil
}

// Abandon is index.Abandoner's.
func (s *fileSet) Abandon() { s.left.Store(true) }

// giveBack cuts the file to its batches, and unmaps it. Of a broken or abandoned set the file is left as it is.
func (s *fileSet) giveBack() error {
	var err error
	if size := s.size.Load(); s.length != size && s.cause() == nil && !s.left.Load() {
		if err = s.resize(size); err != nil {
			err = s.fail(err)
		}
	}
	if s.mapped != nil {
		err = errors.Join(err, s.mapped.Close())
		s.mapped = nil
	}
	return err
}

func (s *fileSet) Sync() error {
	if s.closed.Load() {
		return fs.ErrClosed
	}
	if cause := s.cause(); cause != nil {
		return cause
	}
	if err := s.file.Sync(); err != nil {
		return s.fail(err)
	}
	return nil
}

func (s *fileSet) Close() error {
	if s.closed.Load() {
		return nil
	}
	var err error
	if !s.sealed {
		err = s.giveBack()
	}
	s.closed.Store(true)
	s.size.Store(0)
	return errors.Join(err, s.file.Close())
}

// cause is why the set is broken, or nil.
func (s *fileSet) cause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// fail breaks the set, if it is not broken yet, and returns why it is.
func (s *fileSet) fail(cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = fmt.Errorf("%w: %w", ErrBroken, cause)
	}
	return s.broken
}
