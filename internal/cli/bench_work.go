package cli

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/log"
)

// benchBytes is how much of different batches the works take in turn, so that they do not stay in the
// processor's cache.
const benchBytes = 48 << 20

// castagnoli is the polynomial of the batches' checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newBatches encodes batches of records with values of size random bytes, as a producer would send them, for a work
// of so many bytes.
func newBatches(records, size int, bytes int64) (batches [][]byte, err error) {
	random := rand.NewChaCha8([32]byte{1})
	for total := 0; total < int(min(benchBytes, bytes)); total += len(batches[len(batches)-1]) {
		recs := make([]codec.Record, records)
		for i := range recs {
			value := make([]byte, size)
			_, _ = random.Read(value) // it does not fail
			recs[i] = codec.Record{Offset: int64(i), Timestamp: 1_700_000_000_000 + int64(i), Value: value}
		}
		b, err := codec.Kafka().Append(nil, codec.NewHeader(2), recs)
		if err != nil {
			return nil, err
		}
		batches = append(batches, b)
	}
	return batches, nil
}

// appendWork appends bytes of batches, in turn to a plain file and to a log, new ones in each round.
type appendWork struct {
	ctx     context.Context
	dir     string
	batches [][]byte
	n       int // batches a round
	file    *os.File
	log     *log.Log
}

// appending is the work of appending batches of records of size bytes.
func appending(records, size int) func(context.Context, string, int64) (rounds, error) {
	return func(ctx context.Context, dir string, bytes int64) (rounds, error) {
		batches, err := newBatches(records, size, bytes)
		if err != nil {
			return rounds{}, err
		}
		w := &appendWork{ctx: ctx, dir: dir, batches: batches, n: int(bytes) / len(batches[0])}
		return rounds{side{w.newFile, w.writeFile}, side{w.newLog, w.appendLog}, w.stop}, nil
	}
}

// stop removes what the last rounds left.
func (w *appendWork) stop() error { return errors.Join(w.dropFile(), w.dropLog()) }

func (w *appendWork) newFile() (err error) {
	if err := w.stop(); err != nil {
		return err
	}
	w.file, err = os.Create(filepath.Join(w.dir, "raw"))
	return err
}

// dropFile syncs the file before it goes, so that no round writes back what an earlier one left.
func (w *appendWork) dropFile() error {
	if w.file == nil {
		return nil
	}
	err := errors.Join(w.file.Sync(), w.file.Close(), os.Remove(w.file.Name()))
	w.file = nil
	return err
}

func (w *appendWork) writeFile() error {
	pos, sum := int64(0), uint32(0)
	for i := range w.n {
		b := w.batches[i%len(w.batches)]
		sum ^= crc32.Checksum(b, castagnoli)
		n, err := w.file.WriteAt(b, pos)
		if err != nil {
			return err
		}
		pos += int64(n)
	}
	return nil
}

func (w *appendWork) newLog() (err error) {
	if err := w.stop(); err != nil {
		return err
	}
	w.log, err = log.Open(w.ctx, filepath.Join(w.dir, "bench-0"), log.Options{})
	return err
}

func (w *appendWork) dropLog() error {
	if w.log == nil {
		return nil
	}
	err := errors.Join(w.log.Close(), os.RemoveAll(filepath.Join(w.dir, "bench-0")))
	w.log = nil
	return err
}

func (w *appendWork) appendLog() error {
	for i := range w.n {
		b := w.batches[i%len(w.batches)]
		clear(b[:8]) // the base offset that the append before gave it: a producer sends 0
		if _, err := w.log.Append(b); err != nil {
			return err
		}
	}
	return nil
}

// scanWork reads a log, in turn by its segments' files and by its records.
type scanWork struct {
	ctx   context.Context
	dir   string
	log   *log.Log
	files []*os.File
	buf   []byte
}

// scanning is the work of visiting all records of a log of batches of records of size bytes.
func scanning(records, size int) func(context.Context, string, int64) (rounds, error) {
	return func(ctx context.Context, dir string, bytes int64) (rounds, error) {
		w := &scanWork{ctx: ctx, dir: filepath.Join(dir, "scan-0"), buf: make([]byte, 1<<20)}
		if err := w.fill(records, size, bytes); err != nil {
			return rounds{}, errors.Join(err, w.stop())
		}
		nothing := func() error { return nil }
		return rounds{side{nothing, w.readFiles}, side{nothing, w.visit}, w.stop}, nil
	}
}

// fill writes the log.
func (w *scanWork) fill(records, size int, bytes int64) error {
	batches, err := newBatches(records, size, bytes)
	if err != nil {
		return err
	}
	if w.log, err = log.Open(w.ctx, w.dir, log.Options{}); err != nil {
		return err
	}
	for i := range int(bytes) / len(batches[0]) {
		b := batches[i%len(batches)]
		clear(b[:8])
		if _, err := w.log.Append(b); err != nil {
			return err
		}
	}
	if err := w.log.Sync(w.log.EndOffset()); err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(w.dir, "*.log"))
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		w.files = append(w.files, f)
	}
	return nil
}

// stop removes the log.
func (w *scanWork) stop() error {
	var errs []error
	for _, f := range w.files {
		errs = append(errs, f.Close())
	}
	if w.log != nil {
		errs = append(errs, w.log.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

func (w *scanWork) readFiles() error {
	sum := uint32(0)
	for _, f := range w.files {
		for pos := int64(0); ; {
			n, err := f.ReadAt(w.buf, pos)
			sum = crc32.Update(sum, castagnoli, w.buf[:n])
			pos += int64(n)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *scanWork) visit() error {
	next := w.log.StartOffset()
	for r, err := range w.log.Records(w.ctx, next) {
		if err != nil {
			return err
		}
		next = r.Offset + 1
	}
	if end := w.log.EndOffset(); next != end {
		return fmt.Errorf("visited records up to offset %d of %d", next, end)
	}
	return nil
}
