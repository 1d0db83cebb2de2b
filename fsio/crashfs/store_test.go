package crashfs_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stratalog/strata/fsio"
)

// bug is a mistake that the reference store can be asked to make.
type bug string

const (
	noBug              bug = "none"
	ackEarly           bug = "ack before the sync"
	pointNotSynced     bug = "checkpoint not synced"
	pointRenamedFirst  bug = "checkpoint renamed before its sync"
	pointInPlace       bug = "checkpoint written in place"
	noChecksum         bug = "no checksum looked at"
	segmentNotNamed    bug = "directory of a new segment not synced"
	rolledNotSynced    bug = "rolled segment not synced"
	swapOneSync        bug = "swap with one sync of the directory"
	tailKept           bug = "torn tail not cut"
	rewriteNotSynced   bug = "recovery rewrites without a sync"
	syncRetried        bug = "sync retried after a failure"
	partKept           bug = "no truncate after ENOSPC"
	indexOnlyFlushed   bug = "map flushed without a sync of the file"
	indexTrusted       bug = "index of the last segment trusted"
	removesBeforeSwap  bug = "recovery of a swap removes before it renames"
	segmentBeforeFlush bug = "new segment before the old one is synced"
)

const (
	storeDir   = "s"
	pointName  = storeDir + "/point"
	frameBytes = 14 // length uint16, checksum uint32, number uint64
	indexRoom  = 4096
)

var errDamaged = errors.New("damaged")

// store is a log of numbered records in segments: the reference for the tests of this package. Each segment
// has an index, written through a map, and a checkpoint says up to where all is durable.
type store struct {
	fsys   fsio.FS
	bug    bug
	bases  []uint64 // of the segments
	file   fsio.File
	pos    int64
	index  fsio.File
	lookup fsio.Map
	next   uint64
	failed error
}

// record is the content of record n.
func record(n uint64) []byte {
	return bytes.Repeat([]byte(fmt.Sprintf("record %d;", n)), 1+int(n*7%23))
}

func frame(n uint64) []byte {
	b := make([]byte, 6, frameBytes+256)
	b = binary.BigEndian.AppendUint64(b, n)
	b = append(b, record(n)...)
	binary.BigEndian.PutUint16(b, uint16(len(b)))
	binary.BigEndian.PutUint32(b[2:], crc32.ChecksumIEEE(b[6:]))
	return b
}

func segmentName(base uint64, suffix string) string {
	return storeDir + "/" + strconv.FormatUint(base, 10) + suffix
}

