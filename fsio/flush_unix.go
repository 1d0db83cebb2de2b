//go:build unix

package fsio

import "github.com/edsrzf/mmap-go"

// flush makes the pages durable that hold the n bytes at off: msync wants a position on a page.
func flush(data mmap.MMap, off, n int64) error {
	start := off / pageSize * pageSize
	return data[start : off+n].Flush()
}
