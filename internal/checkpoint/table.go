package checkpoint

import (
	"bytes"
	"strconv"

	"github.com/stratalog/strata/fsio"
)

// tableVersion is the only version of offset and epoch checkpoints that there has been.
const tableVersion = 0

// table reads the lines of an offset or epoch checkpoint.
type table struct {
	name  string
	rest  []byte
	pos   int64 // of rest
	begin int64 // of the last line
}

// next is the next line without its end. ok is false behind the last one. The file ends with the end of a
// line: readTable has checked that.
func (t *table) next() (line []byte, ok bool) {
	if len(t.rest) == 0 {
		return nil, false
	}
	t.begin = t.pos
	line, rest, _ := bytes.Cut(t.rest, []byte{'\n'})
	t.pos += int64(len(t.rest) - len(rest))
	t.rest = rest
	return bytes.TrimSuffix(line, []byte{'\r'}), true
}

// corrupt is ErrCorrupt at the last line.
func (t *table) corrupt(format string, args ...any) error {
	return corrupt(t.name, t.begin, format, args...)
}

// number reads a line that is one number.
func (t *table) number(line []byte) (int64, error) {
	n, ok := number(line, 32)
	if !ok {
		return 0, t.corrupt("%.40q is no number", line)
	}
	return n, nil
}

// number reads a decimal number that is not negative and has no more bits than bits less the sign.
func number(field []byte, bits int) (n int64, ok bool) {
	n, err := strconv.ParseInt(string(field), 10, bits)
	return n, err == nil && n >= 0
}

// readTable reads the file name and calls entry with the fields of each entry. entry returns false for
// fields that are none.
func readTable(fsys fsio.FS, name string, limit int64, entry func(fields [][]byte) bool) error {
	data, err := ReadFile(fsys, name, limit)
	if err != nil || len(data) == 0 {
		return err
	}
	if data[len(data)-1] != '\n' {
		return corrupt(name, int64(len(data)), "the last line has no end")
	}
	t := &table{name: name, rest: data}
	line, _ := t.next()
	version, err := t.number(line)
	if err != nil {
		return err
	}
	if version != tableVersion {
		return t.corrupt("version %d is not known", version)
	}
	if line, ok := t.next(); ok {
		want, err := t.number(line)
		if err != nil {
			return err
		}
		return t.entries(want, entry)
	}
	return nil
}

// entries reads the lines behind the number of entries.
func (t *table) entries(want int64, entry func(fields [][]byte) bool) error {
	begin := t.begin
	got := int64(0)
	for line, ok := t.next(); ok; line, ok = t.next() {
		fields := bytes.Fields(line)
		if len(fields) == 0 || line[0] != fields[0][0] || !entry(fields) {
			return t.corrupt("%.300q is no entry", line)
		}
		got++
	}
	if got != want {
		return corrupt(t.name, begin, "%d entries where it says %d", got, want)
	}
	return nil
}

// appendHead begins a file of n entries.
func appendHead(dst []byte, n int) []byte {
	dst = strconv.AppendInt(dst, tableVersion, 10)
	dst = append(dst, '\n')
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '\n')
}
