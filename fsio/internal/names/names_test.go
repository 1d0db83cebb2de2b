package names_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/stratalog/strata/fsio/internal/names"
)

func TestValid(t *testing.T) {
	element := strings.Repeat("e", 255)
	for name, want := range map[string]bool{
		".": true, "a": true, "a/b": true, ".lock": true, "a.b/..c": true, "ä/日本": true, "a b": true,
		element: true, element + "/" + element: true,
		"": false, "..": false, "../a": false, "a/..": false, "a/../b": false, "./a": false, "a/.": false,
		"/": false, "/a": false, "a/": false, "a//b": false, "a\\b": false, "a\x00": false, "\xff": false,
		element + "e": false, "a/" + element + "e/b": false, strings.Repeat("ä", 128): false,
	} {
		assert.Equal(t, want, names.Valid(name), "Valid(%.20q)", name)
	}
}

func TestValidFlag(t *testing.T) {
	for flag, want := range map[int]bool{
		os.O_RDONLY:                            true,
		os.O_RDWR:                              true,
		os.O_RDONLY | os.O_CREATE:              true,
		os.O_RDWR | os.O_CREATE | os.O_EXCL:    true,
		os.O_RDWR | os.O_TRUNC:                 true,
		os.O_RDWR | os.O_CREATE | os.O_TRUNC:   true,
		os.O_RDONLY | os.O_TRUNC:               false,
		os.O_CREATE | os.O_TRUNC | os.O_RDONLY: false,
		os.O_WRONLY:                            false,
		os.O_WRONLY | os.O_RDWR:                false,
		os.O_RDWR | os.O_APPEND:                false,
		os.O_RDWR | os.O_SYNC:                  false,
		-1:                                     false,
	} {
		assert.Equal(t, want, names.ValidFlag(flag), "ValidFlag(%#x)", flag)
	}
}

func TestParents(t *testing.T) {
	for name, want := range map[string][]string{
		".": nil, "a": nil, "a/b": {"a"}, "a/b/c": {"a", "a/b"},
	} {
		assert.Equal(t, want, slices.Collect(names.Parents(name)), "Parents(%q)", name)
	}
	for parent := range names.Parents("a/b/c") {
		assert.Equal(t, "a", parent)
		break
	}
}

func TestBelow(t *testing.T) {
	for _, row := range []struct {
		name, dir string
		want      bool
	}{
		{"a", "a", true},
		{"a/b", "a", true},
		{"ab", "a", false},
		{"a", "a/b", false},
		{"a", ".", true},
		{".", ".", true},
		{".", "a", false},
	} {
		assert.Equal(t, row.want, names.Below(row.name, row.dir), "Below(%q, %q)", row.name, row.dir)
	}
}
