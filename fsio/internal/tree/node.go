package tree

import (
	"io"
	"io/fs"
	"sync"
	"syscall"
	"time"
)

// node is an inode: a file, a directory, or something that is neither, of which only the type is known.
type node struct {
	inode  uint64
	mode   fs.FileMode
	origin string // where the Volume had it; empty: it is the Tree's

	// Guarded by Tree.mu.
	entries map[string]*node // of a directory; nil: not yet read from the Volume
	links   int
	users   int // open Files, Maps and locks
	locked  bool

	mu       sync.Mutex
	content  Content // of a file in use
	writable bool    // what content is
	size     int64
	mtime    time.Time
	maps     int
	windows  windows
}

// strange reports whether n is neither a file nor a directory.
func (n *node) strange() bool { return !n.mode.IsRegular() && !n.mode.IsDir() }

// touch sets the modification time.
func (n *node) touch(now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mtime = now
}

// setContent gives n its bytes, or better ones.
func (n *node) setContent(c Content, writable bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.content != nil {
		_ = n.content.Close() // it was open for reading only: nothing can be lost
	}
	n.content, n.writable = c, writable
}

// dropContent closes n's bytes.
func (n *node) dropContent() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.content == nil {
		return nil
	}
	c := n.content
	n.content = nil
	return c.Close()
}

// read fills as much of p as lies below the size. The caller holds n.mu.
func (n *node) read(p []byte, off int64) (int, error) {
	if off >= n.size {
		return 0, nil
	}
	p = p[:min(int64(len(p)), n.size-off)]
	if err := n.content.ReadAt(p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

// write writes p, not empty, at off. What lies past the largest size is left out, as by a system call. The
// caller holds n.mu.
func (n *node) write(p []byte, off int64, o *Options) (int, error) {
	fits := min(int64(len(p)), o.MaxSizeBytes-off)
	if fits <= 0 {
		return 0, syscall.EFBIG
	}
	done, err := n.content.WriteAt(p[:fits], off)
	if done > 0 {
		n.size = max(n.size, off+int64(done))
		n.mtime = o.Now()
		n.windows.put(p[:done], off)
	}
	switch {
	case err == nil && int64(done) < fits:
		err = io.ErrShortWrite
	case err == nil && done < len(p):
		err = syscall.EFBIG
	}
	return done, err
}

// truncate sets the size. The caller holds n.mu.
func (n *node) truncate(size int64, o *Options) error {
	if err := checkSize(size, o); err != nil {
		return err
	}
	if err := n.content.Truncate(size); err != nil {
		return err
	}
	n.windows.cut(size, n.size)
	n.size, n.mtime = size, o.Now()
	return nil
}

// allocate reserves [0, size). The caller holds n.mu.
func (n *node) allocate(size int64, o *Options) error {
	if err := checkSize(size, o); err != nil {
		return err
	}
	if err := n.content.Allocate(size); err != nil {
		return err
	}
	if size > n.size {
		n.size, n.mtime = size, o.Now()
	}
	return nil
}

// checkSize is nil where a file may have size bytes.
func checkSize(size int64, o *Options) error {
	if size > o.MaxSizeBytes {
		return syscall.EFBIG
	}
	return nil
}
