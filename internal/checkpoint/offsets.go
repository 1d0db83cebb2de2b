package checkpoint

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/stratalog/strata/fsio"
)

// Partition names a partition in an offset checkpoint.
type Partition struct {
	Topic string
	ID    int32
}

// ReadOffsets reads an offset checkpoint. Where a partition is in it twice, the later line counts, as in
// Kafka; a negative partition or offset is ErrCorrupt.
func ReadOffsets(fsys fsio.FS, name string) (map[Partition]int64, error) {
	offsets := make(map[Partition]int64)
	err := readTable(fsys, name, maxOffsetsSize, func(fields [][]byte) bool {
		if len(fields) != 3 {
			return false
		}
		id, idOK := number(fields[1], 32)
		offset, offsetOK := number(fields[2], 64)
		offsets[Partition{Topic: string(fields[0]), ID: int32(id)}] = offset
		return idOK && offsetOK
	})
	if err != nil {
		return nil, err
	}
	return offsets, nil
}

// WriteOffsets replaces an offset checkpoint, durably. The entries are sorted by topic and partition. A
// topic that could not be read back (an empty one, or one with white space) is fs.ErrInvalid, and so is
// what is negative.
func WriteOffsets(fsys fsio.FS, name string, offsets map[Partition]int64) error {
	sorted := slices.SortedFunc(maps.Keys(offsets), func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID))
	})
	data := appendHead(nil, len(sorted))
	for _, p := range sorted {
		offset := offsets[p]
		if p.Topic == "" || strings.ContainsFunc(p.Topic, unicode.IsSpace) || p.ID < 0 || offset < 0 {
			return fmt.Errorf("write %s: partition %q %d, offset %d: %w", name, p.Topic, p.ID, offset, fs.ErrInvalid)
		}
		data = append(data, p.Topic...)
		data = append(data, ' ')
		data = strconv.AppendInt(data, int64(p.ID), 10)
		data = append(data, ' ')
		data = strconv.AppendInt(data, offset, 10)
		data = append(data, '\n')
	}
	return fsio.WriteFile(fsys, name, data)
}
