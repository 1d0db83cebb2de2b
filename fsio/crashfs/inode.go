package crashfs

import (
	"cmp"
	"io/fs"
	"slices"
	"time"
)

// inode is a file in the model: what the disk has of it for certain, and what is pending.
type inode struct {
	number uint64
	name   string // the last one it had, for people
	mode   fs.FileMode
	owned  extents
	mtime  time.Time // the latest
	older  time.Time // one before it

	table table  // durable
	size  int64  // durable
	sized uint64 // the step at which size was set, where effects of that time are still pending
	sum   uint64

	effects []effect
	sizes   []size
	sectors []*sector // with pending effects, by number
	gone    bool      // no image can have it under a name
	plan    int       // its place in the plan that is being made, or -1
}

// effect is a pending change of bytes: data at off, or zeros to the end where a file was cut.
type effect struct {
	step  uint64
	off   int64
	data  []byte
	cut   bool
	store bool // by a Map
	done  bool // a Flush covered it
}

// end is the end of what e wrote.
func (e *effect) end() int64 { return e.off + int64(len(e.data)) }

// size is a pending change of the size.
type size struct {
	step  uint64
	size  int64
	write bool // by a write past the end; otherwise it was asked for
}

// sector is the part of a file that a disk writes as a whole.
type sector struct {
	number   int64
	effects  []int32   // of its file's effects those that touch it
	cuts     bool      // among them is a cut
	versions []version // its content after the first n of them, as far as it was asked for
}

// version is a content of a sector.
type version struct {
	bytes []byte
	sum   uint64
}

// latest is the size now.
func (f *inode) latest() int64 {
	if len(f.sizes) > 0 {
		return f.sizes[len(f.sizes)-1].size
	}
	return f.size
}

// pending reports whether a crash may lose something of f's bytes or size.
func (f *inode) pending() bool { return len(f.sectors) > 0 || len(f.sizes) > 0 }

// write adds an effect.
func (f *inode) write(e effect, unit int64) {
	f.effects = append(f.effects, e)
	for n := e.off / unit; n*unit < e.end(); n++ {
		f.touch(n)
	}
	if e.end() > f.latest() {
		f.grow(e.step, e.end())
	}
}

// mostPages is how many sizes of a long write are tried.
const mostPages = 16

// grow adds the sizes that a write past the end may leave: its own, and the ends of the last pages before it.
// A kernel writes page by page, and sets the size on the disk as it goes (seen on ext4: an append of 8 bytes
// across a page left the file at the page's end).
func (f *inode) grow(step uint64, end int64) {
	const page = 4096
	for at := max(f.latest()/page+1, (end-1)/page-mostPages+1) * page; at < end; at += page {
		f.sizes = append(f.sizes, size{step: step, size: at, write: true})
	}
	f.sizes = append(f.sizes, size{step: step, size: end, write: true})
}

// touch notes that the last effect touches the n-th sector.
func (f *inode) touch(n int64) *sector {
	s := f.sector(n)
	s.effects = append(s.effects, int32(len(f.effects)-1))
	return s
}

// sector is the n-th, with effects or without.
func (f *inode) sector(n int64) *sector {
	i, ok := slices.BinarySearchFunc(f.sectors, n, func(s *sector, n int64) int { return cmp.Compare(s.number, n) })
	if !ok {
		f.sectors = slices.Insert(f.sectors, i, &sector{number: n})
	}
	return f.sectors[i]
}

// resize adds a size that was asked for. A cut makes zeros of what lay behind it.
func (f *inode) resize(step uint64, to, unit int64) {
	was := f.latest()
	if to == was {
		return
	}
	f.sizes = append(f.sizes, size{step: step, size: to})
	if to > was {
		return
	}
	f.effects = append(f.effects, effect{step: step, off: to, cut: true})
	last := int64(-1)
	f.table.each(to, min(was, f.size), func(n int64, _ *block) {
		for i := max(n*blockBytes, to) / unit; i*unit < min((n+1)*blockBytes, f.size); i++ {
			if i > last {
				f.touch(i).cuts = true
				last = i
			}
		}
	})
	for _, s := range f.sectors {
		if (s.number+1)*unit > to && s.last() != len(f.effects)-1 {
			s.effects = append(s.effects, int32(len(f.effects)-1))
			s.cuts = true
		}
	}
}

// last is the last effect that touches s, or -1.
func (s *sector) last() int {
	if len(s.effects) == 0 {
		return -1
	}
	return int(s.effects[len(s.effects)-1])
}

