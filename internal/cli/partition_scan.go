package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/internal/checkpoint"
	"github.com/stratalog/strata/segment"
)

// scan reads the batches of one segment, and goes on behind damage.
type scan struct {
	*openFile
	reader io.ReaderAt // of the file, which ends with the verb's context
	shown  string      // the file's path, as it is told
	codec  codec.Codec
	from   int64 // the position at which it begins
	expect codec.Expect
	last   bool // it is the last segment, to which a broker may be appending
}

// scan opens the segment with the given base offset, to read it from the batch on that has offset.
func (p *partition) scan(ctx context.Context, c codec.Codec, base, offset int64) (*scan, error) {
	name := segment.FileName(base, segment.LogExt, segment.Live)
	f, err := openForReading(p.fsys, path.Join(p.dir, name))
	if err != nil {
		return nil, err
	}
	s := &scan{openFile: f, reader: attentive{f, ctx.Err}, shown: p.show(name), codec: c, last: p.next(base) == 0}
	s.expect = codec.Expect{Offset: base, End: p.bound(base, f.size)}
	if offset > base {
		s.from = p.position(base, offset)
	}
	return s, nil
}

// bound is the offset below which all of a segment of the given size lie, as codec.Expect has it. Those of the last one
// may be too far from its base for indexes, as Kafka up to 1.0 wrote them (KAFKA-6264), unless strata has written last,
// which rolls before. Where the offsets end, a whole segment reaches further.
func (p *partition) bound(base, size int64) int64 {
	if next := p.next(base); next != 0 {
		return next
	}
	if base > math.MaxInt64-math.MaxInt32 {
		return 0 // of a whole segment
	}
	if r, err := p.resume(); r == nil && err == nil {
		own, _, ok, err := checkpoint.ReadSlot(p.fsys, path.Join(p.dir, checkpoint.Strata))
		if err == nil && ok && own.WroteLast(size) {
			return 0
		}
	}
	return math.MaxInt64
}

// position is where in a segment the batch lies that has offset; 0 where that cannot be told, since reading
// from the begin finds it, too.
func (p *partition) position(base, offset int64) int64 {
	s, err := p.open(base)
	if err != nil {
		return 0
	}
	defer func() { _ = s.Close() }() // nothing was written
	b, ok, err := s.Find(offset)
	if err != nil || !ok {
		return 0
	}
	return b.Pos
}

// pieces yields the batches, verified, and the damage between them, with their positions in the file.
func (s *scan) pieces() iter.Seq2[codec.Piece, error] {
	return func(yield func(codec.Piece, error) bool) {
		left := s.size - s.from
		s.expect.Bytes = left
		scanner := codec.NewScanner(s.codec, io.NewSectionReader(s.reader, s.from, left), s.expect)
		for {
			piece, err := scanner.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			piece.Position += s.from
			if !yield(piece, err) || err != nil {
				return
			}
		}
	}
}

// intact is the batch that the damage of piece consists of, if nothing but its leader epoch is wrong, which no checksum
// covers: Kafka reads such a batch as any other.
func (s *scan) intact(piece codec.Piece) (b codec.Batch, ok bool) {
	head := make([]byte, min(piece.Size, codec.MaxHeaderBytes))
	if _, err := s.reader.ReadAt(head, piece.Position); err != nil {
		return b, false
	}
	h, err := s.codec.Header(head)
	switch {
	case err != nil || h.Magic < 2 || int64(h.Size) != piece.Size:
		return b, false
	case piece.NextOffset == codec.NoOffset && h.BaseOffset != piece.FirstOffset: // no other batch tells that the offset is right
		return b, false
	case h.BaseOffset < piece.FirstOffset || piece.NextOffset != codec.NoOffset && h.NextOffset() > piece.NextOffset:
		return b, false
	}
	bytes := make([]byte, h.Size)
	if _, err := s.reader.ReadAt(bytes, piece.Position); err != nil || s.codec.Verify(bytes) != nil {
		return b, false
	}
	return codec.Batch{Header: h, Bytes: bytes}, true
}

// loss says what is lost by the damage of piece, and why.
func (s *scan) loss(piece codec.Piece) string {
	end := piece.Position+piece.Size == s.size
	switch {
	case end && s.last && (&window{file: s.reader, end: s.size}).zeros(piece.Position, piece.Size):
		return fmt.Sprintf("the last %d bytes are zeros, reserved or never written; nothing is there from offset %d on", piece.Size, piece.FirstOffset)
	case end && s.last:
		return fmt.Sprintf("the last %d bytes are no whole batch, torn or being written; nothing is there from offset %d on: %v",
			piece.Size, piece.FirstOffset, piece.Err)
	case piece.NextOffset == codec.NoOffset:
		return fmt.Sprintf("%d bytes cannot be read, nothing of this segment from offset %d on: %v", piece.Size, piece.FirstOffset, piece.Err)
	}
	return fmt.Sprintf("%d bytes cannot be read, offsets %d to %d: %v", piece.Size, piece.FirstOffset, piece.NextOffset-1, piece.Err)
}
