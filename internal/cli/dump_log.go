package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/stratalog/strata/codec"
	"github.com/stratalog/strata/segment"
)

// log shows the batches of a .log or .checkpoint file.
func (d *dump) log(f *openFile) error {
	head, err := logHead(path.Base(f.Name()))
	if err != nil {
		return err
	}
	d.show.note(head)
	l := &logDump{dump: d, window: window{file: attentive{f, d.stop}, end: min(f.size, d.maxBytes)}, last: codec.NoOffset}
	for l.at < l.end {
		if err := d.stop(); err != nil {
			return err
		}
		more, err := l.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if l.at < l.end && d.maxBytes == math.MaxInt32 {
		d.report(problem{kind: trailing, a: l.end - l.at, pos: l.at, offset: l.expect.Offset})
	}
	return nil
}

// logDump is the dump of one .log file.
type logDump struct {
	*dump
	window
	at     int64        // the position that it has come to
	last   int64        // the offset of the last record shown, or NoOffset
	expect codec.Expect // of the batch there
}

// next shows the batch at l.at, or the damage there; more is false where nothing follows.
func (l *logDump) next() (more bool, err error) {
	h, err := l.batchAt(l.codec, l.at)
	short := errors.Is(err, codec.ErrShort)
	switch {
	case short && l.output == "kafka":
		return false, nil
	case err == nil:
		b, err := l.bytes(l.at, int64(h.Size))
		if err != nil {
			return false, err
		}
		invalid := l.codec.Verify(b)
		if invalid == nil || l.output == "kafka" {
			l.batch(h, b, invalid == nil)
			return true, nil
		}
	case !short && !isDamage(err):
		return false, err
	}
	return l.damage()
}

// batch shows the batch b, whose header is h.
func (l *logDump) batch(h codec.Header, b []byte, valid bool) {
	l.bad = l.bad || !valid
	l.show.batch(l.at, h, valid)
	if l.deep {
		l.records(h, b)
	}
	l.at += int64(h.Size)
	if valid {
		l.expect = l.expect.Behind(h)
	}
}

// damage shows what is wrong at l.at, and passes over it to the next good batch.
func (l *logDump) damage() (more bool, err error) {
	rest := io.NewSectionReader(l.window.file, l.at, l.end-l.at)
	l.expect.Bytes = l.end - l.at
	piece, err := codec.NewScanner(l.codec, rest, l.expect).Next()
	if err != nil || piece.Err == nil {
		return false, err
	}
	h, err := l.batchAt(l.codec, l.at)
	switch {
	case err == nil && int64(h.Size) == piece.Size: // its size is right, so it can be shown
		l.bad = true
		l.show.batch(l.at, h, false)
	case piece.Size == l.end-l.at && !isDamage(err):
		return false, nil // a batch that is cut off
	default:
		if l.zeros(l.at, piece.Size) {
			piece.Err = errZeros
		}
		l.report(problem{kind: damage, a: piece.Size, pos: l.at, offset: piece.FirstOffset, next: piece.NextOffset, err: piece.Err})
	}
	l.at += piece.Size
	l.expect.Offset, l.last = max(l.expect.Offset, piece.NextOffset), codec.NoOffset
	return true, nil
}

// errZeros is what is wrong with space that was reserved, or that a crash left.
var errZeros = errors.New("they are zeros, reserved or never written")

// isDamage reports whether err is of bytes, not of reading them.
func isDamage(err error) bool {
	return errors.Is(err, codec.ErrCorrupt) || errors.Is(err, codec.ErrMagic) || errors.Is(err, codec.ErrTooLarge)
}

// records shows the records of the batch b.
func (l *logDump) records(h codec.Header, b []byte) {
	for r, err := range l.codec.Records(b) {
		if err != nil {
			l.report(problem{kind: damage, pos: l.at, a: int64(h.Size), offset: h.BaseOffset, next: h.NextOffset(), err: err})
			return
		}
		if l.last != codec.NoOffset && r.Offset != l.last+1 {
			l.report(problem{kind: gap, a: l.last, b: r.Offset})
		}
		l.last = r.Offset
		l.show.record(h, r)
	}
}

// logHead is the line with which a log's dump begins.
func logHead(name string) (string, error) {
	number, _, _ := strings.Cut(name, ".")
	switch {
	case name == "bootstrap"+checkpointExt:
		return "KRaft bootstrap snapshot", nil
	case strings.HasSuffix(name, checkpointExt):
		offset, epoch, _ := strings.Cut(number, "-")
		end, err1 := strconv.ParseInt(offset, 10, 64)
		leader, err2 := strconv.ParseInt(epoch, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return "", fmt.Errorf("%s is not named by an offset and an epoch, as a snapshot is", name)
		}
		return fmt.Sprintf("Snapshot end offset: %d, epoch: %d", end, leader), nil
	}
	base, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return "", fmt.Errorf("%s is not named by an offset, as a segment is", name)
	}
	return fmt.Sprintf("Log starting offset: %d", base), nil
}

// timeOf is the largest timestamp in the batch b.
func (d *dump) timeOf(b []byte) (int64, error) {
	largest := codec.NoTimestamp
	for r, err := range d.codec.Records(b) {
		if err != nil {
			return 0, err
		}
		largest = max(largest, r.Timestamp)
	}
	return largest, nil
}

// sibling opens the file of the same segment with another extension.
func (f *openFile) sibling(extension string) (*openFile, error) {
	name := f.Name()
	return openForReading(f.fsys, name[:len(name)-len(path.Ext(name))]+extension)
}

// baseOffset is the offset that f is named by.
func (f *openFile) baseOffset() (int64, error) {
	base, _, _, ok := segment.ParseFileName(path.Base(f.Name()))
	if !ok {
		return 0, fmt.Errorf("%s is not named by an offset in 20 digits", f.Name())
	}
	return base, nil
}
