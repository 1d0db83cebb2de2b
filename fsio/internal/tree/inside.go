package tree

import (
	"cmp"
	"slices"

	"github.com/stratalog/strata/fsio"
)

// What follows is for the owner of a Tree, and has no word in fsio.FS: a disk that fails changes what the
// Tree believes to know.

// Inode is the number of what is at name.
func (t *Tree) Inode(name string) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, err := t.existing(name)
	if err != nil {
		return 0, err
	}
	return at.node.inode, nil
}

// InodeOf is the number of f, a File of a Tree.
func InodeOf(f fsio.File) uint64 { return f.(*file).node.inode }

// Reread has change put other bytes into the Content of f, a File of a Tree, under the file's lock. change
// returns the size, and the first of the bytes that differ now.
func Reread(f fsio.File, change func() (size, from int64)) {
	n := f.(*file).node
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.size
	size, from := change()
	n.size = size
	for _, w := range n.windows {
		end := min(size, int64(len(w.b)))
		if from < end && n.content.ReadAt(w.b[from:end], from) != nil {
			clear(w.b[from:end]) // the Content is in memory: it does not fail
		}
	}
	n.windows.cut(size, was)
}

// Relist gives the directories that are its keys, inodes, other entries. What has a node keeps it; what has
// no name any more is forgotten when its last user is closed.
func (t *Tree) Relist(listings map[uint64][]Found) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := map[uint64]*node{}
	t.collect(t.root, known)
	var lost []*node
	for inode := range listings {
		if dir := known[inode]; dir != nil {
			for _, n := range dir.entries {
				n.links--
				lost = append(lost, n)
			}
		}
	}
	for inode, listing := range listings {
		if dir := known[inode]; dir != nil {
			dir.entries = t.relisted(listing, known)
		}
	}
	slices.SortFunc(lost, func(a, b *node) int { return cmp.Compare(a.inode, b.inode) })
	for _, n := range lost {
		t.forget(n)
	}
}

// collect finds all nodes below n.
func (t *Tree) collect(n *node, known map[uint64]*node) {
	known[n.inode] = n
	for _, child := range n.entries {
		t.collect(child, known)
	}
}

// relisted is a listing as nodes.
func (t *Tree) relisted(listing []Found, known map[uint64]*node) map[string]*node {
	entries := make(map[string]*node, len(listing))
	for _, f := range listing {
		n := known[f.Inode]
		if n == nil {
			n = &node{inode: f.Inode, mode: f.Mode, size: f.Size, mtime: f.ModTime}
			known[f.Inode] = n
		}
		n.links++
		entries[f.Element] = n
	}
	return entries
}
