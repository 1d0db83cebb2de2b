package trace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/segment"
)

// Composition is what a store is made of.
type Composition struct {
	Name     string
	disk     bool // otherwise it is in memory
	parts    segment.Parts
	reserved bool
}

// compositions are those that traces are replayed on.
var compositions = []Composition{
	{Name: "os+mmap", disk: true, parts: segment.Parts{OpenIndex: index.OpenMmap}},
	{Name: "os+file", disk: true, parts: segment.Parts{OpenIndex: index.OpenFile}},
	{Name: "mem+mmap", parts: segment.Parts{OpenIndex: index.OpenMmap}},
	{Name: "mem+file", parts: segment.Parts{OpenIndex: index.OpenFile}},
	{Name: "os+mmapset", disk: true, parts: segment.Parts{OpenIndex: index.OpenMmap, OpenSet: segment.OpenMmap}, reserved: true},
}

// CompositionNames are the names of all compositions.
func CompositionNames() []string {
	all := make([]string, len(compositions))
	for i, c := range compositions {
		all[i] = c.Name
	}
	return all
}

// Compositions are those with the given names, which commas separate.
func Compositions(names string) ([]Composition, error) {
	var all []Composition
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(compositions, func(c Composition) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%q is none of %s", name, strings.Join(CompositionNames(), ", "))
		}
		all = append(all, compositions[i])
	}
	return all, nil
}

// Store is an empty one, in memory or in tmp, which is an empty directory of the operating system. The caller
// closes it.
func (c Composition) Store(tmp string) (s Store, closeStore func() error, err error) {
	s = Store{Parts: c.parts, Reserved: c.reserved}
	if !c.disk {
		s.FS = aferofs.Mem()
		return s, func() error { return nil }, nil
	}
	disk, err := fsio.OS(tmp)
	if err != nil {
		return s, nil, err
	}
	s.FS = disk
	return s, disk.Close, nil
}

// Replay replays t in a Store.
func (c Composition) Replay(ctx context.Context, t *Trace, tmp string) (o Outcome, err error) {
	s, closeStore, err := c.Store(tmp)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	return Replay(ctx, t, s), nil
}
