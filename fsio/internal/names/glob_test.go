package names_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/stratalog/strata/fsio/internal/names"
)

func TestMatch(t *testing.T) {
	for _, row := range []struct {
		glob, name string
		want       bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a/b", false},
		{"*", "a", true},
		{"*", "a/b", false},
		{"*/*", "a/b", true},
		{"a/*.log", "a/0.log", true},
		{"a/*.log", "a/b/0.log", false},
		{"[ab]/?", "b/x", true},
		{"**", "a", true},
		{"**", "a/b/c", true},
		{"**", ".", true},
		{"**/x", "x", true},
		{"**/x", "a/x", true},
		{"**/x", "a/b/x", true},
		{"**/x", "a/b/y", false},
		{"**/x", "xx", false},
		{"a/**", "a", true},
		{"a/**", "a/b/c", true},
		{"a/**", "b/a", false},
		{"a/**/z", "a/z", true},
		{"a/**/z", "a/b/c/z", true},
		{"a/**/z", "a/b/c", false},
		{"**/a/**/b", "x/a/y/a/z/b", true},
		{"**/a/b/**", "x/a/a/b/c", true},
		{"**/a/b", "a/a/a", false},
		{"a**", "abc", true}, // no element of its own: two stars of path.Match
		{"a**", "abc/d", false},
		{"**/**", "a", true},
		{"[", "[", false},
	} {
		assert.Equal(t, row.want, names.Match(row.glob, row.name), "Match(%q, %q)", row.glob, row.name)
		if !strings.Contains(row.glob, "**") {
			got, _ := path.Match(row.glob, row.name)
			assert.Equal(t, got, names.Match(row.glob, row.name), "path.Match(%q, %q)", row.glob, row.name)
		}
	}
}

// TestMatchEnds: a glob that would take ages by trying every split is answered at once.
func TestMatchEnds(t *testing.T) {
	glob := strings.Repeat("**/a/", 40) + "b"
	assert.False(t, names.Match(glob, strings.Repeat("a/", 400)+"c"))
}

func TestCheckGlob(t *testing.T) {
	for _, glob := range []string{"", "a", "**/*.log", "[a-z]/?", `\[`, "a//b"} {
		assert.NoError(t, names.CheckGlob(glob), glob)
	}
	for _, glob := range []string{"[", "a/[", "[/a]", "[a-", `a\`, "**/[]a]["} {
		assert.ErrorIs(t, names.CheckGlob(glob), path.ErrBadPattern, glob)
	}
}
