package cli

import (
	"context"
	"errors"

	"github.com/stratalog/strata/codec"
)

// stable is what a reader of committed records leaves out. A nil one leaves out nothing.
type stable struct {
	offset  int64                // what is at or above it is undecided
	aborted map[int64][][2]int64 // by producer: the offsets of the first record and of the marker
}

// newStable finds out which records of p are committed. damage is what was done without.
func newStable(ctx context.Context, p *partition) (s *stable, damage []error, err error) {
	l, err := p.log(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	s = &stable{l.StableOffset(), map[int64][][2]int64{}}
	all, damage, err := p.aborted(ctx, l)
	for _, t := range all {
		s.aborted[t.ProducerID] = append(s.aborted[t.ProducerID], [2]int64{t.FirstOffset, t.LastOffset})
	}
	return s, damage, err
}

// hides reports whether the records of the batch with the header h are not committed.
func (s *stable) hides(h codec.Header) bool {
	if s == nil {
		return false
	}
	if h.LastOffset >= s.offset {
		return true
	}
	if !h.Attributes.Transactional() {
		return false
	}
	for _, t := range s.aborted[h.ProducerID] {
		if t[0] <= h.BaseOffset && h.LastOffset <= t[1] {
			return true
		}
	}
	return false
}
