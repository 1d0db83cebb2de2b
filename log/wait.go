package log

import (
	"context"
	"fmt"
	"io/fs"
)

// Wait returns nil when there is something to read at offset or above, as far as i goes. Otherwise it
// waits: for ctx, whose error it returns, or Close, which is ErrClosed. An isolation that is none is fs.ErrInvalid.
//
// Markers and damage are something to read, too, and Records yields no record for them. A reader that waits for
// the offset behind its last record would find them again and again: it goes on at HighWatermark, or StableOffset,
// as that was before it read, where that is above.
func (l *Log) Wait(ctx context.Context, offset int64, i Isolation) error {
	if i > ReadToEnd {
		return fmt.Errorf("wait: isolation %d: %w", i, fs.ErrInvalid)
	}
	l.wait.count.Add(1)
	defer l.wait.count.Add(-1)
	for {
		changed := l.wait.next()
		switch {
		case l.closed.Load():
			return ErrClosed
		case offset < l.view.Load().limit(i):
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
