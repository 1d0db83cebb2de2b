package cli

import (
	"context"
	"io"
)

// breakable is a reader whose Read ends with its context. A read of a terminal or a pipe knows nothing of
// an interrupt, and may wait for ever.
type breakable struct {
	ctx  func() error
	done <-chan struct{}
	r    io.Reader
	buf  []byte // r's: a read that was left alone must not write into the caller's
	got  chan readResult
}

// readResult is what a Read returned.
type readResult struct {
	n   int
	err error
}

// newBreakable makes a breakable of r.
func newBreakable(ctx context.Context, r io.Reader) *breakable {
	return &breakable{ctx: ctx.Err, done: ctx.Done(), r: r, buf: make([]byte, lineBuffer), got: make(chan readResult, 1)}
}

// Read reads as r does. Once the context has ended it returns the context's error, and reads no more.
func (b *breakable) Read(p []byte) (int, error) {
	if err := b.ctx(); err != nil {
		return 0, err
	}
	own := b.buf[:min(len(p), len(b.buf))]
	go func() {
		n, err := b.r.Read(own)
		b.got <- readResult{n, err}
	}()
	select {
	case <-b.done:
		return 0, b.ctx()
	case got := <-b.got:
		return copy(p, own[:got.n]), got.err
	}
}
