package fsio

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
)

// heldLock is what Lock returns: the system's lock ends with its descriptor.
type heldLock struct {
	file   *os.File
	name   string
	forget func() // called once the lock is free
	closed atomic.Bool
}

// Close frees the lock.
func (l *heldLock) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	err := l.file.Close()
	l.forget()
	return pathError("unlock", l.name, err)
}

// takeOpened opens name, a file that is made where it is missing, or a directory, and locks it.
func (f *OSFS) takeOpened(name string) (*heldLock, error) {
	take := takeFile
	file, err := f.open(name, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, syscall.EISDIR) {
		take = takeDir
		file, err = f.openDir(name)
	}
	if err != nil {
		return nil, err
	}
	if err := take(file); err != nil {
		return nil, join(err, file.Close())
	}
	return &heldLock{file: file, name: name, forget: func() {}}, nil
}

var _ io.Closer = (*heldLock)(nil)
