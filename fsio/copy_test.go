package fsio_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// connection is a pair of connected stream sockets.
func connection(t testing.TB, network string) (client, server net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		t.Chdir(t.TempDir()) // a socket's name is short, and not every folder's is
		address = "s"
	}
	listener, err := net.Listen(network, address)
	require.NoError(t, err)
	defer listener.Close()
	client, err = net.Dial(network, listener.Addr().String())
	require.NoError(t, err)
	server, err = listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// random is n bytes of which no two ranges are alike.
func random(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(4, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestCopyToTwoSockets(t *testing.T) {
	const size = 4 << 20 // more than a socket holds: the copy has to wait for its reader
	fsys, _ := openOS(t)
	data := random(2 * size)
	f := create(t, fsys, "file", string(data))
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			var all sync.WaitGroup
			for i, off := range []int64{size, size / 3} { // overlapping, and neither where a cursor would begin
				want := data[off : off+size]
				client, server := connection(t, network)
				all.Go(func() {
					n, err := f.CopyTo(server, off, size)
					assert.NoError(t, err)
					assert.EqualValues(t, size, n)
					server.Close()
				})
				all.Go(func() {
					got, err := io.ReadAll(client)
					assert.NoError(t, err)
					assert.True(t, bytes.Equal(want, got), "copy %d has bytes of its own", i)
				})
			}
			all.Wait()
		})
	}
}

// writers are the kinds of writers that CopyTo tells apart, each with what was written to it.
func writers(t *testing.T) map[string]func() (io.Writer, func() string) {
	socket := func(network string) func() (io.Writer, func() string) {
		return func() (io.Writer, func() string) {
			client, server := connection(t, network)
			return server, func() string {
				server.Close()
				b, err := io.ReadAll(client)
				require.NoError(t, err)
				return string(b)
			}
		}
	}
	return map[string]func() (io.Writer, func() string){
		"tcp":    socket("tcp"),
		"unix":   socket("unix"),
		"buffer": func() (io.Writer, func() string) { b := new(bytes.Buffer); return b, b.String },
		"file": func() (io.Writer, func() string) {
			out, err := os.Create(filepath.Join(t.TempDir(), "out"))
			require.NoError(t, err)
			return out, func() string {
				require.NoError(t, out.Close())
				b, err := os.ReadFile(out.Name())
				require.NoError(t, err)
				return string(b)
			}
		},
	}
}

func TestCopyToRanges(t *testing.T) {
	fsys, _ := openOS(t)
	const text = "0123456789"
	f := create(t, fsys, "file", text)
	for _, row := range []struct {
		off, n int64
		want   string
		err    error
	}{
		{0, 10, text, nil},
		{3, 4, "3456", nil},
		{0, 0, "", nil},
		{99, 0, "", nil},
		{9, 1, "9", nil},
		{5, 6, "56789", io.ErrUnexpectedEOF},
		{10, 1, "", io.ErrUnexpectedEOF},
		{99, 1, "", io.ErrUnexpectedEOF},
		{0, math.MaxInt64, text, io.ErrUnexpectedEOF},
		{5, math.MaxInt64, "56789", io.ErrUnexpectedEOF},
		{math.MaxInt64, math.MaxInt64, "", io.ErrUnexpectedEOF},
		{-1, 1, "", fs.ErrInvalid},
		{1, -1, "", fs.ErrInvalid},
		{-1, 0, "", fs.ErrInvalid},
	} {
		for kind, writer := range writers(t) {
			w, written := writer()
			n, err := f.CopyTo(w, row.off, row.n)
			assert.EqualValues(t, len(row.want), n, "CopyTo(%s, %d, %d)", kind, row.off, row.n)
			if row.err == nil {
				assert.NoError(t, err, "CopyTo(%s, %d, %d)", kind, row.off, row.n)
			} else {
				refused(t, err, "file", row.err)
			}
			assert.Equal(t, row.want, written(), "CopyTo(%s, %d, %d)", kind, row.off, row.n)
		}
	}
	require.NoError(t, f.Close())
	_, err := f.CopyTo(io.Discard, 0, 1)
	refused(t, err, "file", fs.ErrClosed)
}

// counting is a connection with a Write of its own, which no copy may pass by.
type counting struct {
	*net.TCPConn

	written int
}

func (c *counting) Write(p []byte) (int, error) {
	c.written += len(p)
	return c.TCPConn.Write(p)
}

func TestCopyToOwnWrite(t *testing.T) {
	fsys, _ := openOS(t)
	f := create(t, fsys, "file", "content")
	_, server := connection(t, "tcp")
	w := &counting{TCPConn: server.(*net.TCPConn)}
	_, err := f.CopyTo(w, 0, 7)
	require.NoError(t, err)
	assert.Equal(t, 7, w.written)
}

// TestCopyToBadWriter: an error of the writer is the writer's own, not one of the file.
func TestCopyToBadWriter(t *testing.T) {
	fsys, _ := openOS(t)
	f := create(t, fsys, "file", string(random(8<<20)))
	own := errors.New("writer's own")
	var pathErr *fs.PathError

	n, err := f.CopyTo(writerFunc(func(p []byte) (int, error) { return 3, own }), 0, 100)
	assert.Equal(t, own, err)
	assert.EqualValues(t, 3, n)
	n, err = f.CopyTo(writerFunc(func(p []byte) (int, error) { return 3, nil }), 0, 100)
	assert.Equal(t, io.ErrShortWrite, err)
	assert.EqualValues(t, 3, n)
	for _, count := range []int{-1, 101} {
		n, err = f.CopyTo(writerFunc(func(p []byte) (int, error) { return count, nil }), 0, 100)
		assert.Error(t, err)
		assert.Zero(t, n)
	}

	client, server := connection(t, "tcp")
	require.NoError(t, client.Close())
	for err = nil; err == nil; { // until the peer's answer is here
		_, err = f.CopyTo(server, 0, 8<<20)
	}
	var netErr *net.OpError
	assert.ErrorAs(t, err, &netErr, "a lost connection")
	assert.False(t, errors.As(err, &pathErr), "a lost connection is no error of the file: %v", err)

	_, server = connection(t, "tcp")
	require.NoError(t, server.SetWriteDeadline(time.Unix(1, 0)))
	_, err = f.CopyTo(server, 0, 8<<20)
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, server.Close())
	_, err = f.CopyTo(server, 0, 1)
	assert.ErrorIs(t, err, net.ErrClosed)
	assert.False(t, errors.As(err, &pathErr))
}

// writerFunc makes a function an io.Writer.
type writerFunc func(p []byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// TestCopyToSurvivesClose: a copy that waits for its reader keeps no Close waiting, and its bytes.
func TestCopyToSurvivesClose(t *testing.T) {
	fsys, _ := openOS(t)
	data := random(8 << 20)
	f := create(t, fsys, "file", string(data))
	client, server := connection(t, "tcp")
	done := make(chan error, 1)
	go func() {
		_, err := f.CopyTo(server, 0, int64(len(data)))
		server.Close()
		done <- err
	}()
	got := make([]byte, len(data))
	_, err := io.ReadFull(client, got[:1]) // now the copy runs, and cannot end
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = io.ReadFull(client, got[1:])
	require.NoError(t, err)
	require.NoError(t, <-done)
	assert.True(t, bytes.Equal(data, got))
}
