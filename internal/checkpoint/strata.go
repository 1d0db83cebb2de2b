package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"

	"github.com/stratalog/strata/fsio"
)

// The format of strata.checkpoint, which is in the documentation of package log.
const (
	SlotBytes   = 512
	slotMagic   = "strataCP"
	slotVersion = 0

	slotVersionAt = 8
	slotCRCAt     = 12
	slotBodyAt    = 16
	slotFields    = 7 // int64 each, from slotBodyAt on
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Slot is what one of the two slots of a strata.checkpoint says.
type Slot struct {
	Number        int64 // one above the other slot's
	RecoveryPoint int64
	StartOffset   int64
	CleanerOffset int64
	Clean         bool
	EndOffset     int64 // after a clean close
	ActiveSize    int64 // after a clean close
}

// Encode writes s into b, which is SlotBytes long.
func (s Slot) Encode(b []byte) {
	clear(b)
	copy(b, slotMagic)
	binary.BigEndian.PutUint32(b[slotVersionAt:], slotVersion)
	clean := int64(0)
	if s.Clean {
		clean = 1
	}
	fields := [slotFields]int64{s.Number, s.RecoveryPoint, s.StartOffset, s.CleanerOffset, clean, s.EndOffset, s.ActiveSize}
	for i, v := range fields {
		binary.BigEndian.PutUint64(b[slotBodyAt+8*i:], uint64(v))
	}
	binary.BigEndian.PutUint32(b[slotCRCAt:], crc32.Checksum(b[slotBodyAt:SlotBytes], castagnoli))
}

// DecodeSlot reads a slot. ok is false where b does not hold one that was written whole.
func DecodeSlot(b []byte) (s Slot, ok bool) {
	if len(b) < SlotBytes || !bytes.HasPrefix(b, []byte(slotMagic)) ||
		binary.BigEndian.Uint32(b[slotVersionAt:]) != slotVersion ||
		binary.BigEndian.Uint32(b[slotCRCAt:]) != crc32.Checksum(b[slotBodyAt:SlotBytes], castagnoli) {
		return Slot{}, false
	}
	var v [slotFields]int64
	for i := range v {
		v[i] = int64(binary.BigEndian.Uint64(b[slotBodyAt+8*i:]))
		if v[i] < 0 {
			return Slot{}, false
		}
	}
	return Slot{
		Number: v[0], RecoveryPoint: v[1], StartOffset: v[2], CleanerOffset: v[3], Clean: v[4] == 1, EndOffset: v[5], ActiveSize: v[6],
	}, true
}

// NewestSlot is the valid slot with the larger number among the two in b, and which one it is.
func NewestSlot(b []byte) (s Slot, at int, ok bool) {
	for i := range 2 {
		if len(b) < i*SlotBytes {
			break
		}
		if other, valid := DecodeSlot(b[i*SlotBytes:]); valid && (!ok || other.Number > s.Number) {
			s, at, ok = other, i, true
		}
	}
	return s, at, ok
}

// ReadSlot reads the newest slot of a strata.checkpoint file, and which one it is. ok is false where neither is whole.
func ReadSlot(fsys fsio.FS, name string) (s Slot, at int, ok bool, err error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return Slot{}, 0, false, err
	}
	var b [2 * SlotBytes]byte
	n, err := f.ReadAt(b[:], 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return Slot{}, 0, false, err
	}
	s, at, ok = NewestSlot(b[:n])
	return s, at, ok, nil
}

// WroteLast reports whether strata has written the log last, whose active segment has the given size: it has not
// closed it, or the size is what it was then.
func (s Slot) WroteLast(activeSize int64) bool { return !s.Clean || s.ActiveSize == activeSize }
