package fsio_test

import (
	"io"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/stratalog/strata/fsio"
)

// versus runs ours and raw in turn, in rounds of calls each, and reports the time of a call of each and
// their ratio, all by the best round: what disturbs a round only makes it longer.
func versus(b *testing.B, calls int, raw, ours func(i int)) {
	b.Helper()
	best := func(before time.Duration, do func(i int)) time.Duration {
		start := time.Now()
		for i := range calls {
			do(i)
		}
		took := time.Since(start)
		if before == 0 {
			return took
		}
		return min(before, took)
	}
	var rawTook, oursTook time.Duration
	for b.Loop() {
		rawTook = best(rawTook, raw)
		oursTook = best(oursTook, ours)
	}
	b.ReportMetric(0, "ns/op") // a round of both says nothing
	b.ReportMetric(float64(rawTook.Nanoseconds())/float64(calls), "raw-ns/call")
	b.ReportMetric(float64(oursTook.Nanoseconds())/float64(calls), "ns/call")
	b.ReportMetric(float64(oursTook)/float64(rawTook), "ours/raw")
}

// BenchmarkPositioned reads and writes 4 KiB of 1 MiB in the page cache, with and without OSFS.
func BenchmarkPositioned(b *testing.B) {
	const block, blocks = 4 << 10, 256
	fsys, dir := openOS(b)
	f := create(b, fsys, "file", string(random(block*blocks)))
	fd, err := unix.Open(filepath.Join(dir, "file"), unix.O_RDWR, 0)
	require.NoError(b, err)
	defer unix.Close(fd)
	p := make([]byte, block)
	at := func(i int) int64 { return int64(i%blocks) * block }
	b.Run("read", func(b *testing.B) {
		versus(b, 500,
			func(i int) { _, _ = syscall.Pread(fd, p, at(i)) },
			func(i int) { _, _ = f.ReadAt(p, at(i)) })
	})
	b.Run("write", func(b *testing.B) {
		versus(b, 500,
			func(i int) { _, _ = syscall.Pwrite(fd, p, at(i)) },
			func(i int) { _, _ = f.WriteAt(p, at(i)) })
	})
}

// first is the least that a Viewer can do.
type first struct{ b byte }

func (f *first) View(b []byte) error {
	f.b = b[0]
	return nil
}

// BenchmarkMap looks at and stores an entry of 8 bytes, with and without the guard.
func BenchmarkMap(b *testing.B) {
	m, _ := mapped(b, 4)
	entry := make([]byte, 8)
	v := new(first)
	var bare fsio.Viewer = v
	b.Run("view", func(b *testing.B) {
		versus(b, 20000,
			func(int) { _ = bare.View(entry) },
			func(int) { _ = m.View(4096, 8, v) })
	})
	b.Run("write", func(b *testing.B) {
		to := make([]byte, 8)
		versus(b, 20000,
			func(int) { copy(to, entry) },
			func(int) { _, _ = m.WriteAt(entry, 4096) })
	})
}

// BenchmarkCopyTo sends 1 MiB to a socket, by CopyTo and by sendfile alone.
func BenchmarkCopyTo(b *testing.B) {
	const size = 1 << 20
	fsys, dir := openOS(b)
	f := create(b, fsys, "file", string(random(8*size)))
	client, server := connection(b, "tcp")
	go func() { _, _ = io.Copy(io.Discard, onlyReader{client}) }()
	fd, err := unix.Open(filepath.Join(dir, "file"), unix.O_RDONLY, 0)
	require.NoError(b, err)
	defer unix.Close(fd)
	out, err := server.(*net.TCPConn).SyscallConn()
	require.NoError(b, err)
	at := func(i int) int64 { return int64(i%8) * size }
	versus(b, 64,
		func(i int) {
			off, end := at(i), at(i)+size
			_ = out.Write(func(to uintptr) bool {
				for off < end {
					if _, err := unix.Sendfile(int(to), fd, &off, int(end-off)); err != nil {
						return false
					}
				}
				return true
			})
		},
		func(i int) { _, _ = f.CopyTo(server, at(i), size) })
}

// onlyReader keeps io.Copy from a path of its own.
type onlyReader struct{ io.Reader }

// BenchmarkOpen opens and closes a file in a directory below the root, as a store does with its segments.
func BenchmarkOpen(b *testing.B) {
	fsys, _ := openOS(b)
	require.NoError(b, fsys.MkdirAll("dir", 0o755))
	create(b, fsys, "dir/file", "content")
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, openClose(fsys, "dir/file"))
	}
}

func openClose(fsys fsio.FS, name string) error {
	f, err := fsys.OpenFile(name, syscall.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
