package names

import (
	"path"
	"strings"
)

// anyElements is the element of a glob that stands for any number of elements of a name.
const anyElements = "**"

// CheckGlob returns path.ErrBadPattern where glob is malformed.
func CheckGlob(glob string) error {
	for element := range strings.SplitSeq(glob, "/") {
		if _, err := path.Match(element, ""); err != nil {
			return err
		}
	}
	return nil
}

// Match reports whether name matches glob: path.Match element by element, except that an element "**" stands
// for any number of elements, none included. A malformed glob matches nothing.
//
// It goes back to the latest "**" only, so that no glob takes more than the product of both lengths.
func Match(glob, name string) bool {
	want, have := strings.Split(glob, "/"), strings.Split(name, "/")
	w, h := 0, 0
	again, from := -1, 0 // where to go on after a mismatch: behind the latest "**", and with which element
	for h < len(have) || w < len(want) {
		switch {
		case w < len(want) && want[w] == anyElements:
			w++
			again, from = w, h
		case w < len(want) && h < len(have) && matchElement(want[w], have[h]):
			w, h = w+1, h+1
		case again >= 0 && from < len(have):
			from++
			w, h = again, from
		default:
			return false
		}
	}
	return true
}

func matchElement(glob, element string) bool {
	ok, err := path.Match(glob, element)
	return ok && err == nil
}
