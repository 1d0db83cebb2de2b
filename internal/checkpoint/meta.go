package checkpoint

import (
	"time"

	"github.com/stratalog/strata/fsio"
)

// NoNode is the node of a directory that belongs to none yet.
const NoNode int32 = -1

// Meta is what meta.properties says.
type Meta struct {
	Version   int32  // 0 or 1
	NodeID    int32  // node.id, in version 0 broker.id; NoNode where version 0 has none
	ClusterID string // "" where version 0 has none
	DirID     ID     // directory.id; zero where there is none
}

// ReadMeta reads a meta.properties file. Keys that are not Meta's are passed over.
func ReadMeta(fsys fsio.FS, name string) (Meta, error) { panic("skeleton") }

// WriteMeta replaces a meta.properties file, durably, byte for byte as Kafka writes it at the time now, in
// the zone of now.
func WriteMeta(fsys fsio.FS, name string, m Meta, now time.Time) error { panic("skeleton") }
