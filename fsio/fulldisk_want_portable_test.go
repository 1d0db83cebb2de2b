//go:build portable

package fsio_test

import "syscall"

// What depends on asking the system more than package os does.
const (
	wantFull    = syscall.EIO // the cause of a fault on a full disk, which may look like any other
	wantWritten = 0           // the pages that a write says it wrote before the disk was full
)
