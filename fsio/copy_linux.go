//go:build linux && !portable

package fsio

import (
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// send is the part of CopyTo that passes by the process: it sends up to n bytes from position off to w,
// where w is a stream socket, and returns how many went. It stops at the file's end and at any error, which
// it does not return: the errors of both sides look the same here.
func (h *handle) send(w io.Writer, off, n int64) int64 {
	socket := streamSocket(w)
	if socket == nil || n == 0 {
		return 0
	}
	to, err := socket.SyscallConn()
	if err != nil {
		return 0
	}
	s := sender{off: off, left: n}
	// Write waits, within w's deadline, and calls again for as long as the socket is full.
	_ = to.Write(func(out uintptr) bool { return !s.send(int(out), int(h.fd)) })
	return n - s.left
}

// streamSocket is w's socket, or nil where w is none that sendfile may write to. A type that embeds one may
// have a Write of its own and is none.
func streamSocket(w io.Writer) syscall.Conn {
	switch conn := w.(type) {
	case *net.TCPConn:
		return conn
	case *net.UnixConn:
		if conn.LocalAddr().Network() == "unix" { // not a socket of datagrams
			return conn
		}
	}
	return nil
}

// sender is the state of one CopyTo. The position is its own: the file's is never used, so concurrent calls
// do not disturb each other.
type sender struct{ off, left int64 }

// send sends until nothing is left, the file ends, something fails, or the socket is full: then it reports
// true.
func (s *sender) send(out, in int) (full bool) {
	const mostAtOnce = 1 << 30 // int may have 32 bits
	for s.left > 0 {
		n, err := unix.Sendfile(out, in, &s.off, int(min(s.left, mostAtOnce)))
		if n > 0 {
			s.left -= int64(n)
		}
		switch {
		case err == unix.EINTR: // a bare error number, as below
		case err == unix.EAGAIN:
			return true
		case err != nil || n <= 0:
			return false
		}
	}
	return false
}
