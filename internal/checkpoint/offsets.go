package checkpoint

import "github.com/stratalog/strata/fsio"

// Partition names a partition in an offset checkpoint.
type Partition struct {
	Topic string
	ID    int32
}

// ReadOffsets reads an offset checkpoint. Where a partition is in it twice, the later line counts, as in
// Kafka; a negative partition or offset is ErrCorrupt.
func ReadOffsets(fsys fsio.FS, name string) (map[Partition]int64, error) { panic("skeleton") }

// WriteOffsets replaces an offset checkpoint, durably. The entries are sorted by topic and partition. A
// topic that could not be read back (an empty one, or one with white space) is fs.ErrInvalid, and so is
// what is negative.
func WriteOffsets(fsys fsio.FS, name string, offsets map[Partition]int64) error { panic("skeleton") }
