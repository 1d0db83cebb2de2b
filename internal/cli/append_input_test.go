package cli_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAppendBadJSON gives append a good line and one that is none of a record. It says what is wrong with
// the second, and never makes something else of it.
func TestAppendBadJSON(t *testing.T) {
	for _, row := range []struct{ name, line, want string }{
		{"not ended", `{"value":"a"`, "unexpected end"},
		{"empty", ``, "unexpected end"},
		{"null", `null`, "no JSON object of a record: null"},
		{"an array", `[]`, "no JSON object of a record: it is of the type array\n"},
		{"a number", `1`, "no JSON object of a record: it is of the type number\n"},
		{"two", `{"value":"a"}{"value":"b"}`, "after top-level value"},
		{"NUL", "\x00", "invalid character"},
		{"a value of another type", `{"value":3}`, "value is of the type number, where a string is due\n"},
		{"an offset of another type", `{"offset":"3"}`, "offset is of the type string, where a whole number of 64 bits is due\n"},
		{"headers of another type", `{"headers":{"a":"b"}}`, "headers is of the type object, where an array is due\n"},
		{"a header of another type", `{"headers":["a"]}`, "headers is of the type string, where an object is due\n"},
		{"control of another type", `{"control":true}`, "control is of the type bool, where an object is due\n"},
		{"another object", `{"type":"batch"}`, `the type "batch"`},
		{"bytes that are no UTF-8", "{\"value\":\"\xff\"}", "no UTF-8"},
		{"a low surrogate alone", `{"value":"\udc00"}`, "half of a surrogate pair"},
		{"a high surrogate alone", `{"value":"\ud800"}`, "half of a surrogate pair"},
		{"a high surrogate before another", `{"value":"\ud800\ud800"}`, "half of a surrogate pair"},
		{"a high surrogate before a letter", `{"key":"\ud800x00000"}`, "half of a surrogate pair"},
		{"a surrogate of a header", `{"headers":[{"key":"\ud800"}]}`, "half of a surrogate pair"},
		{"no base64", `{"value":"!","valueEncoding":"base64"}`, "the value is no base64"},
		{"an unknown encoding", `{"key":"a","keyEncoding":"hex"}`, `the key has the unknown encoding "hex"`},
		{"null that is a string", `{"value":"a","valueEncoding":"null"}`, "the value is a string, and its encoding null"},
		{"a header without a key", `{"headers":[{"value":"a"}]}`, "a header without a key"},
		{"a header with a null key", `{"headers":[{"key":null,"value":"a"}]}`, "a header without a key"},
		{"a header that is null", `{"headers":[null]}`, "a header without a key"},
		{"a timestamp below none", `{"timestamp":-2}`, "timestamp -2"},
		{"a timestamp with a fraction", `{"timestamp":1.5}`, "timestamp is of the type number 1.5, where a whole number of 64 bits is due\n"},
		{"a timestamp too large", `{"timestamp":9223372036854775808}`, "timestamp is of the type number 9223372036854775808, where a whole number of 64 bits is due\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a-0")
			got := run(t, "{\"value\":\"good\"}\n"+row.line+"\n", "append", "--format", "json", dir)
			assert.Equal(t, 1, got.status)
			assert.Regexp(t, "^strata: line 2: ", got.errs)
			assert.Contains(t, got.errs, row.want)
			assert.Contains(t, got.out, "appended 1 record in 1 batch")
			assert.Equal(t, "good\n", run(t, "", "cat", "-f", `%s\n`, dir).out)
		})
	}
}

// TestAppendJSONText gives append escapes that look like what TestAppendBadJSON has, and are text.
func TestAppendJSONText(t *testing.T) {
	for _, row := range []struct{ name, line, want string }{
		{"a pair", `{"value":"\ud83d\ude00"}`, "\U0001f600"},
		{"an escaped backslash", `{"value":"\\ud800"}`, `\ud800`},
		{"the replacement itself", `{"value":"\ufffd"}`, "\ufffd"},
		{"other escapes", `{"value":"\"\\\/\b\f\n\r\t\u0000"}`, "\"\\/\b\f\n\r\t\x00"},
		{"a carriage return at the end", "{\"value\":\"x\"}\r", "x"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a-0")
			assert.Equal(t, result{0, "appended 1 record in 1 batch, offsets 0 to 0\n", ""},
				run(t, row.line, "append", "--format", "json", dir))
			assert.Equal(t, row.want, run(t, "", "cat", "-f", "%s", dir).out)
		})
	}
}
