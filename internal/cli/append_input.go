package cli

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stratalog/strata/codec"
)

// errControl says that a line is a control record, which is left out.
var errControl = errors.New("a control record")

// lineReader reads lines and counts them.
type lineReader struct {
	r      *bufio.Reader
	number int // of the last line read, from 1
	long   []byte
}

// next is the next line, without its end, valid until the next call. The last one may lack its end.
func (l *lineReader) next() ([]byte, error) {
	l.number++
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		switch {
		case err == nil && len(l.long) == 0:
			return part[:len(part)-1], nil
		case len(l.long)+len(part) > maxLineBytes:
			return nil, fmt.Errorf("the line is longer than %d bytes", maxLineBytes)
		}
		l.long = append(l.long, part...)
		switch {
		case err == nil:
			return l.long[:len(l.long)-1], nil
		case errors.Is(err, io.EOF) && len(l.long) > 0:
			return l.long, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// parseLine makes a record of a line: a value, or a key, the delimiter and a value.
func (a *appender) parseLine(line []byte) (codec.Record, error) {
	r := codec.Record{Timestamp: now(), Value: line}
	if a.keyDelimiter != "" {
		if key, value, ok := bytes.Cut(line, []byte(a.keyDelimiter)); ok {
			r.Key, r.Value = key, value
		}
	}
	return r, nil
}

// parseJSON makes a record of a line of cat -o json. Of its fields key, value, timestamp and headers count.
func parseJSON(line []byte) (r codec.Record, err error) {
	in := &recordLine{Type: "record"}
	if err := json.Unmarshal(line, &in); err != nil {
		return r, fmt.Errorf("no JSON object of a record: %w", plainly(err))
	}
	switch {
	case in == nil:
		return r, errors.New("no JSON object of a record: null")
	case !wholeText(line):
		return r, errors.New("a string that is no UTF-8, or half of a surrogate pair: give such bytes as base64")
	case in.Type != "record":
		return r, fmt.Errorf("an object of the type %q, not a record", in.Type)
	case in.Control != nil:
		return r, errControl
	}
	if r.Key, err = decodeBytes("key", in.Key, in.KeyEncoding); err != nil {
		return r, err
	}
	if r.Value, err = decodeBytes("value", in.Value, in.ValueEncoding); err != nil {
		return r, err
	}
	for _, h := range in.Headers {
		if h.Key == nil {
			return r, errors.New("a header without a key: Kafka has none")
		}
		value, err := decodeBytes("header", h.Value, h.Encoding)
		if err != nil {
			return r, err
		}
		r.Headers = append(r.Headers, codec.RecordHeader{Key: []byte(*h.Key), Value: value})
	}
	if in.Timestamp == nil {
		r.Timestamp = now()
		return r, nil
	}
	if r.Timestamp = *in.Timestamp; r.Timestamp < codec.NoTimestamp {
		return r, fmt.Errorf("timestamp %d: give ms since 1970, or -1 for none", r.Timestamp)
	}
	return r, nil
}

// plainly is an error of encoding/json that says nothing of Go's types.
func plainly(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok:
		return err
	case wrong.Field == "":
		return fmt.Errorf("it is of the type %s", wrong.Value)
	}
	due := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Slice: "an array", reflect.Struct: "an object", reflect.Pointer: "an object",
	}[wrong.Type.Kind()]
	if due == "" {
		due = fmt.Sprintf("a whole number of %d bits", wrong.Type.Bits())
	}
	return fmt.Errorf("%s is of the type %s, where %s is due", wrong.Field, wrong.Value, due)
}

// decodeBytes is the bytes that the field name holds in the given encoding; without one it is utf8.
func decodeBytes(name string, s *string, encoding string) ([]byte, error) {
	switch {
	case s == nil:
		return nil, nil
	case encoding == "utf8", encoding == "":
		return []byte(*s), nil
	case encoding == "base64":
		b, err := base64.StdEncoding.DecodeString(*s)
		if err != nil {
			return nil, fmt.Errorf("the %s is no base64: %w", name, err)
		}
		return b, nil
	case encoding == "null":
		return nil, fmt.Errorf("the %s is a string, and its encoding null: give one of them", name)
	}
	return nil, fmt.Errorf("the %s has the unknown encoding %q: utf8, base64 and null are known", name, encoding)
}

// wholeText reports whether the strings of a line of JSON are text. Where they are not, encoding/json puts
// U+FFFD in the place of what is wrong, and a copy would not be one.
func wholeText(line []byte) bool {
	if !utf8.Valid(line) {
		return false
	}
	for {
		i := bytes.IndexByte(line, '\\')
		if i < 0 {
			return true
		}
		line = line[i:]
		unit, ok := escapedUnit(line)
		switch {
		case !ok: // another escape, of one character
			line = line[2:]
			continue
		case utf16.IsSurrogate(unit):
			low, ok := escapedUnit(line[unitBytes:])
			if !ok || utf16.DecodeRune(unit, low) == utf8.RuneError {
				return false
			}
			line = line[unitBytes:]
		}
		line = line[unitBytes:]
	}
}

// unitBytes is how long an escape such as \ud83d is.
const unitBytes = 6

// escapedUnit is the UTF-16 code unit with whose escape b begins, if it does.
func escapedUnit(b []byte) (rune, bool) {
	if len(b) < unitBytes || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(b[2:unitBytes]), 16, 16)
	return rune(unit), err == nil
}
