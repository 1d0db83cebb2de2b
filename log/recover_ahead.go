package log

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/epoch"
	"github.com/stratalog/strata/scheduler"
	"github.com/stratalog/strata/segment"
)

// verified is a segment that was recovered ahead of its turn.
type verified struct {
	segment.Recovery
	epochs []epoch.Entry // the leader epochs that begin in it
}

// verifyAhead recovers segments side by side, where Options.RecoverWorkers says so, as far as they are whole,
// without producers, and not to be split: others have to wait for those before them. The result is by base
// offset.
func (r *loader) verifyAhead(first int) (map[int64]*verified, error) {
	ahead := map[int64]*verified{}
	if r.o.RecoverWorkers <= 1 {
		return ahead, nil
	}
	var mu sync.Mutex
	err := scheduler.Each(r.ctx, r.o.RecoverWorkers, len(r.segs)-first, func(ctx context.Context, i int) error {
		s, v, latest := r.segs[first+i], &verified{}, codec.NoLeaderEpoch
		var err error
		v.Recovery, err = s.Recover(ctx, segment.RecoverOptions{
			From: r.resume.RecoveryPoint,
			Seen: func(b segment.Batch, _ []byte) error {
				if b.ProducerID >= 0 {
					return errWait
				}
				if b.LeaderEpoch > latest {
					latest = b.LeaderEpoch
					v.epochs = append(v.epochs, epoch.Entry{Epoch: latest, StartOffset: b.BaseOffset})
				}
				return nil
			},
			Keep: func(string, int64, io.Reader) error { return errWait },
			Damaged: func(d segment.Damage) {
				mu.Lock()
				defer mu.Unlock()
				r.foundDamage(d)
			},
		})
		switch {
		case errors.Is(err, errWait) || errors.Is(err, segment.ErrOverflow):
			return nil
		case err == nil:
			mu.Lock()
			defer mu.Unlock()
			ahead[s.BaseOffset()] = v
		}
		return err
	})
	return ahead, err
}

// errWait says that a segment has to wait for those before it.
var errWait = errors.New("log: segment waits for its turn")

// passOver takes into account what is in the i-th segment, which has no batches of producers.
func (r *loader) passOver(i int, v *verified) error {
	if err := r.producersTo(i); err != nil {
		return err
	}
	for _, e := range v.epochs {
		if err := r.noteEpoch(e.Epoch, e.StartOffset); err != nil {
			return err
		}
	}
	r.temp.SetEnd(v.NextOffset)
	return r.snapshotTemp()
}
