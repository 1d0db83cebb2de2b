package log

import (
	"github.com/stratalog/strata/codec"
)

// probe finds out, for a log that is opened to be looked at, how far recovery would let it reach. It changes
// nothing.
func (r *loader) probe() error {
	for i := range r.segs {
		s := r.segs[i]
		r.edge = s.Size()
		if i < r.firstUnsynced() && i < len(r.segs)-1 {
			continue
		}
		good, next, err := r.probeSegment(i)
		if err != nil {
			return err
		}
		r.edge, r.end = good, next
		if good < s.Size() {
			for _, behind := range r.segs[i+1:] {
				if err := behind.Close(); err != nil {
					return err
				}
			}
			r.segs = r.segs[:i+1]
			break
		}
	}
	return nil
}

// probeSegment is how far the i-th segment is good, and the offset behind that. Of one that recovery would
// change, the largest timestamp is that of what is good.
func (r *loader) probeSegment(i int) (good, next int64, err error) {
	s := r.segs[i]
	next = s.BaseOffset()
	largest, at := codec.NoTimestamp, codec.NoOffset
	var buf []byte
	for b, err := range s.Batches(0) {
		if err == nil && b.NextOffset() <= next { // also where there is no offset behind it
			break
		}
		if err == nil && !r.resume.Clean && b.LastOffset >= r.resume.RecoveryPoint {
			if buf, err = s.ReadBatch(buf[:0], b); err == nil {
				err = r.parts.Codec.Verify(buf)
			}
		}
		if isDamage(err) {
			break
		}
		if err != nil {
			return 0, 0, err
		}
		good, next = b.End(), b.NextOffset()
		if b.MaxTimestamp > largest {
			largest, at = b.MaxTimestamp, b.LastOffset
		}
	}
	if i >= r.firstUnsynced() || good < s.Size() {
		s.NoteMaxTimestamp(largest, at)
	}
	return good, next, nil
}
