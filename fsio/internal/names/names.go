package names

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// maxElement is the most bytes that one element of a name may have: NAME_MAX of Linux, macOS and NTFS.
const maxElement = 255

// Valid reports whether name is one that an fsio.FS allows.
//
// On Windows that excludes, beyond the contract, what the system itself gives a meaning to: NUL, COM1, a
// colon. filepath.IsLocal knows them.
func Valid(name string) bool {
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\x00\\") || !filepath.IsLocal(name) {
		return false
	}
	for element := range strings.SplitSeq(name, "/") {
		if len(element) > maxElement {
			return false
		}
	}
	return true
}

// ValidFlag reports whether flag is one that OpenFile allows.
func ValidFlag(flag int) bool {
	const allowed = os.O_RDONLY | os.O_RDWR | os.O_CREATE | os.O_EXCL | os.O_TRUNC
	return flag&^allowed == 0 && (flag&os.O_TRUNC == 0 || flag&os.O_RDWR != 0)
}

// Parents yields the directories that lead to name, the outermost first: a and a/b of a/b/c. The root is
// not among them.
func Parents(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(name) {
			if name[i] == '/' && !yield(name[:i]) {
				return
			}
		}
	}
}

// Below reports whether name is dir itself or lies below it.
func Below(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}
