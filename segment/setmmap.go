package segment

import (
	"errors"

	"github.com/stratalog/strata/fsio"
)

const (
	// usualReserve is what OpenMmap reserves where nothing tells how large the set will be: Kafka's
	// segment.bytes.
	usualReserve = 1 << 30

	// growBytes is what it reserves more where that was too little.
	growBytes = 64 << 20
)

// OpenMmap opens a set that is preallocated and mapped while it is written, so that an append needs no
// system call. Its file is longer than Size until Seal or Close.
func OpenMmap(fsys fsio.FS, name string, o SetOptions) (MessageSet, error) {
	reserve := o.PreallocateBytes
	if reserve == 0 {
		reserve = o.SegmentBytes
	}
	if reserve == 0 {
		reserve = usualReserve
	}
	o.PreallocateBytes = min(reserve, maxSetBytes)
	s, err := openFileSet(fsys, name, o)
	if err != nil || s.sealed {
		return s, err
	}
	s.reserve = o.PreallocateBytes
	if s.mapped, err = s.file.Map(s.length, fsio.ReadWrite); err != nil {
		return nil, errors.Join(err, s.file.Close())
	}
	return s, nil
}

// store writes b at pos through the mapping, which grows where it is too short.
func (s *fileSet) store(b []byte, pos int64) error {
	if need := pos + int64(len(b)); need > s.mapped.Len() {
		if err := s.grow(need); err != nil {
			return err
		}
	}
	_, err := s.mapped.WriteAt(b, pos)
	return err
}

// grow reserves need bytes: with what was to be reserved, with more to come, or, where there is no room for
// that, exactly.
func (s *fileSet) grow(need int64) error {
	size := s.reserve
	if need > size {
		size = min(need+growBytes, maxSetBytes)
	}
	err := s.mapped.Resize(size)
	if err != nil && fsio.NoRoom(err) {
		err = s.mapped.Resize(need)
	}
	if err == nil {
		s.length = s.mapped.Len()
	}
	return err
}
