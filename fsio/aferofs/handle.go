package aferofs

import (
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/afero"

	"github.com/stratalog/strata/fsio"
)

// handle is an open file, or a directory, with a cursor.
type handle struct {
	fs      *aferoFS
	name    string // as the caller gave it
	own     string // as fsio spells it
	mode    int    // os.O_RDONLY, os.O_WRONLY or os.O_RDWR
	appends bool
	file    fsio.File // nil: a directory

	mu      sync.Mutex
	cursor  int64
	entries []fs.DirEntry // of a directory, what Readdir has not given yet
	listed  bool
	closed  bool
}

var _ afero.File = (*handle)(nil)

// Name is afero.File's.
func (h *handle) Name() string { return h.name }

func (h *handle) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: h.name, Err: err}
}

// Close is afero.File's, and os.File's: a second one is fs.ErrClosed.
func (h *handle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return h.fail("close", fs.ErrClosed)
	}
	h.closed = true
	if h.file == nil {
		return nil
	}
	return named(h.file.Close(), h.name)
}

// usable is nil where h is an open file, opened with some other mode than not.
func (h *handle) usable(op string, not int) error {
	switch {
	case h.file == nil:
		return h.fail(op, syscall.EISDIR)
	case h.mode == not:
		return h.fail(op, syscall.EBADF)
	}
	return nil
}

// Read is afero.File's.
func (h *handle) Read(p []byte) (int, error) {
	if err := h.usable("read", os.O_WRONLY); err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n, err := h.file.ReadAt(p, h.cursor)
	h.cursor += int64(n)
	if err == io.EOF && n > 0 { //nolint:errorlint // it comes unwrapped
		err = nil
	}
	return n, named(err, h.name)
}

// ReadAt is afero.File's.
func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	if err := h.usable("read", os.O_WRONLY); err != nil {
		return 0, err
	}
	n, err := h.file.ReadAt(p, off)
	return n, named(err, h.name)
}

// Write is afero.File's.
func (h *handle) Write(p []byte) (int, error) {
	if err := h.usable("write", os.O_RDONLY); err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.appends {
		return h.append(p)
	}
	h.fs.ends.RLock()
	defer h.fs.ends.RUnlock()
	return h.advance(p)
}

// append writes p at the end that is there now.
func (h *handle) append(p []byte) (int, error) {
	h.fs.ends.Lock()
	defer h.fs.ends.Unlock()
	end, err := h.file.Size()
	if err != nil {
		return 0, named(err, h.name)
	}
	h.cursor = end
	return h.advance(p)
}

// advance writes p at the cursor.
func (h *handle) advance(p []byte) (int, error) {
	n, err := h.file.WriteAt(p, h.cursor)
	h.cursor += int64(n)
	return n, named(err, h.name)
}

// WriteString is afero.File's.
func (h *handle) WriteString(s string) (int, error) { return h.Write([]byte(s)) }

// WriteAt is afero.File's. As os.File, it refuses a handle that appends.
func (h *handle) WriteAt(p []byte, off int64) (int, error) {
	if err := h.usable("write", os.O_RDONLY); err != nil {
		return 0, err
	}
	if h.appends {
		return 0, h.fail("write", fs.ErrInvalid)
	}
	h.fs.ends.RLock()
	defer h.fs.ends.RUnlock()
	n, err := h.file.WriteAt(p, off)
	return n, named(err, h.name)
}

// Truncate is afero.File's.
func (h *handle) Truncate(size int64) error {
	if err := h.usable("truncate", os.O_RDONLY); err != nil {
		return err
	}
	h.fs.ends.RLock()
	defer h.fs.ends.RUnlock()
	return named(h.file.Truncate(size), h.name)
}

// Seek is afero.File's.
func (h *handle) Seek(offset int64, whence int) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return h.rewind(offset, whence)
	}
	size, err := h.file.Size()
	if err != nil {
		return 0, named(err, h.name)
	}
	base, ok := map[int]int64{io.SeekStart: 0, io.SeekCurrent: h.cursor, io.SeekEnd: size}[whence]
	if !ok || base+offset < 0 {
		return 0, h.fail("seek", fs.ErrInvalid)
	}
	h.cursor = base + offset
	return h.cursor, nil
}

// rewind is Seek of a directory, which can begin anew only.
func (h *handle) rewind(offset int64, whence int) (int64, error) {
	if h.closed {
		return 0, h.fail("seek", fs.ErrClosed)
	}
	if offset != 0 || whence != io.SeekStart {
		return 0, h.fail("seek", fs.ErrInvalid)
	}
	h.entries, h.listed = nil, false
	return 0, nil
}

// Sync is afero.File's: of a directory it is SyncDir.
func (h *handle) Sync() error {
	if h.file != nil {
		return named(h.file.Sync(), h.name)
	}
	if err := h.open("sync"); err != nil {
		return err
	}
	return named(h.fs.fsys.SyncDir(h.own), h.name)
}

// open is nil where h is not closed. Of a file fsio knows by itself.
func (h *handle) open(op string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return h.fail(op, fs.ErrClosed)
	}
	return nil
}

// Stat is afero.File's. The size is the open file's; mode and time are what its name has, and of a file
// that has lost its name they are not known.
func (h *handle) Stat() (os.FileInfo, error) {
	if err := h.open("stat"); err != nil {
		return nil, err
	}
	info, err := h.fs.fsys.Stat(h.own)
	if h.file == nil {
		return info, named(err, h.name)
	}
	size, err := h.file.Size()
	if err != nil {
		return nil, named(err, h.name)
	}
	s := &handleInfo{name: path.Base(h.own), size: size}
	if info != nil {
		s.mode, s.mtime = info.Mode().Perm(), info.ModTime()
	}
	return s, nil
}

// handleInfo describes an open file.
type handleInfo struct {
	name  string
	size  int64
	mode  fs.FileMode
	mtime time.Time
}

func (i *handleInfo) Name() string       { return i.name }
func (i *handleInfo) Size() int64        { return i.size }
func (i *handleInfo) Mode() fs.FileMode  { return i.mode }
func (i *handleInfo) ModTime() time.Time { return i.mtime }
func (i *handleInfo) IsDir() bool        { return false }
func (i *handleInfo) Sys() any           { return nil }

// Readdir is afero.File's.
func (h *handle) Readdir(count int) ([]os.FileInfo, error) {
	entries, err := h.next(count)
	infos := make([]os.FileInfo, 0, len(entries))
	for _, e := range entries {
		info, infoErr := e.Info()
		if infoErr != nil { // it went meanwhile, or is no file: as package os, leave it out
			continue
		}
		infos = append(infos, info)
	}
	return infos, err
}

// Readdirnames is afero.File's.
func (h *handle) Readdirnames(count int) ([]string, error) {
	entries, err := h.next(count)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, path.Base(e.Name()))
	}
	return names, err
}

// next gives the next count entries of a directory, all that are left where count is not positive.
func (h *handle) next(count int) ([]fs.DirEntry, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, h.fail("readdir", fs.ErrClosed)
	case h.file != nil:
		return nil, h.fail("readdir", syscall.ENOTDIR)
	}
	if !h.listed {
		entries, err := h.fs.fsys.ReadDir(h.own)
		if err != nil {
			return nil, named(err, h.name)
		}
		h.entries, h.listed = entries, true
	}
	if count > 0 && len(h.entries) == 0 {
		return nil, io.EOF
	}
	n := len(h.entries)
	if count > 0 {
		n = min(n, count)
	}
	batch := h.entries[:n]
	h.entries = h.entries[n:]
	return batch, nil
}
