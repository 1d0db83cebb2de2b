package cli

import (
	"strconv"
	"strings"

	"github.com/stratalog/strata/codec"
)

// defaultLayout is how cat shows a record, where nothing else is asked for.
const defaultLayout = `%o\t%k\t%s\n`

// layoutHelp is the part of kcat's layout language that parseLayout knows.
const layoutHelp = `%o offset, %k key, %s value, %t topic, %p partition, %T timestamp in ms, %h headers as a=b,c=d,
%K and %S the sizes of key and value (-1 of null), %% a percent sign; \n \t \r \\ \0 and \xHH`

// piece appends a part of a record's line to dst.
type piece func(dst []byte, p partitionName, r codec.Record) []byte

// layout is how a record is shown as text. Bytes are shown as they are, and null as nothing.
type layout []piece

// parseLayout reads a layout in kcat's language.
func parseLayout(s string) (layout, error) {
	var l layout
	for len(s) > 0 {
		text, n, err := plainText(s)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			l = append(l, func(dst []byte, _ partitionName, _ codec.Record) []byte { return append(dst, text...) })
			s = s[n:]
			continue
		}
		if len(s) < 2 || pieces[s[1]] == nil {
			return nil, usagef("the layout has no %q: %s", s[:min(2, len(s))], strings.ReplaceAll(layoutHelp, "\n", " "))
		}
		l, s = append(l, pieces[s[1]]), s[2:]
	}
	return l, nil
}

// plainText is the text that s begins with, up to the first percent sign, and how much of s that is.
func plainText(s string) (text string, n int, err error) {
	var b strings.Builder
	for n < len(s) && s[n] != '%' {
		if s[n] != '\\' {
			b.WriteByte(s[n])
			n++
			continue
		}
		c, size := unescape(s[n:])
		if size == 0 {
			return "", 0, usagef("the layout has no escape %q: %s", s[n:min(n+2, len(s))], strings.ReplaceAll(layoutHelp, "\n", " "))
		}
		b.WriteByte(c)
		n += size
	}
	return b.String(), n, nil
}

// unescape is the byte for the escape that s begins with, and the escape's size, 0 where there is none.
func unescape(s string) (c byte, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`nrt\0`, s[1]); i >= 0 {
		return "\n\r\t\\\x00"[i], 2
	}
	if s[1] == 'x' && len(s) >= 4 {
		if n, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
			return byte(n), 4
		}
	}
	return 0, 0
}

// pieces are the parts that a layout can name, by letter.
var pieces = [256]piece{
	'%': func(dst []byte, _ partitionName, _ codec.Record) []byte { return append(dst, '%') },
	'o': func(dst []byte, _ partitionName, r codec.Record) []byte { return strconv.AppendInt(dst, r.Offset, 10) },
	'k': func(dst []byte, _ partitionName, r codec.Record) []byte { return append(dst, r.Key...) },
	's': func(dst []byte, _ partitionName, r codec.Record) []byte { return append(dst, r.Value...) },
	'K': func(dst []byte, _ partitionName, r codec.Record) []byte {
		return strconv.AppendInt(dst, int64(javaSize(r.Key)), 10)
	},
	'S': func(dst []byte, _ partitionName, r codec.Record) []byte {
		return strconv.AppendInt(dst, int64(javaSize(r.Value)), 10)
	},
	'T': func(dst []byte, _ partitionName, r codec.Record) []byte {
		return strconv.AppendInt(dst, r.Timestamp, 10)
	},
	't': func(dst []byte, p partitionName, _ codec.Record) []byte {
		if p.topic == nil {
			return dst
		}
		return append(dst, *p.topic...)
	},
	'p': func(dst []byte, p partitionName, _ codec.Record) []byte {
		if p.id == nil {
			return dst
		}
		return strconv.AppendInt(dst, int64(*p.id), 10)
	},
	'h': appendHeaders,
}

// appendHeaders appends the headers of r, as kcat shows them.
func appendHeaders(dst []byte, _ partitionName, r codec.Record) []byte {
	for i, h := range r.Headers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, h.Key...), '=')
		if h.Value == nil {
			dst = append(dst, "NULL"...)
		}
		dst = append(dst, h.Value...)
	}
	return dst
}
