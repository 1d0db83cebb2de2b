package log

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"sync"

	"github.com/stratalog/strata/fsio"
)

// ownName is the file in which a log that is opened alone keeps what a manager would hand over. Its format
// is in the package's documentation.
const ownName = "strata.checkpoint"

// The format of strata.checkpoint.
const (
	slotBytes   = 512
	slotMagic   = "strataCP"
	slotVersion = 0

	slotVersionAt = 8
	slotCRCAt     = 12
	slotBodyAt    = 16
	slotFields    = 7 // int64 each, from slotBodyAt on
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// slot is what one slot says.
type slot struct {
	number     int64 // one above the other slot's
	point      int64 // recovery point
	start      int64
	cleaner    int64
	clean      bool
	end        int64 // after a clean close
	activeSize int64 // after a clean close
}

// encode writes s into b, which is a slot long.
func (s slot) encode(b []byte) {
	clear(b)
	copy(b, slotMagic)
	binary.BigEndian.PutUint32(b[slotVersionAt:], slotVersion)
	clean := int64(0)
	if s.clean {
		clean = 1
	}
	for i, v := range [slotFields]int64{s.number, s.point, s.start, s.cleaner, clean, s.end, s.activeSize} {
		binary.BigEndian.PutUint64(b[slotBodyAt+8*i:], uint64(v))
	}
	binary.BigEndian.PutUint32(b[slotCRCAt:], crc32.Checksum(b[slotBodyAt:slotBytes], castagnoli))
}

// decodeSlot reads a slot. ok is false where b does not hold one that was written whole.
func decodeSlot(b []byte) (s slot, ok bool) {
	if len(b) < slotBytes || !bytes.HasPrefix(b, []byte(slotMagic)) ||
		binary.BigEndian.Uint32(b[slotVersionAt:]) != slotVersion ||
		binary.BigEndian.Uint32(b[slotCRCAt:]) != crc32.Checksum(b[slotBodyAt:slotBytes], castagnoli) {
		return slot{}, false
	}
	var v [slotFields]int64
	for i := range v {
		v[i] = int64(binary.BigEndian.Uint64(b[slotBodyAt+8*i:]))
		if v[i] < 0 {
			return slot{}, false
		}
	}
	return slot{
		number: v[0], point: v[1], start: v[2], cleaner: v[3], clean: v[4] == 1, end: v[5], activeSize: v[6],
	}, true
}

// newest is the valid slot with the larger number among the two in b, and which one it is.
func newest(b []byte) (s slot, at int, ok bool) {
	for i := range 2 {
		if len(b) < i*slotBytes {
			break
		}
		if other, valid := decodeSlot(b[i*slotBytes:]); valid && (!ok || other.number > s.number) {
			s, at, ok = other, i, true
		}
	}
	return s, at, ok
}

// ownCheckpoint is an open strata.checkpoint. A nil one does nothing.
type ownCheckpoint struct {
	mu      sync.Mutex
	file    fsio.File
	last    slot // as written last
	at      int  // which slot that is
	touched bool // something was changed since Open: the clean mark is taken back
	buf     [slotBytes]byte
}

// readOwn reads what strata.checkpoint says. ok is false where it is missing or tells nothing.
func readOwn(fsys fsio.FS, name string) (s slot, at int, ok bool, err error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return slot{}, 0, false, err
	}
	var b [2 * slotBytes]byte
	n, err := f.ReadAt(b[:], 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return slot{}, 0, false, err
	}
	s, at, ok = newest(b[:n])
	return s, at, ok, nil
}

// openOwn opens strata.checkpoint to be written, last being what it says in slot at. A new one gets its full
// size.
func openOwn(fsys fsio.FS, name string, last slot, at int) (*ownCheckpoint, error) {
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err == nil && size < 2*slotBytes {
		err = f.Allocate(2 * slotBytes)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &ownCheckpoint{file: f, last: last, at: at}, nil
}

// write puts what now says into the older slot. It is asked when the slot's turn has come, so that what others
// have changed and written meanwhile is not taken back. Only with sync it is durable.
func (c *ownCheckpoint) write(now func() slot, sync bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := now()
	s.number, s.cleaner = c.last.number+1, c.last.cleaner
	at := 1 - c.at
	s.encode(c.buf[:])
	if _, err := c.file.WriteAt(c.buf[:], int64(at)*slotBytes); err != nil {
		return err
	}
	c.last, c.at = s, at
	if sync {
		return c.file.Sync()
	}
	return nil
}

// close frees the file.
func (c *ownCheckpoint) close() error {
	if c == nil {
		return nil
	}
	return c.file.Close()
}

// slot is what is true now, for strata.checkpoint.
func (l *Log) slot() slot {
	return slot{point: l.syncer.recoveryPoint(), start: l.StartOffset()}
}

// touch takes the clean mark back with the first change after Open. The caller holds mu.
func (l *Log) touch() error {
	if l.own == nil || l.own.touched {
		return nil
	}
	if err := l.own.write(l.slot, false); err != nil {
		return l.failWrite(err)
	}
	l.own.touched = true
	return nil
}
