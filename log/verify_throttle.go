package log

import (
	"context"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/segment"
)

// throttled are the parts, with a message set that asks Throttle.
func (v *verifier) throttled(ctx context.Context) segment.Parts {
	parts := v.parts
	if v.o.Throttle != nil {
		parts.OpenSet = func(fsys fsio.FS, name string, o segment.SetOptions) (segment.MessageSet, error) {
			set, err := v.parts.OpenSet(fsys, name, o)
			if err != nil {
				return nil, err
			}
			return &throttledSet{set, func(n int64) error { return v.o.Throttle(ctx, n) }}, nil
		}
	}
	return parts
}

// throttledSet asks before it reads.
type throttledSet struct {
	segment.MessageSet
	ask func(n int64) error
}

// ReadAt implements io.ReaderAt.
func (s *throttledSet) ReadAt(p []byte, off int64) (int, error) {
	if err := s.ask(max(0, min(int64(len(p)), s.Size()-off))); err != nil {
		return 0, err
	}
	return s.MessageSet.ReadAt(p, off)
}
