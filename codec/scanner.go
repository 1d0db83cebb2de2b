package codec

import (
	"fmt"
	"io"
)

// Piece is a part of a stream: a batch, or damage.
type Piece struct {
	Position int64 // of its first byte in the stream
	Size     int64 // in bytes
	Batch    Batch // verified, where Err is nil; its Bytes are valid until the next call
	Err      error // what is wrong, of the classes of this package

	// FirstOffset and NextOffset are the offsets that are lost by damage: [FirstOffset, NextOffset), where
	// a compacted log need not have had them all. NextOffset is NoOffset where no batch follows.
	FirstOffset, NextOffset int64
}

// Scanner reads a stream of batches, and goes on behind damage.
//
//   - A batch is yielded if it is verified and fits those before it, as Expect says.
//   - Of two good batches whose offsets or epochs exclude one another, the one that fits the others worse is
//     the damaged one.
//   - Behind damage the next good batch is searched, byte by byte. But where the size of a bad batch leads
//     to a good one, or to the end, what is inside of it is not searched: a record may hold batches.
//   - The pieces have the stream's bytes without a gap. Damage is one piece, however many batches it hit.
//   - The search is limited to a few times the size of what it passes: where bytes were made to look like
//     very many large batches, some are passed over.
//   - It holds as many bytes as the largest batch has, and what it reads ahead.
//
// It may be used by one goroutine at a time.
type Scanner struct {
	codec    Codec
	window   window
	expect   Expect // but for Bytes
	position int64  // of the window
	end      int64  // of the stream; 0 where it is not known
}

// NewScanner returns a Scanner of the bytes of r, which are read in order and ahead. e is what is expected
// of the first batch.
func NewScanner(c Codec, r io.Reader, e Expect) *Scanner {
	return &Scanner{codec: c, window: newWindow(r, e.Bytes), expect: e, end: e.Bytes}
}

// Next returns the next piece. At the end the error is io.EOF; another one is r's.
func (s *Scanner) Next() (Piece, error) {
	h, err := s.batch(0)
	if err == nil {
		err = s.odd(&h)
	}
	switch {
	case s.window.err != nil:
		return Piece{}, s.window.err
	case len(s.window.bytes()) == 0:
		return Piece{}, io.EOF
	case err != nil:
		return s.damage(err)
	}
	p := Piece{
		Position: s.position,
		Size:     int64(h.Size),
		Batch:    Batch{Header: h, Bytes: s.window.bytes()[:h.Size:h.Size]},
	}
	s.expect = s.expect.Behind(h)
	s.pass(h.Size)
	return p, nil
}

// batch verifies the batch that begins at pos in the window.
func (s *Scanner) batch(pos int) (Header, error) {
	s.window.fill(pos + MaxHeaderBytes)
	h, err := s.codec.Header(s.window.bytes()[pos:])
	if err != nil {
		return h, err
	}
	expect := s.expect
	if s.end > 0 {
		expect.Bytes = max(s.end-s.position-int64(pos), 1)
	}
	if err := expect.Check(h); err != nil {
		return h, err
	}
	s.window.fill(pos + h.Size)
	b := s.window.bytes()[pos:]
	return h, s.codec.Verify(b[:min(h.Size, len(b))])
}

// odd says what is wrong with the good batch of h if it does not fit the one behind it, and that is not the
// other's fault.
func (s *Scanner) odd(h *Header) error {
	s.window.fill(h.Size + MaxHeaderBytes)
	next, err := s.codec.Header(s.window.bytes()[h.Size:])
	if err != nil {
		return nil //nolint:nilerr // it is the next batch's error, and the next call's
	}
	behind := s.expect.Behind(*h)
	misfit := behind.Check(next)
	if misfit == nil {
		return nil
	}
	if _, err := s.batch(h.Size); err != nil {
		return nil //nolint:nilerr // the same
	}
	if h.BaseOffset == s.expect.Offset && h.LeaderEpoch <= s.expect.Epoch {
		return nil // nothing but the next one is against it
	}
	overlaps := next.BaseOffset <= h.LastOffset
	if !overlaps || next.BaseOffset != s.expect.Offset+h.NextOffset()-h.BaseOffset { // where it follows the true h
		s.window.fill(h.Size + next.Size + MaxHeaderBytes)
		b := s.window.bytes()
		third, err := s.codec.Header(b[min(h.Size+next.Size, len(b)):])
		if err == nil && behind.Check(third) == nil {
			return nil
		}
	}
	return fmt.Errorf("offsets %d to %d of epoch %d do not fit the next batch: %w",
		h.BaseOffset, h.LastOffset, h.LeaderEpoch, misfit)
}

