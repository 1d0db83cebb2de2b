package tree

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/stratalog/strata/fsio"
)

// maxElement is the longest element of a name, in bytes: NAME_MAX of every Unix filesystem.
const maxElement = 255

// CheckName is nil or fsio.ErrBadName: the rule for names of fsio.FS.
func CheckName(name string) error {
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\x00\\") {
		return fsio.ErrBadName
	}
	for element := range strings.SplitSeq(name, "/") {
		if len(element) > maxElement {
			return fsio.ErrBadName
		}
	}
	return nil
}

// checkFlag is nil or fs.ErrInvalid: the rule for the flags of OpenFile.
func checkFlag(flag int) error {
	const known = os.O_RDWR | os.O_CREATE | os.O_EXCL | os.O_TRUNC
	readOnly := flag&os.O_RDWR == 0
	if flag&^known != 0 || readOnly && flag&os.O_TRUNC != 0 {
		return fs.ErrInvalid
	}
	return nil
}

// pathError gives err, where it is one, the name that the caller knows. What a base wrapped around the
// cause, with a path of its own, is taken off.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: cause(err)}
}

// cause is err without what package os wraps around an error.
func cause(err error) error {
	for {
		var inner error
		switch e := err.(type) { //nolint:errorlint // layer by layer: other wrappers stay
		case *fs.PathError:
			inner = e.Err
		case *os.LinkError:
			inner = e.Err
		case *os.SyscallError:
			inner = e.Err
		}
		if inner == nil {
			return err
		}
		err = inner
	}
}

// faultCause is the cause of a fault for want of space: ENOSPC as it is, all else EIO.
func faultCause(err error) error {
	if errors.Is(err, errNoSpace) {
		return errNoSpace
	}
	return errIO
}
