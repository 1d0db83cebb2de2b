package log

import (
	"errors"
	"os"
	"sync"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/internal/checkpoint"
)

// ownCheckpoint is an open strata.checkpoint. A nil one does nothing.
type ownCheckpoint struct {
	mu      sync.Mutex
	file    fsio.File
	last    checkpoint.Slot // as written last
	at      int             // which slot that is
	touched bool            // something was changed since Open: the clean mark is taken back
	buf     [checkpoint.SlotBytes]byte
}

// openOwn opens strata.checkpoint to be written, last being what it says in slot at. A new one gets its full
// size.
func openOwn(fsys fsio.FS, name string, last checkpoint.Slot, at int) (*ownCheckpoint, error) {
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err == nil && size < 2*checkpoint.SlotBytes {
		err = f.Allocate(2 * checkpoint.SlotBytes)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &ownCheckpoint{file: f, last: last, at: at}, nil
}

// write puts what now says into the older slot. It is asked when the slot's turn has come, so that what others
// have changed and written meanwhile is not taken back. Only with sync it is durable.
func (c *ownCheckpoint) write(now func() checkpoint.Slot, sync bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := now()
	s.Number, s.CleanerOffset = c.last.Number+1, c.last.CleanerOffset
	at := 1 - c.at
	s.Encode(c.buf[:])
	if _, err := c.file.WriteAt(c.buf[:], int64(at)*checkpoint.SlotBytes); err != nil {
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
func (l *Log) slot() checkpoint.Slot {
	return checkpoint.Slot{RecoveryPoint: l.syncer.recoveryPoint(), StartOffset: l.StartOffset()}
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
