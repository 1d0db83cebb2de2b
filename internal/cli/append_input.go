package cli

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	in := recordLine{Type: "record"}
	if err := json.Unmarshal(line, &in); err != nil {
		return r, fmt.Errorf("no JSON object of a record: %w", err)
	}
	switch {
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
		value, err := decodeBytes("header", h.Value, h.Encoding)
		if err != nil {
			return r, err
		}
		r.Headers = append(r.Headers, codec.RecordHeader{Key: []byte(h.Key), Value: value})
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
	}
	return nil, fmt.Errorf("the %s has the unknown encoding %q: utf8, base64 and null are known", name, encoding)
}
