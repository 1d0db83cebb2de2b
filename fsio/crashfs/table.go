package crashfs

import (
	"bytes"
	"maps"
	"slices"
	"sync/atomic"
)

// blockBytes is the unit in which tables are sparse and shared.
const blockBytes = 4096

// nearBlocks is how many blocks a table keeps in a slice: those of 256 MiB. A file with bytes far behind a
// hole keeps them in a map.
const nearBlocks = 1 << 16

// block is a part of a file's bytes.
type block [blockBytes]byte

var zeros block

// slot is a block, and the generation of the table that may change it.
type slot struct {
	block *block // nil is a hole
	gen   uint64
}

// table is the bytes of a file. Copies share blocks until one of them writes: an image costs what it
// changes, and a sparse index of 10 MiB costs its first block.
type table struct {
	near     []slot
	far      map[int64]slot
	gen      uint64 // slots of this generation are nobody else's
	borrowed bool   // near and far are somebody else's, too
}

// generations counts the tables that there were.
var generations atomic.Uint64

// fork is a copy of a table that never changes.
func (t table) fork() table {
	t.gen, t.borrowed = generations.Add(1), true
	return t
}

// share is a copy of t; both may change afterwards.
func (t *table) share() table {
	t.gen, t.borrowed = generations.Add(1), true
	return t.fork()
}

// at is the n-th block, or nil.
func (t *table) at(n int64) *block {
	if n < int64(len(t.near)) {
		return t.near[n].block
	}
	if n < nearBlocks {
		return nil
	}
	return t.far[n].block
}

// own is the n-th block, for writing.
func (t *table) own(n int64) *block {
	if t.borrowed {
		t.near, t.far, t.borrowed = slices.Clone(t.near), maps.Clone(t.far), false
	}
	s := slot{block: t.at(n)}
	switch {
	case s.block == nil:
		s.block = new(block)
	case t.genOf(n) == t.gen:
		return s.block
	default:
		fresh := *s.block
		s.block = &fresh
	}
	s.gen = t.gen
	t.put(n, s)
	return s.block
}

func (t *table) genOf(n int64) uint64 {
	if n < nearBlocks {
		return t.near[n].gen
	}
	return t.far[n].gen
}

func (t *table) put(n int64, s slot) {
	if n >= nearBlocks {
		if t.far == nil {
			t.far = map[int64]slot{}
		}
		t.far[n] = s
		return
	}
	for int64(len(t.near)) <= n {
		t.near = append(t.near, slot{})
	}
	t.near[n] = s
}

// read fills p from off, with zeros where nothing was written.
func (t *table) read(p []byte, off int64) {
	for len(p) > 0 {
		in := off % blockBytes
		n := min(int64(len(p)), blockBytes-in)
		if b := t.at(off / blockBytes); b != nil {
			copy(p[:n], b[in:])
		} else {
			clear(p[:n])
		}
		p, off = p[n:], off+n
	}
}

// write puts p at off.
func (t *table) write(p []byte, off int64) {
	for len(p) > 0 {
		n := copy(t.own(off / blockBytes)[off%blockBytes:], p)
		p, off = p[n:], off+int64(n)
	}
}

// cut makes all bytes from size on zeros.
func (t *table) cut(size int64) {
	if in := size % blockBytes; in != 0 {
		if b := t.at(size / blockBytes); b != nil && !bytes.Equal(b[in:], zeros[in:]) {
			clear(t.own(size / blockBytes)[in:])
		}
	}
	keep := (size + blockBytes - 1) / blockBytes
	if keep < int64(len(t.near)) {
		t.near = t.near[:keep:keep]
	}
	if len(t.far) > 0 {
		t.far = maps.Clone(t.far)
		maps.DeleteFunc(t.far, func(n int64, _ slot) bool { return n >= keep })
	}
}

// each calls f for each block with bytes that touches [from, to), in order.
func (t *table) each(from, to int64, f func(n int64, b *block)) {
	first, end := from/blockBytes, (to+blockBytes-1)/blockBytes
	for n := first; n < min(end, int64(len(t.near))); n++ {
		if b := t.near[n].block; b != nil {
			f(n, b)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(t.far)) {
		if n >= first && n < end {
			f(n, t.far[n].block)
		}
	}
}
