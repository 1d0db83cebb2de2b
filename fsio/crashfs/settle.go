package crashfs

// pick is one image of a plan.
type pick struct {
	digits []int32
	drawn  bool   // what no digit says is drawn, too: torn sectors, garbage, older times
	key    uint64 // of the draws
}

// settle works out of a pick what is the same for the sum of the image and for the image: the entries, and
// the sizes.
func (p *plan) settle(k *pick) {
	p.settleGroups(k)
	for i := range p.files {
		fp := &p.files[i]
		fp.settled, fp.since = fp.f.latest(), ^uint64(0)
		switch {
		case p.c.policy.Size != SizeFollows:
			p.settleSize(fp, int(k.digits[fp.size]))
		case p.c.policy.Data == DataLost:
			p.settleSize(fp, 0)
		case p.c.policy.Data != DataKept:
			p.followSize(fp, k)
		}
	}
}

// settleSize takes the n-th size since the durable one.
func (p *plan) settleSize(fp *filePlan, n int) {
	fp.settled, fp.since = fp.f.size, fp.f.sized
	if n > 0 {
		fp.settled, fp.since = fp.f.sizes[n-1].size, fp.f.sizes[n-1].step
	}
}

// followSize takes the size where the surviving data ends.
func (p *plan) followSize(fp *filePlan, k *pick) {
	f, unit := fp.f, p.c.sums.unit
	fp.ends = append(fp.ends[:0], make([]int64, len(f.effects))...)
	for i, s := range f.sectors {
		v := p.digit(fp, i, k)
		for _, e := range s.effects[:v] {
			if p.has(fp, int(e), k) {
				fp.ends[e] = max(fp.ends[e], min(f.effects[e].end(), (s.number+1)*unit))
			}
		}
	}
	fp.settled, fp.since = f.size, f.sized
	next := 0
	resize := func(before uint64) {
		for ; next < len(f.sizes) && f.sizes[next].step < before; next++ {
			if k.digits[fp.size+next] > 0 {
				fp.settled, fp.since = f.sizes[next].size, f.sizes[next].step
			}
		}
	}
	for i := range f.effects {
		resize(f.effects[i].step)
		if !f.effects[i].cut {
			fp.settled = max(fp.settled, fp.ends[i])
		}
	}
	resize(^uint64(0))
}

// has reports whether a pick of whole calls has an effect. In other modes the digits of sectors say so.
func (p *plan) has(fp *filePlan, effect int, k *pick) bool {
	return p.c.policy.Data != DataWhole || fp.f.effects[effect].cut || fp.f.effects[effect].done || k.digits[fp.data+effect] > 0
}

// digit is how many of the effects on the i-th sector of a file a pick has, without regard to cuts.
func (p *plan) digit(fp *filePlan, i int, k *pick) int {
	s := fp.f.sectors[i]
	switch p.c.policy.Data {
	case DataLost:
		return 0
	case DataSectors, DataTorn:
		return int(k.digits[fp.data+i])
	case DataPrefix:
		v := 0
		for v < len(s.effects) && s.effects[v] < k.digits[fp.data] {
			v++
		}
		return v
	}
	return len(s.effects)
}

// version is the version that the i-th sector of a file has in a pick. A size has the cuts that came before it.
// A later cut is kept or lost with its size where that follows the data; otherwise its zeros may be there
// without it (seen on ext4, which clears the rest of a block at once and sets the size later).
func (p *plan) version(fp *filePlan, i int, k *pick) int {
	v := p.digit(fp, i, k)
	s := fp.f.sectors[i]
	if !s.cuts {
		return v
	}
	effect := func(i int) *effect { return &fp.f.effects[s.effects[i]] }
	for p.c.policy.Size == SizeFollows && v > 0 && effect(v-1).cut && effect(v-1).step > fp.since {
		v--
	}
	for i := len(s.effects) - 1; i >= v; i-- {
		if effect(i).cut && effect(i).step <= fp.since {
			return i + 1
		}
	}
	return v
}

// settleGroups works out which groups a pick has, and lists the directories.
func (p *plan) settleGroups(k *pick) {
	groups := p.c.groups
	for _, g := range groups {
		g.part = lost
	}
	p.list.reset(p.c.folders)
	switch p.c.policy.Dir {
	case DirKept:
		p.keep(len(groups))
	case DirOrdered:
		p.keep(int(k.digits[p.groups]))
	case DirPerDir:
		p.keepPerDir(k)
	case DirUnordered:
		for i := range groups {
			groups[i].part = part(k.digits[p.groups+i])
		}
	}
	for i, g := range groups {
		if split := p.splits + i; p.c.policy.SplitRename && g.part == kept && k.digits[split] > 0 {
			g.part = kept + part(k.digits[split])
		}
		p.list.apply(g, uint64(len(p.c.files)+i))
	}
}

// keep keeps the first n groups.
func (p *plan) keep(n int) {
	for _, g := range p.c.groups[:n] {
		g.part = kept
	}
}

// keepPerDir keeps of each directory as many groups as its digit says, as far as those of a second
// directory are kept there, too.
func (p *plan) keepPerDir(k *pick) {
	left := make([]int32, len(p.dirs))
	for i := range left {
		left[i] = k.digits[p.groups+i]
	}
	for _, g := range p.c.groups {
		open := true
		for d, dir := range p.dirs {
			open = open && (!g.touches(dir) || left[d] > 0)
		}
		for d, dir := range p.dirs {
			switch {
			case !g.touches(dir):
			case open:
				left[d]--
			default:
				left[d] = 0
			}
		}
		if open {
			g.part = kept
		}
	}
}
