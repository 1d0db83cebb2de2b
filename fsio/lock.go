package fsio

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
)

// heldLock is what Lock returns.
type heldLock struct {
	file   *os.File
	name   string
	free   func(*os.File) error // undoes the system's lock
	forget func()               // called once the lock is free
	closed atomic.Bool
}

// Close frees the lock.
//
// The system's lock would end with its descriptor, but a process that is being started has a copy of that
// until it runs its own program. So the lock is undone first.
func (l *heldLock) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	err := join(l.free(l.file), l.file.Close())
	l.forget()
	return pathError("unlock", l.name, err)
}

// takeOpened opens name, a file that is made where it is missing, or a directory, and locks it.
func (f *OSFS) takeOpened(name string) (*heldLock, error) {
	take, free := takeFile, freeFile
	file, err := f.open(name, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, syscall.EISDIR) {
		take, free = takeDir, freeDir
		file, err = f.openDir(name)
	}
	if err != nil {
		return nil, err
	}
	if err := take(file); err != nil {
		return nil, join(err, file.Close())
	}
	return &heldLock{file: file, name: name, free: free, forget: func() {}}, nil
}

var _ io.Closer = (*heldLock)(nil)
