// Package tree is the part of an in-memory filesystem that has nothing to do with where bytes are kept:
// names, inodes, handles, mappings, locks, times, and every rule of fsio.FS, fsio.File and fsio.Map that
// can be checked before a byte is touched.
//
// A Tree is an fsio.FS. What it stands on is a Volume: the owner of the bytes, who is told of each change
// of the tree before it is made, and may refuse it. fsio/aferofs puts afero below it, fsio/crashfs a
// journal.
//
// # Locks
//
// Tree.mu guards the names: entries of directories, link counts, numbers of users, locks. A node's mu guards
// its bytes, size, time and windows, and whether the files open on it are closed. A mapping's gate is held for reading
// by the calls on it, for writing by Resize and Close. Order: gate, tree, node; never two nodes, and a
// Volume is called under the tree's lock, a Content under its node's. Neither may call back.
package tree
