//go:build unix && !portable

package fsio

import (
	"github.com/edsrzf/mmap-go"
	"golang.org/x/sys/unix"
)

// smallMap is what a map has at most whose pages are taken to be wanted in no order. An index has 10 MiB unless it is
// told otherwise, a message set far more.
const smallMap = 16 << 20

// advise keeps the system from reading ahead where a small map is written: the first store into a page would bring
// in as much behind it as the device allows, which may be all of the file, and nobody wants it. A large map is
// written from one end to the other, and gains by it. It is a hint: what becomes of it shows in the time only.
func advise(data mmap.MMap) {
	if len(data) <= smallMap {
		_ = unix.Madvise(data, unix.MADV_RANDOM)
	}
}
