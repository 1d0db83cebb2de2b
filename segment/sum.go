package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// The .sum file; the package's comment shows it.
const (
	sumMagic      = "strataSM"
	sumVersion    = 0
	sumVersionAt  = 8
	sumCRCAt      = 12
	sumFilesAt    = 16
	sumPieceBytes = 64 << 10
)

// sumOf are the files that a .sum covers, in its order.
var sumOf = [...]string{LogExt, IndexExt, TimeIndexExt, TxnIndexExt}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sums are the content of a .sum file.
type sums [len(sumOf)]fileSum

// fileSum is what is known of one file.
type fileSum struct {
	size   int64 // −1 where there is none
	pieces []uint32
}

// encode is the file.
func (x *sums) encode() []byte {
	b := append(make([]byte, 0, 4096), sumMagic...)
	b = binary.BigEndian.AppendUint32(b, sumVersion)
	b = binary.BigEndian.AppendUint32(b, 0)
	for _, f := range x {
		b = binary.BigEndian.AppendUint64(b, uint64(f.size))
		for _, crc := range f.pieces {
			b = binary.BigEndian.AppendUint32(b, crc)
		}
	}
	binary.BigEndian.PutUint32(b[sumCRCAt:], crc32.Checksum(b[sumFilesAt:], castagnoli))
	return b
}

// parseSums is the opposite of encode. ok is false where b is not a whole file.
func parseSums(b []byte) (x sums, ok bool) {
	if len(b) < sumFilesAt || !bytes.HasPrefix(b, []byte(sumMagic)) ||
		binary.BigEndian.Uint32(b[sumVersionAt:]) != sumVersion ||
		binary.BigEndian.Uint32(b[sumCRCAt:]) != crc32.Checksum(b[sumFilesAt:], castagnoli) {
		return x, false
	}
	b = b[sumFilesAt:]
	for i := range x {
		if len(b) < 8 {
			return x, false
		}
		size := int64(binary.BigEndian.Uint64(b))
		b = b[8:]
		pieces := (max(0, size) + sumPieceBytes - 1) / sumPieceBytes
		if size < -1 || size > maxSetBytes || pieces > int64(len(b)/4) {
			return x, false
		}
		x[i].size = size
		for ; pieces > 0; pieces-- {
			x[i].pieces = append(x[i].pieces, binary.BigEndian.Uint32(b))
			b = b[4:]
		}
	}
	return x, len(b) == 0
}

// sumFile computes the sum of a file of the segment.
func (s *Segment) sumFile(extension string) (sum fileSum, err error) {
	file, err := s.fsys.OpenFile(s.path(extension), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fileSum{size: -1}, nil
	}
	if err != nil {
		return fileSum{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if sum.size, err = file.Size(); err != nil {
		return fileSum{}, err
	}
	w := scanOf(file, sum.size)
	defer w.free()
	for pos := int64(0); pos < sum.size; pos += sumPieceBytes {
		piece, err := w.at(pos, sumPieceBytes)
		if err != nil {
			return fileSum{}, &fsio.PosError{Op: "read", Path: file.Name(), Pos: pos, Err: err}
		}
		sum.pieces = append(sum.pieces, crc32.Checksum(piece, castagnoli))
	}
	return sum, nil
}

// writeSum writes the .sum file. Where there is no room for it, there is none.
func (s *Segment) writeSum() error {
	var x sums
	for i, extension := range sumOf {
		var err error
		if x[i], err = s.sumFile(extension); err != nil {
			return err
		}
	}
	file, err := s.fsys.OpenFile(s.path(SumExt), os.O_RDWR|os.O_CREATE|os.O_TRUNC, filePerm)
	if err == nil {
		_, err = file.WriteAt(x.encode(), 0)
		err = errors.Join(err, file.Close())
	}
	if err != nil && fsio.NoRoom(err) {
		return s.removeFiles(SumExt)
	}
	return err
}

// maxSumBytes is the largest .sum: that of a full log and three full indexes.
const maxSumBytes = sumFilesAt + int64(len(sumOf))*(8+4*(maxSetBytes/sumPieceBytes+1))

// readSum reads the .sum file. ok is false where there is none that can be read as one.
func (s *Segment) readSum() (x sums, ok bool, err error) {
	file, err := s.fsys.OpenFile(s.path(SumExt), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return x, false, nil
	}
	if err != nil {
		return x, false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Size()
	if err != nil || size > maxSumBytes {
		return x, false, err
	}
	b := make([]byte, size)
	if _, err := file.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return x, false, err
	}
	x, ok = parseSums(b)
	return x, ok, nil
}

// compare calls damaged for each stretch of the file with the given number that is not what its sum says:
// one for each piece, and one for all behind the common size.
func (s *Segment) compare(was fileSum, i int, damaged func(pos, size int64, why error) error) error {
	is, err := s.sumFile(sumOf[i])
	if err != nil {
		return err
	}
	for n := range min(len(was.pieces), len(is.pieces)) {
		pos := int64(n) * sumPieceBytes
		size := min(sumPieceBytes, max(is.size, was.size)-pos)
		if was.pieces[n] == is.pieces[n] && size <= min(is.size, was.size)-pos {
			continue
		}
		if err := damaged(pos, size, fmt.Errorf("checksum %08x, not %08x", is.pieces[n], was.pieces[n])); err != nil {
			return err
		}
	}
	common := int64(min(len(was.pieces), len(is.pieces))) * sumPieceBytes
	if end := max(is.size, was.size); len(was.pieces) != len(is.pieces) {
		return damaged(common, end-common, fmt.Errorf("size %d, not %d", is.size, was.size))
	}
	return nil
}

// dropSum removes the .sum file before anything that it covers is changed. renewSum writes it again, if the
// segment is still sealed.
func (s *Segment) dropSum() error {
	s.w.unsummed = true
	return s.removeFiles(SumExt)
}

func (s *Segment) renewSum() error {
	if !s.w.unsummed || !s.o.Sums || !s.sealed.Load() {
		return nil
	}
	s.w.unsummed = false
	return s.writeSum()
}

// checkSums does without the indexes that are not what the .sum file says. The log is left to Verify.
func (s *Segment) checkSums() error {
	x, ok, err := s.readSum()
	if !ok || err != nil {
		return err
	}
	for i, f := range []*indexFile{nil, &s.offset, &s.time} {
		if f == nil {
			continue
		}
		err := s.compare(x[i], i, func(pos, _ int64, why error) error {
			f.doWithout(sumErr(s.path(f.extension), pos, why, index.ErrCorrupt))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sumErr says that a file is not what its sum says.
func sumErr(path string, pos int64, why, class error) error {
	return &fsio.PosError{Op: "verify", Path: path, Pos: pos, Err: fmt.Errorf("%w: %w: %w", why, ErrSum, class)}
}

// sums compares the files with the .sum file. Of the log it tells what nothing else has told: of the bytes
// that no batch's checksum covers.
func (v *verifier) sums() error {
	if !v.seg.sealed.Load() {
		return nil
	}
	x, ok, err := v.seg.readSum()
	if !ok || err != nil {
		return err
	}
	for i, extension := range sumOf {
		path, class := v.seg.path(extension), index.ErrCorrupt
		if extension == LogExt {
			class = codec.ErrCorrupt
		}
		err := v.seg.compare(x[i], i, func(pos, size int64, why error) error {
			if v.told(path, pos, size) {
				return nil
			}
			return v.tell(Damage{
				Path: path, Pos: pos, Size: size,
				FirstOffset: codec.NoOffset, NextOffset: codec.NoOffset, Err: sumErr(path, pos, why, class),
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