// openStore recovers what is in fsys.
func openStore(fsys fsio.FS, b bug) (*store, error) {
	s := &store{fsys: fsys, bug: b}
	err := errors.Join(fsys.MkdirAll(storeDir, 0o755), fsys.SyncDir("."))
	if err == nil {
		err = s.finishSwaps()
	}
	if err == nil {
		err = s.list()
	}
	if err == nil {
		err = s.recover()
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// finishSwaps undoes or completes the replacement of segments.
func (s *store) finishSwaps() error {
	entries, err := s.fsys.ReadDir(storeDir)
	if err != nil {
		return err
	}
	var swaps, rest []string
	for _, e := range entries {
		name := storeDir + "/" + e.Name()
		switch {
		case strings.HasSuffix(name, ".swap"):
			swaps = append(swaps, name)
		case strings.HasSuffix(name, ".cleaned"), strings.HasSuffix(name, ".deleted"), strings.HasSuffix(name, ".tmp"):
			rest = append(rest, name)
		}
	}
	rename := func() error {
		for _, name := range swaps {
			if err := s.fsys.Rename(name, strings.TrimSuffix(name, ".swap")); err != nil {
				return err
			}
		}
		if len(swaps) == 0 {
			return nil
		}
		return s.fsys.SyncDir(storeDir)
	}
	if s.bug == removesBeforeSwap {
		rest = append(rest, swaps...)
		swaps = nil
	}
	if err := rename(); err != nil {
		return err
	}
	for _, name := range rest {
		if err := s.fsys.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// list finds the segments.
func (s *store) list() error {
	entries, err := s.fsys.ReadDir(storeDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if base, ok := strings.CutSuffix(e.Name(), ".log"); ok {
			n, err := strconv.ParseUint(base, 10, 64)
			if err != nil {
				return err
			}
			s.bases = append(s.bases, n)
		}
	}
	slices.Sort(s.bases)
	return nil
}

// recover scans all segments, and opens the last for appends.
func (s *store) recover() error {
	point, err := s.readPoint()
	if err != nil {
		return err
	}
	if len(s.bases) == 0 {
		if point > 0 {
			return fmt.Errorf("%w: no segment, checkpoint %d", errDamaged, point)
		}
		return s.begin(0)
	}
	for i, base := range s.bases {
		if base != s.next {
			return fmt.Errorf("%w: segment %d after record %d", errDamaged, base, s.next)
		}
		positions, size, err := s.scan(base)
		if err != nil {
			return err
		}
		if i == len(s.bases)-1 {
			if s.next < point {
				return fmt.Errorf("%w: ends at %d, checkpoint %d", errDamaged, s.next, point)
			}
			return s.reopen(base, positions, size)
		}
		if s.pos != size {
			return fmt.Errorf("%w: segment %d is torn at %d", errDamaged, base, s.pos)
		}
		if err := s.checkIndex(base, positions); err != nil {
			return err
		}
	}
	return nil
}

// scan reads the records of a segment, and sets s.next and s.pos behind the last good one.
func (s *store) scan(base uint64) (positions []int64, size int64, err error) {
	text, err := readFile(s.fsys, segmentName(base, ".log"))
	if err != nil {
		return nil, 0, err
	}
	s.next, s.pos = base, 0
	for rest := text; len(rest) >= frameBytes; {
		n := int(binary.BigEndian.Uint16(rest))
		if n < frameBytes || n > len(rest) || binary.BigEndian.Uint64(rest[6:]) != s.next {
			break
		}
		if s.bug != noChecksum && binary.BigEndian.Uint32(rest[2:]) != crc32.ChecksumIEEE(rest[6:n]) {
			break
		}
		if !bytes.Equal(rest[frameBytes:n], record(s.next)) {
			return nil, 0, fmt.Errorf("record %d is %q", s.next, rest[frameBytes:n])
		}
		positions = append(positions, s.pos)
		rest = rest[n:]
		s.pos += int64(n)
		s.next++
	}
	return positions, int64(len(text)), nil
}

// reopen cuts the torn tail of the last segment, and makes its index anew.
func (s *store) reopen(base uint64, positions []int64, size int64) (err error) {
	if s.bug == rewriteNotSynced && size > s.pos {
		if err := s.rewrite(segmentName(base, ".log")); err != nil {
			return err
		}
		size = s.pos
	}
	if s.file, err = s.fsys.OpenFile(segmentName(base, ".log"), os.O_RDWR, 0); err != nil {
		return err
	}
	switch {
	case s.bug == tailKept:
		s.pos = size
	case size > s.pos:
		err = s.file.Truncate(s.pos)
	}
	if err := errors.Join(err, s.file.Sync(), s.fsys.SyncDir(storeDir)); err != nil {
		return err
	}
	if s.bug == indexTrusted {
		if err := s.checkIndex(base, positions); err != nil {
			return err
		}
	}
	return s.openIndex(base, positions)
}

// rewrite cuts a torn tail by way of a new file, which it should sync before it renames it.
func (s *store) rewrite(name string) error {
	text, err := readFile(s.fsys, name)
	if err != nil {
		return err
	}
	f, err := s.fsys.OpenFile(name+".tmp", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text[:s.pos], 0)
	return errors.Join(err, f.Close(), s.fsys.Rename(name+".tmp", name), s.fsys.SyncDir(storeDir))
}

// begin makes the segment that starts with record base.
func (s *store) begin(base uint64) (err error) {
	s.bases = append(s.bases, base)
	s.pos = 0
	if s.file, err = s.fsys.OpenFile(segmentName(base, ".log"), os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return err
	}
	if err := s.openIndex(base, nil); err != nil {
		return err
	}
	if s.bug == segmentNotNamed {
		return nil
	}
	return s.fsys.SyncDir(storeDir)
}

// openIndex makes the index of the segment base.
func (s *store) openIndex(base uint64, positions []int64) (err error) {
	if s.index, err = s.fsys.OpenFile(segmentName(base, ".index"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644); err != nil {
		return err
	}
	if err := s.index.Allocate(indexRoom); err != nil {
		return err
	}
	if s.lookup, err = s.index.Map(indexRoom, fsio.ReadWrite); err != nil {
		return err
	}
	for i, pos := range positions {
		if err := s.put(i, pos); err != nil {
			return err
		}
	}
	return nil
}

// put writes the i-th entry of the index.
func (s *store) put(i int, pos int64) error {
	_, err := s.lookup.WriteAt(binary.BigEndian.AppendUint64(nil, uint64(pos)+1), 8*int64(i))
	return err
}

// checkIndex holds the index of a sealed segment against its records.
func (s *store) checkIndex(base uint64, positions []int64) error {
	text, err := readFile(s.fsys, segmentName(base, ".index"))
	if err != nil {
		return err
	}
	if s.bug == indexTrusted {
		text = text[:min(8*len(positions), len(text))]
	}
	var want []byte
	for _, pos := range positions {
		want = binary.BigEndian.AppendUint64(want, uint64(pos)+1)
	}
	if !bytes.Equal(text, want) {
		return fmt.Errorf("%w: index %d of %d bytes", errDamaged, base, len(text))
	}
	return nil
}

// append writes the next record.
func (s *store) append() error {
	if s.failed != nil {
		return s.failed
	}
	b := frame(s.next)
	if n, err := s.file.WriteAt(b, s.pos); err != nil {
		switch {
		case !fsio.NoRoom(err):
			s.failed = err
		case s.bug == partKept:
			s.pos += int64(n)
		default:
			if cut := s.file.Truncate(s.pos); cut != nil {
				s.failed = cut
			}
		}
		return err
	}
	if err := s.put(int(s.next-s.bases[len(s.bases)-1]), s.pos); err != nil {
		s.failed = err
		return err
	}
	s.pos += int64(len(b))
	s.next++
	return nil
}

// sync makes all records durable.
func (s *store) sync() error {
	if s.failed != nil {
		return s.failed
	}
	if s.bug == ackEarly {
		return nil
	}
	err := s.file.Sync()
	if err != nil && s.bug == syncRetried {
		return s.file.Sync()
	}
	s.failed = err
	return err
}

// roll seals the last segment, and begins another.
func (s *store) roll() error {
	if s.failed != nil {
		return s.failed
	}
	old := *s
	if s.bug == segmentBeforeFlush {
		if err := s.begin(s.next); err != nil {
			s.failed = err
			return err
		}
	}
	err := old.seal(s.next - old.bases[len(old.bases)-1])
	if err == nil && s.bug != segmentBeforeFlush {
		err = s.begin(s.next)
	}
	if err == nil {
		err = s.writePoint(s.next)
	}
	s.failed = err
	return err
}

// seal makes the segment durable, and closes it.
func (s *store) seal(entries uint64) error {
	var errs []error
	if s.bug != rolledNotSynced {
		errs = append(errs, s.file.Sync())
	}
	errs = append(errs, s.lookup.Resize(8*int64(entries)))
	if s.bug == indexOnlyFlushed {
		errs = append(errs, s.lookup.Flush(0, s.lookup.Len()))
	} else {
		errs = append(errs, s.index.Sync())
	}
	return errors.Join(append(errs, s.closeFiles())...)
}

func (s *store) closeFiles() (err error) {
	if s.lookup != nil {
		err = s.lookup.Close()
	}
	for _, f := range []fsio.File{s.index, s.file} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

func (s *store) close() error { return s.closeFiles() }

// swap replaces a sealed segment by a new copy, as a compaction does.
func (s *store) swap(base uint64) error {
	if s.failed != nil {
		return s.failed
	}
	log := segmentName(base, ".log")
	text, err := readFile(s.fsys, log)
	if err != nil {
		return err
	}
	if err := writeSynced(s.fsys, log+".cleaned", text); err != nil {
		return err
	}
	for _, step := range [][2]string{
		{log + ".cleaned", log + ".swap"}, {log, log + ".deleted"}, {log + ".swap", log},
	} {
		if err := s.fsys.Rename(step[0], step[1]); err != nil {
			return err
		}
		if s.bug != swapOneSync {
			if err := s.fsys.SyncDir(storeDir); err != nil {
				return err
			}
		}
	}
	return errors.Join(s.fsys.SyncDir(storeDir), s.fsys.Remove(log+".deleted"))
}

// writePoint notes that all records below n are durable.
func (s *store) writePoint(n uint64) error {
	text := fmt.Appendf(nil, "%020d", n)
	text = binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text))
	if s.bug == pointInPlace {
		return writeSynced(s.fsys, pointName, text)
	}
	temp := pointName + ".tmp"
	f, err := s.fsys.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	if s.bug != pointNotSynced && s.bug != pointRenamedFirst {
		err = f.Sync()
	}
	if err == nil {
		err = s.fsys.Rename(temp, pointName)
	}
	if err == nil && s.bug == pointRenamedFirst {
		err = errors.Join(s.fsys.SyncDir(storeDir), f.Sync())
	}
	if err == nil {
		err = s.fsys.SyncDir(storeDir)
	}
	return err
}

// readPoint reads the checkpoint: 0 where there is none.
func (s *store) readPoint() (uint64, error) {
	text, err := readFile(s.fsys, pointName)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if len(text) != 24 || binary.BigEndian.Uint32(text[20:]) != crc32.ChecksumIEEE(text[:20]) {
		return 0, fmt.Errorf("%w: checkpoint %q", errDamaged, text)
	}
	return strconv.ParseUint(string(text[:20]), 10, 64)
}

func readFile(fsys fsio.FS, name string) (b []byte, err error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b = make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b, nil
}

// writeSynced makes name a file that durably holds text.
func writeSynced(fsys fsio.FS, name string, text []byte) (err error) {
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return f.Sync()
}