// damage passes over what is wrong at the window's beginning.
func (s *Scanner) damage(cause error) (Piece, error) {
	p := Piece{Position: s.position, Err: cause, FirstOffset: s.expect.Offset, NextOffset: NoOffset}
	if !s.jump() {
		s.search()
	}
	if s.window.err != nil {
		return Piece{}, s.window.err
	}
	p.Size = s.position - p.Position
	if h, err := s.batch(0); err == nil {
		p.NextOffset = s.firstOffset(&h)
	}
	return p, nil
}

// jumpBytes is the largest size that is followed out of a batch that does not even fit by its header. It
// may be anything, and what it leads to must be read.
const jumpBytes = 16 << 20

// jump passes over the bad batch by its own size, if that leads to a good one or to the end.
func (s *Scanner) jump() bool {
	h, err := s.codec.Header(s.window.bytes())
	if err != nil || h.Size > jumpBytes && s.expect.Check(h) != nil {
		return false
	}
	s.window.fill(h.Size + 1)
	left := len(s.window.bytes()) - h.Size
	if left < 0 {
		return false
	}
	if left > 0 {
		if _, err := s.batch(h.Size); err != nil {
			return false
		}
	}
	s.pass(h.Size)
	return true
}

// search passes over bytes until a good batch, or the end.
func (s *Scanner) search() {
	budget := searchBytes
	for pos := 1; ; pos++ {
		if pos >= windowBytes {
			s.pass(pos)
			pos = 0
			budget = min(budget+searchFactor*windowBytes, searchBytes)
		}
		s.window.fill(pos + MaxHeaderBytes)
		b := s.window.bytes()
		if pos < len(b) {
			pos += candidate(s.codec, b[pos:])
		}
		if pos >= len(b) {
			s.pass(len(b))
			return
		}
		if budget < 0 {
			continue
		}
		h, err := s.batch(pos)
		if err == nil {
			s.pass(pos)
			return
		}
		if s.expect.Check(h) == nil { // otherwise nothing was verified
			budget -= h.Size
		}
	}
}

// pass moves on by n bytes. They stay in memory until the window is filled again.
func (s *Scanner) pass(n int) {
	s.window.start += n
	s.position += int64(n)
}

// firstOffset is the offset of the first record of the batch of h, which the window begins with. Of a
// wrapper only its records tell; where they cannot be read it is that of the last.
func (s *Scanner) firstOffset(h *Header) int64 {
	if h.BaseOffset != NoOffset {
		return h.BaseOffset
	}
	for r, err := range s.codec.Records(s.window.bytes()[:h.Size]) {
		if err == nil {
			return r.Offset
		}
	}
	return h.LastOffset
}

// A search verifies at most searchFactor bytes for each that it passes, and searchBytes at once. A true
// batch is verified once, and there are hardly any false ones: size, magic, offset and epoch must fit.
const (
	searchFactor = 8
	searchBytes  = 64 << 20
)

// prober is a Codec that can tell, cheaply and without an error to allocate, where a batch may begin.
type prober interface {
	candidate(b []byte) int
}

// candidate is the first position in b where a batch may begin, as far as headers tell. Where b has only the
// beginning of a header, one may.
func candidate(c Codec, b []byte) int {
	if p, ok := c.(prober); ok {
		return p.candidate(b)
	}
	return 0
}

// candidate implements prober.
func (k *kafka) candidate(b []byte) int {
	pos := 0
	for ; pos+batchHeaderBytes <= len(b); pos++ {
		magic := b[pos+magicAt]
		if magic > 2 {
			continue
		}
		size := int64(int32(be.Uint32(b[pos+sizeAt:]))) + sizeOverhead
		if size < minBytes(int8(magic)) || size > int64(k.batchBytes) {
			continue
		}
		h := Header{Magic: int8(magic), Size: int(size)}
		if magic < 2 || batchHeader(&h, b[pos:]) == nil && verifyFields(&h) == nil {
			return pos
		}
	}
	return pos
}
