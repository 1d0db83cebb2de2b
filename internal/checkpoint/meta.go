package checkpoint

import (
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/stratalog/strata/fsio"
)

// NoNode is the node of a directory that belongs to none yet.
const NoNode int32 = -1

// The keys of meta.properties.
const (
	keyVersion   = "version"
	keyNodeID    = "node.id"   // of version 1
	keyBrokerID  = "broker.id" // of version 0
	keyClusterID = "cluster.id"
	keyDirID     = "directory.id"
)

// javaDate is the layout of java.util.Date's text, which Properties.store puts into a comment.
const javaDate = "Mon Jan 02 15:04:05 MST 2006"

// Meta is what meta.properties says.
type Meta struct {
	Version   int32  // 0 or 1
	NodeID    int32  // node.id, in version 0 broker.id; NoNode where version 0 has none
	ClusterID string // "" where version 0 has none
	DirID     ID     // directory.id; zero where there is none
}

// ReadMeta reads a meta.properties file. Keys that are not Meta's are passed over.
func ReadMeta(fsys fsio.FS, name string) (Meta, error) {
	data, err := ReadFile(fsys, name, maxTextSize)
	if err != nil {
		return Meta{}, err
	}
	properties, err := parseProperties(data)
	if err != nil {
		return Meta{}, corrupt(name, 0, "%v", err)
	}
	m, err := parseMeta(properties)
	if err != nil {
		return Meta{}, &fsio.PosError{Op: "read", Path: name, Err: err}
	}
	return m, nil
}

// parseMeta checks the properties and takes Meta's from them.
func parseMeta(properties map[string]string) (Meta, error) {
	m := Meta{NodeID: NoNode, ClusterID: properties[keyClusterID]}
	if s, ok := properties[keyVersion]; ok {
		version, ok := number([]byte(s), 32)
		if !ok || version > 1 {
			return Meta{}, fmt.Errorf("%s %.40q is not known: %w", keyVersion, s, ErrCorrupt)
		}
		m.Version = int32(version)
	}
	if s, ok := properties[m.nodeKey()]; ok {
		id, ok := number([]byte(s), 32)
		if !ok {
			return Meta{}, fmt.Errorf("%s %.40q is no node: %w", m.nodeKey(), s, ErrCorrupt)
		}
		m.NodeID = int32(id)
	}
	if s, ok := properties[keyDirID]; ok {
		id, err := ParseID(s)
		if err != nil {
			return Meta{}, fmt.Errorf("%s: %w", keyDirID, err)
		}
		m.DirID = id
	}
	if !m.complete() {
		return Meta{}, fmt.Errorf("version 1 without %s or %s: %w", keyNodeID, keyClusterID, ErrCorrupt)
	}
	return m, nil
}

// nodeKey is the key of NodeID.
func (m Meta) nodeKey() string {
	if m.Version == 0 {
		return keyBrokerID
	}
	return keyNodeID
}

// complete reports whether what the version demands is there.
func (m Meta) complete() bool {
	return m.Version == 0 || m.NodeID != NoNode && m.ClusterID != ""
}

// WriteMeta replaces a meta.properties file, durably, byte for byte as Kafka writes it at the time now, in
// the zone of now. A Meta that ReadMeta would refuse is fs.ErrInvalid.
func WriteMeta(fsys fsio.FS, name string, m Meta, now time.Time) error {
	if m.Version < 0 || m.Version > 1 || m.NodeID < NoNode || !m.complete() {
		return fmt.Errorf("write %s: %+v: %w", name, m, fs.ErrInvalid)
	}
	return fsio.WriteFile(fsys, name, appendMeta(nil, m, now))
}

// appendMeta encodes m. The lines stand in the order of the hash map behind Java's Properties: 16 buckets, of
// which node.id has 0, broker.id 6, directory.id 9, version 13 and cluster.id 14.
func appendMeta(dst []byte, m Meta, now time.Time) []byte {
	dst = append(dst, "#\n#"...)
	dst = now.AppendFormat(dst, javaDate)
	dst = append(dst, '\n')
	if m.NodeID != NoNode {
		dst = appendProperty(dst, m.nodeKey(), strconv.FormatInt(int64(m.NodeID), 10))
	}
	if m.DirID != (ID{}) {
		dst = appendProperty(dst, keyDirID, FormatID(m.DirID))
	}
	dst = appendProperty(dst, keyVersion, strconv.FormatInt(int64(m.Version), 10))
	if m.ClusterID != "" {
		dst = appendProperty(dst, keyClusterID, m.ClusterID)
	}
	return dst
}
