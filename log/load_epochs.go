package log

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/internal/epoch"
)

// openEpochs opens the leader epochs, in a file that is empty at first, as Kafka's. A damaged one is done
// without, unless others rely on it: a replica must know leaders, too, of whom no batch is left.
func (r *loader) openEpochs() error {
	o := epoch.Options{ReadOnly: r.o.ReadOnly, Empty: r.force.Load().magic() < 2}
	name := r.path(checkpoint.LeaderEpochs)
	if !r.o.ReadOnly && !o.Empty {
		f, err := r.fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			r.syncer.names.Store(true)
			err = f.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	cache, err := epoch.Open(r.fsys, name, o)
	if errors.Is(err, checkpoint.ErrCorrupt) && (!r.o.Replicated || r.o.ReadOnly) {
		r.warn("epoch file", err)
		o.Empty, r.report.Epochs = true, true
		cache, err = epoch.Open(r.fsys, name, o)
	}
	switch {
	case errors.Is(err, checkpoint.ErrCorrupt):
		return fmt.Errorf("leader epochs, which a replica does not make up; without the file it opens, and has none: %w", err)
	case err != nil:
		return fmt.Errorf("leader epochs: %w", err)
	}
	r.epochs.Store(cache)
	return nil
}

// rereadEpochs reads the leader epochs from all batches where their file is damaged. Of leaders without batches
// nothing is known then. A segment is read up to damage in it, which others tell of.
func (r *loader) rereadEpochs() error {
	if !r.report.Epochs {
		return nil
	}
	for _, s := range r.segs {
		for b, err := range s.Batches(0) {
			if isDamage(err) {
				break
			}
			if err == nil {
				err = r.noteEpoch(b.LeaderEpoch, b.BaseOffset)
			}
			if err != nil {
				return fmt.Errorf("leader epochs of segment %d: %w", s.BaseOffset(), err)
			}
		}
	}
	return nil
}
