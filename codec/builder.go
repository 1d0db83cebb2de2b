package codec

// Builder makes a batch of records as they come, for producers.
//
// It may be used by one goroutine at a time.
type Builder struct{}

// NewBuilder returns a Builder of batches with the header h, whose records get the offsets h.BaseOffset,
// +1, +2… limitBytes bounds the estimated size of the batch.
func NewBuilder(c Codec, h Header, limitBytes int) *Builder { panic("skeleton") }

// Add takes r, whose Offset does not count, and copies what it keeps. ok is false where r does not fit any
// more: then nothing was taken. The first record always fits. A record that the format cannot hold is
// ErrFormat.
func (b *Builder) Add(r Record) (ok bool, err error) { panic("skeleton") }

// Len is the number of records taken.
func (b *Builder) Len() int { panic("skeleton") }

// AppendTo encodes the batch behind dst; of no records it makes nothing.
func (b *Builder) AppendTo(dst []byte) ([]byte, error) { panic("skeleton") }

// Reset drops the records and begins a batch with the header h.
func (b *Builder) Reset(h Header) { panic("skeleton") }
