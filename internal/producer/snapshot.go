package producer

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
)

// SnapshotExt is the extension of a snapshot's name, behind the 20 digits of its offset.
const SnapshotExt = ".snapshot"

// The layout of a snapshot; doc.go has it as a picture.
const (
	snapshotVersion = 1

	versionPos = 0
	crcPos     = 2
	countPos   = 6 // and where begins what the CRC covers
	headSize   = 10

	idPos          = 0
	epochPos       = 8
	sequencePos    = 10
	offsetPos      = 14
	deltaPos       = 22
	timestampPos   = 26
	coordinatorPos = 34
	txnPos         = 38
	entrySize      = 46
)

// maxSnapshotSize is that of more than ten million producers.
const maxSnapshotSize = 512 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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
func ReadSnapshot(fsys fsio.FS, name string) ([]Entry, error) {
	data, err := checkpoint.ReadFile(fsys, name, maxSnapshotSize)
	if err != nil {
		return nil, err
	}
	entries, err := DecodeSnapshot(data)
	if err != nil {
		return nil, &fsio.PosError{Op: "read", Path: name, Err: err}
	}
	return entries, nil
}

// DecodeSnapshot is ReadSnapshot of a file's bytes; its ErrCorrupt is in no *fsio.PosError.
func DecodeSnapshot(b []byte) ([]Entry, error) {
	if len(b) < headSize {
		return nil, fmt.Errorf("snapshot of %d bytes: %w", len(b), ErrCorrupt)
	}
	if v := binary.BigEndian.Uint16(b[versionPos:]); v != snapshotVersion {
		return nil, fmt.Errorf("snapshot of version %d: %w", int16(v), ErrCorrupt)
	}
	stored, computed := binary.BigEndian.Uint32(b[crcPos:]), crc32.Checksum(b[countPos:], castagnoli)
	if stored != computed {
		return nil, fmt.Errorf("snapshot with checksum %08x instead of %08x: %w", stored, computed, ErrCorrupt)
	}
	count := int64(int32(binary.BigEndian.Uint32(b[countPos:])))
	if count < 0 || count*entrySize != int64(len(b)-headSize) {
		return nil, fmt.Errorf("snapshot of %d entries in %d bytes: %w", count, len(b), ErrCorrupt)
	}
	entries := make([]Entry, count)
	for i := range entries {
		entries[i] = decodeEntry(b[headSize+i*entrySize:])
	}
	return entries, nil
}

// decodeEntry reads the entry that b begins with.
func decodeEntry(b []byte) Entry {
	_ = b[entrySize-1]
	return Entry{
		ProducerID:       int64(binary.BigEndian.Uint64(b[idPos:])),
		Epoch:            int16(binary.BigEndian.Uint16(b[epochPos:])),
		LastSequence:     int32(binary.BigEndian.Uint32(b[sequencePos:])),
		LastOffset:       int64(binary.BigEndian.Uint64(b[offsetPos:])),
		OffsetDelta:      int32(binary.BigEndian.Uint32(b[deltaPos:])),
		Timestamp:        int64(binary.BigEndian.Uint64(b[timestampPos:])),
		CoordinatorEpoch: int32(binary.BigEndian.Uint32(b[coordinatorPos:])),
		TxnFirstOffset:   int64(binary.BigEndian.Uint64(b[txnPos:])),
	}
}

// AppendSnapshot encodes entries, in the order that they have, behind dst.
func AppendSnapshot(dst []byte, entries []Entry) []byte {
	begin := len(dst)
	dst = slices.Grow(dst, headSize+len(entries)*entrySize)
	dst = binary.BigEndian.AppendUint16(dst, snapshotVersion)
	dst = binary.BigEndian.AppendUint32(dst, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(entries)))
	for i := range entries {
		dst = appendEntry(dst, &entries[i])
	}
	snapshot := dst[begin:]
	binary.BigEndian.PutUint32(snapshot[crcPos:], crc32.Checksum(snapshot[countPos:], castagnoli))
	return dst
}

// appendEntry encodes one entry.
func appendEntry(dst []byte, e *Entry) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.ProducerID))
	dst = binary.BigEndian.AppendUint16(dst, uint16(e.Epoch))
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.LastSequence))
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.LastOffset))
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.OffsetDelta))
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.Timestamp))
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.CoordinatorEpoch))
	return binary.BigEndian.AppendUint64(dst, uint64(e.TxnFirstOffset))
}
