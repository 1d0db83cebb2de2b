package producer

import "github.com/stratalog/strata/fsio"

// SnapshotExt is the extension of a snapshot's name, behind the 20 digits of its offset.
const SnapshotExt = ".snapshot"

// Entry is a producer as a snapshot has it.
type Entry struct {
	ProducerID       int64
	Epoch            int16
	LastSequence     int32
	LastOffset       int64
	OffsetDelta      int32
	Timestamp        int64
	CoordinatorEpoch int32
	TxnFirstOffset   int64
}

// ReadSnapshot reads a snapshot file: its entries in the order that they have there. What does not fit is
// ErrCorrupt in an *fsio.PosError.
func ReadSnapshot(fsys fsio.FS, name string) ([]Entry, error) { panic("skeleton") }

// DecodeSnapshot is ReadSnapshot of a file's bytes; its ErrCorrupt is in no *fsio.PosError.
func DecodeSnapshot(b []byte) ([]Entry, error) { panic("skeleton") }

// AppendSnapshot encodes entries, in the order that they have, behind dst.
func AppendSnapshot(dst []byte, entries []Entry) []byte { panic("skeleton") }
