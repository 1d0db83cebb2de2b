package checkpoint

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/stratalog/strata/fsio"
)

// ReadTopicID reads a partition.metadata file. The zero ID is ErrCorrupt; a version above 0 is read as 0.
func ReadTopicID(fsys fsio.FS, name string) (ID, error) {
	data, err := ReadFile(fsys, name, maxTextSize)
	if err != nil {
		return ID{}, err
	}
	first, second, _ := strings.Cut(string(data), "\n")
	version, ok := metadataValue(first, "version")
	if _, isNumber := number([]byte(version), 32); !ok || !isNumber {
		return ID{}, corrupt(name, 0, "%.40q is no version", first)
	}
	pos := int64(len(first)) + 1
	line, rest, _ := strings.Cut(second, "\n")
	value, ok := metadataValue(line, "topic_id")
	if !ok || rest != "" {
		return ID{}, corrupt(name, pos, "%.80q is no topic id", second)
	}
	id, err := ParseID(value)
	if err != nil {
		return ID{}, &fsio.PosError{Op: "read", Path: name, Pos: pos, Err: err}
	}
	if id == (ID{}) {
		return ID{}, corrupt(name, pos, "the topic id is zero")
	}
	return id, nil
}

// metadataValue is the value in a line of partition.metadata: behind a colon and white space, as Kafka
// splits it. ok is false where the key is another.
func metadataValue(line, key string) (value string, ok bool) {
	rest, ok := strings.CutPrefix(line, key+":")
	value = strings.TrimSpace(rest)
	return value, ok && len(value) < len(rest)
}

// WriteTopicID replaces a partition.metadata file, durably. The zero ID is fs.ErrInvalid.
func WriteTopicID(fsys fsio.FS, name string, id ID) error {
	if id == (ID{}) {
		return fmt.Errorf("write %s: zero topic id: %w", name, fs.ErrInvalid)
	}
	return fsio.WriteFile(fsys, name, []byte("version: 0\ntopic_id: "+FormatID(id)))
}
