package tree

import (
	"io"
	"io/fs"
	"math"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/internal/names"
)

// Causes that more than one file names.
const (
	errNoSpace = syscall.ENOSPC
	errIO      = syscall.EIO
)

// Options are the choices of a Tree.
type Options struct {
	// Now is the clock of modification times; required.
	Now func() time.Time

	// PageBytes is the unit in which a Map that reaches past the file's end faults; 0 means 4096.
	PageBytes int64

	// MaxSizeBytes is the largest file; 0 means as large as an int64 counts, but for a page.
	MaxSizeBytes int64

	// Inodes is the highest number that the Volume has given to what it had before the Tree; 0 means 1, that
	// of the root.
	Inodes uint64

	// Windows has what is open, or mapped, refused as Windows does.
	Windows bool
}

// Tree is an in-memory directory tree over a Volume. It is an fsio.FS.
type Tree struct {
	volume Volume
	o      Options

	mu    sync.Mutex
	root  *node
	inode uint64 // the highest number given
}

var _ fsio.FS = (*Tree)(nil)

// New returns a Tree of what v has. The root has inode 1.
func New(v Volume, o Options) *Tree {
	if o.PageBytes == 0 {
		o.PageBytes = 4096
	}
	if o.MaxSizeBytes == 0 {
		o.MaxSizeBytes = math.MaxInt64 - o.PageBytes
	}
	t := &Tree{volume: v, o: o, inode: max(o.Inodes, 1)}
	t.root = &node{inode: 1, mode: fs.ModeDir | 0o755, links: 1, mtime: o.Now(), origin: "."}
	return t
}

// spot is what find found: a directory, a name in it, and what is there, or nil. The root has no directory.
type spot struct {
	dir     *node
	element string
	node    *node
	path    string
}

// place is s for the Volume.
func (s spot) place() Place {
	p := Place{Path: s.path, Element: s.element}
	if s.dir != nil {
		p.Dir = s.dir.inode
	}
	if s.node != nil {
		p.Inode, p.Origin = s.node.inode, s.node.origin
	}
	return p
}

// find walks to name. What is missing there is a nil node; what is missing on the way is fs.ErrNotExist.
func (t *Tree) find(name string) (spot, error) {
	if !names.Valid(name) {
		return spot{}, fsio.ErrBadName
	}
	at := spot{node: t.root, path: "."}
	if name == "." {
		return at, nil
	}
	for end := 0; end < len(name); end++ {
		if at.node == nil {
			return spot{}, fs.ErrNotExist
		}
		if !at.node.mode.IsDir() {
			return spot{}, syscall.ENOTDIR
		}
		if err := t.load(at); err != nil {
			return spot{}, err
		}
		element, _, _ := strings.Cut(name[end:], "/")
		end += len(element)
		at = spot{dir: at.node, element: element, node: at.node.entries[element], path: name[:end]}
		if at.node != nil && at.node.strange() {
			return spot{}, fsio.ErrNotRegular
		}
	}
	return at, nil
}

// existing is find where something must be there.
func (t *Tree) existing(name string) (spot, error) {
	at, err := t.find(name)
	if err == nil && at.node == nil {
		err = fs.ErrNotExist
	}
	return at, err
}

// directory is find where a directory must be there, and reads it.
func (t *Tree) directory(name string) (spot, error) {
	at, err := t.existing(name)
	if err == nil && !at.node.mode.IsDir() {
		err = syscall.ENOTDIR
	}
	if err == nil {
		err = t.load(at)
	}
	return at, err
}

// load fills the entries of a directory that the Volume had before.
func (t *Tree) load(at spot) error {
	if at.node.entries != nil {
		return nil
	}
	found, err := t.volume.Load(at.place())
	if err != nil {
		return err
	}
	entries := make(map[string]*node, len(found))
	for _, f := range found {
		n := &node{inode: f.Inode, mode: f.Mode, links: 1, size: f.Size, mtime: f.ModTime}
		n.origin = path.Join(at.node.origin, f.Element)
		if n.inode == 0 {
			n.inode = t.nextInode()
		}
		t.inode = max(t.inode, n.inode)
		entries[f.Element] = n
	}
	at.node.entries = entries
	return nil
}

// nextInode gives out a number.
func (t *Tree) nextInode() uint64 {
	t.inode++
	return t.inode
}

// link puts n under s, unlink takes away what is there.
func (t *Tree) link(s spot, n *node) {
	n.links++
	s.dir.entries[s.element] = n
	s.dir.touch(t.o.Now())
}

func (t *Tree) unlink(s spot) {
	delete(s.dir.entries, s.element)
	s.dir.touch(t.o.Now())
	s.node.links--
	t.forget(s.node)
}

// forget gives n's space back where nothing leads to it any more.
func (t *Tree) forget(n *node) {
	if n.links == 0 && n.users == 0 {
		t.volume.Forget(n.inode, n.origin)
	}
}

// use counts one user of the file at s, and opens its bytes for the first.
func (t *Tree) use(s spot, write bool) error {
	n := s.node
	if n.mode.IsRegular() && (n.content == nil || write && !n.writable) {
		c, writable, err := t.volume.Open(s.place(), write)
		if err != nil {
			return err
		}
		n.setContent(c, writable)
	}
	n.users++
	return nil
}

// release ends what use began.
func (t *Tree) release(n *node) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.releaseLocked(n)
}

func (t *Tree) releaseLocked(n *node) error {
	n.users--
	if n.users > 0 {
		return nil
	}
	err := n.dropContent()
	t.forget(n)
	return err
}

// Lock is fsio.FS's.
func (t *Tree) Lock(name string) (io.Closer, error) {
	l, err := t.lock(name)
	if err != nil {
		return nil, pathError("lock", name, err)
	}
	return l, nil
}
