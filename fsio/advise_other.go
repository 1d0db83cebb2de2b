//go:build !unix || portable

package fsio

import "github.com/edsrzf/mmap-go"

// advise does nothing here: the time is the system's matter.
func advise(mmap.MMap) {}
