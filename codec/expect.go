package codec

import "fmt"

// segmentOffsets is how many offsets a segment can hold: indexes store them in 32 bits.
const segmentOffsets = 1 << 31

// Expect is what is known of a batch from the place where it lies. The checksum of magic 2 does not cover
// its first 17 bytes, so that a flipped bit in the offset or the leader epoch shows only here. The zero
// Expect fits the first batch of a log.
type Expect struct {
	Offset int64 // its offsets begin here or later
	End    int64 // and end before this; 0 means Offset + 2³¹, since that is what a segment holds
	Epoch  int32 // its leader epoch is this or a higher one, if it has any
	Bytes  int64 // from its beginning to the end of the stream; 0 means that this is not known
}

// Check says what of h does not fit, as an ErrCorrupt.
func (e Expect) Check(h Header) error {
	first := h.BaseOffset
	if first == NoOffset {
		first = h.LastOffset
	}
	switch {
	case first < e.Offset:
		return fmt.Errorf("offset %d where %d is the least: %w", first, e.Offset, ErrCorrupt)
	case h.LastOffset < first || h.LastOffset-e.Offset >= e.span():
		return fmt.Errorf("last offset %d of a batch from %d, where it must be below %d: %w",
			h.LastOffset, first, e.Offset+e.span(), ErrCorrupt)
	case h.LeaderEpoch != NoLeaderEpoch && h.LeaderEpoch < max(e.Epoch, 0):
		return fmt.Errorf("leader epoch %d behind %d: %w", h.LeaderEpoch, e.Epoch, ErrCorrupt)
	case e.Bytes > 0 && int64(h.Size) > e.Bytes:
		return fmt.Errorf("batch of %d bytes where %d are left: %w", h.Size, e.Bytes, ErrCorrupt)
	}
	return nil
}

// span is the number of offsets that the batch may lie in.
func (e Expect) span() int64 {
	if e.End == 0 {
		return segmentOffsets
	}
	return e.End - e.Offset
}

// Behind is what to expect of the batch that follows the one of h, where that is as it should be.
func (e Expect) Behind(h Header) Expect {
	if e.End == 0 {
		e.End = e.Offset + segmentOffsets
	}
	e.Offset = h.NextOffset()
	e.Epoch = max(e.Epoch, h.LeaderEpoch)
	if e.Bytes > 0 {
		e.Bytes = max(e.Bytes-int64(h.Size), 1) // 1 fits nothing, 0 would say that it is not known
	}
	return e
}
