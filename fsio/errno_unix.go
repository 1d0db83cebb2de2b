//go:build unix

package fsio

import "syscall"

// translate is err as the contract of FS names it. Unix' error numbers are those names already.
func translate(err error) error {
	if err == syscall.ELOOP { //nolint:errorlint // the bare number, as cause left it
		return ErrNotRegular
	}
	return err
}
