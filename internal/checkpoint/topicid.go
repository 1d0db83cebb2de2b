package checkpoint

import "github.com/stratalog/strata/fsio"

// ReadTopicID reads a partition.metadata file. The zero ID is ErrCorrupt; a version above 0 is read as 0.
func ReadTopicID(fsys fsio.FS, name string) (ID, error) { panic("skeleton") }

// WriteTopicID replaces a partition.metadata file, durably. The zero ID is fs.ErrInvalid.
func WriteTopicID(fsys fsio.FS, name string, id ID) error { panic("skeleton") }
