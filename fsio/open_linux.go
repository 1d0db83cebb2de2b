package fsio

import "golang.org/x/sys/unix"

// largeFile lets a file grow past 2 GiB on a 32-bit system. os.OpenFile adds it, os.Root does not (measured
// with Go 1.26).
const largeFile = unix.O_LARGEFILE
