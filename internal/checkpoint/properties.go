package checkpoint

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// What Java's Properties take for white space inside of a line, and for the end of a key.
const (
	propertySpace = " \t\f"
	propertyEnd   = propertySpace + "=:"
)

// errEscape says that a \u is not followed by four hexadecimal digits.
var errEscape = errors.New("malformed \\u escape")

// parseProperties reads a Java properties file. Bytes above 127 are kept as they are: Java reads them as
// Latin-1 and writes them as UTF-8, and Kafka's own values have none.
func parseProperties(data []byte) (map[string]string, error) {
	properties := make(map[string]string)
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	lines := strings.Split(string(data), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimLeft(lines[i], propertySpace)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continued(line) {
			line = line[:len(line)-1]
			if i++; i < len(lines) {
				line += strings.TrimLeft(lines[i], propertySpace)
			}
		}
		if err := parseProperty(properties, line); err != nil {
			return nil, err
		}
	}
	return properties, nil
}

// continued reports whether a line goes on in the next: it ends in a backslash that no other one escapes.
func continued(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// parseProperty adds what one logical line says.
func parseProperty(properties map[string]string, line string) error {
	end := 0
	for end < len(line) && !strings.ContainsRune(propertyEnd, rune(line[end])) {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	value := strings.TrimLeft(line[end:], propertySpace)
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], propertySpace)
	}
	key, err := unescape(line[:end])
	if err != nil {
		return err
	}
	properties[key], err = unescape(value)
	return err
}

// unescape resolves the escapes of a key or a value.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch {
		case i == len(s):
		case s[i] == 'u':
			if i+5 > len(s) {
				return "", errEscape
			}
			code, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", errEscape
			}
			b.WriteRune(rune(code))
			i += 4
		default:
			b.WriteByte(escaped(s[i]))
		}
	}
	return b.String(), nil
}

// escaped is the byte that a backslash before c stands for.
func escaped(c byte) byte {
	switch c {
	case 't':
		return '\t'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 'f':
		return '\f'
	}
	return c
}

// valueEscapes are what Java's Properties.store escapes in a value, besides a leading space.
var valueEscapes = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\f", `\f`,
	"=", `\=`, ":", `\:`, "#", `\#`, "!", `\!`)

// appendProperty appends a line as Properties.store writes it. Of key nothing has to be escaped.
func appendProperty(dst []byte, key, value string) []byte {
	dst = append(dst, key...)
	dst = append(dst, '=')
	if strings.HasPrefix(value, " ") {
		dst = append(dst, '\\')
	}
	dst = append(dst, valueEscapes.Replace(value)...)
	return append(dst, '\n')
}
