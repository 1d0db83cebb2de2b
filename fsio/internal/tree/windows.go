package tree

import (
	"io/fs"

	"github.com/stratalog/strata/fsio"
)

// What Windows refuses, where Options ask for it: it removes and renames no file that is open, and cuts none
// that is mapped.

// busy is nil or why what is at s may not lose its name.
func (t *Tree) busy(s spot) error {
	if !t.o.Windows || s.node == nil {
		return nil
	}
	return s.node.busy()
}

func (n *node) busy() error {
	if n.mapped() > 0 {
		return fsio.ErrMapBusy
	}
	if n.users > 0 {
		return fs.ErrPermission
	}
	for _, child := range n.entries {
		if child.busy() != nil {
			return fs.ErrPermission
		}
	}
	return nil
}

// mapped is how many Maps n has.
func (n *node) mapped() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.maps
}

// pinned is nil, or fsio.ErrMapBusy where n has more Maps than own. The caller holds n.mu.
func (n *node) pinned(own int, o *Options) error {
	if o.Windows && n.maps > own {
		return fsio.ErrMapBusy
	}
	return nil
}
