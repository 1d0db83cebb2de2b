package crashfs

import "time"

// sum is the number of a pick's image: equal images have equal sums.
func (p *plan) sum(k *pick) uint64 {
	p.settle(k)
	return p.sumDir(p.c.base.root.inode, 0, k)
}

func (p *plan) sumDir(dir, path uint64, k *pick) (sum uint64) {
	for _, e := range p.list.of(dir) {
		name := scramble(path ^ e.hash)
		if e.isDir {
			sum += scramble(name+1) + p.sumDir(e.inode, name, k)
		} else {
			f := p.file(e.inode)
			sum += scramble(name ^ p.sumFile(f, k))
		}
	}
	return sum
}

// file is the file that an entry of a pick names. A rename that is half there gave it another number.
func (p *plan) file(inode uint64) *inode {
	if twin := int(inode) - len(p.c.files); twin >= 0 {
		inode = p.c.groups[twin].inode
	}
	return p.c.files[inode]
}

// sumFile is the number of a file's content and size.
func (p *plan) sumFile(f *inode, k *pick) uint64 {
	if f.plan < 0 {
		return f.sum ^ scramble(uint64(f.size))
	}
	fp := &p.files[f.plan]
	return p.sumSectors(fp, k) ^ scramble(uint64(fp.settled))
}

// sumSectors adds up the sectors of a file. What a pick does not change is in the durable sum already.
func (p *plan) sumSectors(fp *filePlan, k *pick) uint64 {
	f, sums, end := fp.f, &p.c.sums, fp.settled
	sum := f.sum
	if end < f.size {
		sum = sums.table(&f.table, end)
	}
	for i, s := range f.sectors {
		if s.number*sums.unit >= end {
			break
		}
		v, changed := p.sector(fp, i, k)
		if !changed {
			continue
		}
		sum += p.visible(s.number, v, end) - p.visible(s.number, f.version(s, 0, sums), end)
	}
	return sum
}

// visible is the sum of a sector as far as it lies before end.
func (p *plan) visible(n int64, v *version, end int64) uint64 {
	unit := p.c.sums.unit
	if (n+1)*unit <= end {
		return v.sum
	}
	b := make([]byte, unit)
	copy(b, v.bytes[:end-n*unit])
	return p.c.sums.sector(n, b)
}

// sector is the content of the i-th sector of a file in a pick, and whether it is another than the durable
// one. It is good until the next call.
func (p *plan) sector(fp *filePlan, i int, k *pick) (*version, bool) {
	f, sums := fp.f, &p.c.sums
	s := f.sectors[i]
	v := p.version(fp, i, k)
	switch {
	case k.drawn && p.spoil(fp, s, v, k):
	case p.c.policy.Data == DataWhole && len(s.effects) > 0:
		p.compose(fp, s, k)
	default:
		return f.version(s, v, sums), v > 0
	}
	return &version{bytes: p.buf, sum: sums.sector(s.number, p.buf)}, true
}

// compose makes in p.buf the content of s after those whole calls that a pick has.
func (p *plan) compose(fp *filePlan, s *sector, k *pick) {
	unit := p.c.sums.unit
	copy(p.buf, fp.f.version(s, 0, &p.c.sums).bytes)
	for _, e := range s.effects {
		if effect := &fp.f.effects[e]; p.has(fp, int(e), k) && (!effect.cut || effect.step <= fp.since) {
			effect.apply(p.buf, s.number*unit)
		}
	}
}

// image makes the image of a pick.
func (p *plan) image(k *pick) *image {
	p.settle(k)
	made := &image{
		top: uint64(len(p.c.files) - 1 + len(p.c.groups)),
		now: p.c.base.now.Add(time.Duration(p.c.step) * time.Millisecond),
	}
	made.root = p.imageDir(made, p.c.base.root.inode, k)
	return made
}

func (p *plan) imageDir(made *image, dir uint64, k *pick) *imageDir {
	f := p.c.folders[dir]
	d := &imageDir{inode: dir, mode: f.mode, mtime: f.mtime}
	entries := p.list.of(dir)
	d.entries = make([]imageEntry, 0, len(entries))
	for _, e := range entries {
		own := imageEntry{name: e.name, hash: e.hash}
		if e.isDir {
			own.dir = p.imageDir(made, e.inode, k)
		} else {
			own.file = p.imageFile(e.inode, k)
			made.used += own.file.owned.total() * p.c.sums.unit
		}
		d.entries = append(d.entries, own)
	}
	return d
}

func (p *plan) imageFile(number uint64, k *pick) *imageFile {
	f := p.file(number)
	made := &imageFile{inode: number, mode: f.mode, mtime: f.mtime, size: f.size, sum: f.sum, owned: f.owned}
	if k.drawn && p.draw(k, f.number, subTime)&1 != 0 {
		made.mtime = f.older
	}
	made.table = f.table.share()
	if f.plan < 0 {
		return made
	}
	fp, unit := &p.files[f.plan], p.c.sums.unit
	made.size = fp.settled
	for i, s := range f.sectors {
		if v, changed := p.sector(fp, i, k); changed && s.number*unit < fp.settled {
			made.table.write(v.bytes, s.number*unit)
		}
	}
	made.table.cut(fp.settled)
	made.sum = p.sumSectors(fp, k)
	made.owned = f.owned.cut((fp.settled + unit - 1) / unit)
	return made
}
