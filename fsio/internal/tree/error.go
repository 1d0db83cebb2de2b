package tree

import (
	"errors"
	"io/fs"
	"os"
)

// pathError gives err, where it is one, the name that the caller knows. What a base wrapped around the
// cause, with a path of its own, is taken off.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: cause(err)}
}

// cause is err without what package os, or a join of it alone, wraps around an error.
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
		case interface{ Unwrap() []error }:
			if errs := e.Unwrap(); len(errs) == 1 {
				inner = errs[0]
			}
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