// version is the content of s after the first v effects. It is not to be changed.
func (f *inode) version(s *sector, v int, sums *sums) *version {
	for len(s.versions) <= v {
		b := make([]byte, sums.unit)
		if n := len(s.versions); n == 0 {
			f.table.read(b, s.number*sums.unit)
		} else {
			copy(b, s.versions[n-1].bytes)
			f.effects[s.effects[n-1]].apply(b, s.number*sums.unit)
		}
		s.versions = append(s.versions, version{bytes: b, sum: sums.sector(s.number, b)})
	}
	return &s.versions[v]
}

// apply makes e in b, the bytes from off.
func (e *effect) apply(b []byte, off int64) {
	if e.cut {
		clear(b[min(max(e.off-off, 0), int64(len(b))):])
		return
	}
	from, to := max(e.off, off), min(e.end(), off+int64(len(b)))
	if from < to {
		copy(b[from-off:], e.data[from-e.off:to-e.off])
	}
}

// sync makes all that is pending durable.
func (f *inode) sync(sums *sums) {
	for _, s := range f.sectors {
		f.settle(s, len(s.effects), sums)
	}
	f.effects, f.sectors = nil, nil
	f.setSize(f.latest(), 0, sums)
}

// settle makes the first v effects on s durable.
func (f *inode) settle(s *sector, v int, sums *sums) {
	if v == 0 {
		return
	}
	f.sum -= f.version(s, 0, sums).sum
	to := f.version(s, v, sums)
	f.sum += to.sum
	f.table.write(to.bytes, s.number*sums.unit)
}

// setSize makes a size durable, which f has had since step.
func (f *inode) setSize(size int64, step uint64, sums *sums) {
	f.sizes = nil
	if size < f.size {
		f.table.cut(size)
		f.sum = sums.table(&f.table, size)
		for _, s := range f.sectors {
			s.versions = nil
		}
	}
	f.size, f.sized = size, step
}

// flush makes the stores in [from, to) durable, with what else had been done to their sectors before. The
// sizes at which they would not be in the file are no more.
func (f *inode) flush(from, to int64, sums *sums) {
	end := int64(0)
	for _, s := range f.sectors {
		if at := s.number * sums.unit; at < from || at >= to {
			continue
		}
		v := 0
		for i, e := range s.effects {
			if f.effects[e].store {
				v = i + 1
			}
		}
		for _, e := range s.effects[:v] {
			end = max(end, min(f.effects[e].end(), (s.number+1)*sums.unit))
		}
		f.settle(s, v, sums)
		s.effects = s.effects[v:]
		s.versions = nil
	}
	f.cover(from, to)
	if end > f.size {
		f.setSizeAtLeast(end, sums)
	}
}

// cover marks what a Flush of [from, to) was about.
func (f *inode) cover(from, to int64) {
	for i := range f.effects {
		if e := &f.effects[i]; e.store && e.off >= from && e.off < to {
			e.done = true
		}
	}
	f.sectors = slices.DeleteFunc(f.sectors, func(s *sector) bool { return len(s.effects) == 0 })
}

// setSizeAtLeast drops the sizes below end.
func (f *inode) setSizeAtLeast(end int64, sums *sums) {
	for i, s := range f.sizes {
		if s.size >= end {
			rest := slices.Clone(f.sizes[i+1:])
			f.setSize(s.size, s.step, sums)
			f.sizes = slices.DeleteFunc(rest, func(s size) bool { return s.size < end })
			return
		}
	}
}

// drop forgets the effects in [from, to): their bytes will never be on the disk.
func (f *inode) drop(from, to, unit int64) {
	for _, s := range f.sectors {
		if at := s.number * unit; at >= from && at < to {
			s.effects, s.versions = nil, nil
		}
	}
	for i := range f.effects {
		if e := &f.effects[i]; e.off >= from && e.off < to {
			e.done = true
		}
	}
	f.sectors = slices.DeleteFunc(f.sectors, func(s *sector) bool { return len(s.effects) == 0 })
}

// rot inverts bits of a byte in all that the disk may ever have of it.
func (f *inode) rot(off int64, xor byte, sums *sums) {
	b := make([]byte, 1)
	f.table.read(b, off)
	f.table.write([]byte{b[0] ^ xor}, off)
	f.sum = sums.table(&f.table, f.size)
	for i := range f.effects {
		if e := &f.effects[i]; !e.cut && off >= e.off && off < e.end() {
			e.data = slices.Clone(e.data)
			e.data[off-e.off] ^= xor
		}
	}
	for _, s := range f.sectors {
		s.versions = nil
	}
}

// now is the content that a running system would read: all effects applied.
func (f *inode) now(sums *sums) (table, int64) {
	t := f.table.share()
	for _, s := range f.sectors {
		t.write(f.version(s, len(s.effects), sums).bytes, s.number*sums.unit)
	}
	t.cut(f.latest())
	return t, f.latest()
}
