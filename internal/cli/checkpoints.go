package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/stratalog/strata/internal/checkpoint"
)

// readable reports that the checkpoints names of the directory above can be read, so that nothing is begun that
// could not be ended.
func (up *above) readable(names ...string) error {
	if up == nil {
		return nil
	}
	for _, name := range names {
		if _, err := checkpoint.ReadOffsets(up.fsys, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("nothing was changed: %w", err)
		}
	}
	return nil
}

// lower brings the offset of p in the checkpoint name of the directory above down to offset, where it is above.
func (up *above) lower(p *partition, name string, offset int64) error {
	return up.set(p, name, func(was int64, known bool) (int64, bool) { return offset, known && was > offset })
}

// set changes the offset of p in the checkpoint name of the directory above, if change says so, which is told
// what it was. A checkpoint that is missing is empty.
func (up *above) set(p *partition, name string, change func(was int64, known bool) (int64, bool)) error {
	if up == nil || !p.checkpointed() {
		return nil
	}
	offsets, err := checkpoint.ReadOffsets(up.fsys, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key := checkpoint.Partition{Topic: *p.name.topic, ID: *p.name.id}
	was, known := offsets[key]
	offset, changed := change(was, known)
	if !changed {
		return nil
	}
	if offsets == nil {
		offsets = map[checkpoint.Partition]int64{}
	}
	offsets[key] = offset
	return checkpoint.WriteOffsets(up.fsys, name, offsets)
}

// checkpointed reports whether the checkpoints of the directory above are about p: those that are being deleted,
// and stray ones, have the name of another.
func (p *partition) checkpointed() bool {
	return p.name.topic != nil && !strings.HasSuffix(p.dir, "-delete") && !strings.HasSuffix(p.dir, "-stray")
}
