package fsio

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// translations give Windows' errors the names that the contract of FS uses.
var translations = map[syscall.Errno]error{
	windows.ERROR_DIRECTORY:           syscall.ENOTDIR,
	windows.ERROR_DIR_NOT_EMPTY:       syscall.ENOTEMPTY,
	windows.ERROR_DISK_FULL:           syscall.ENOSPC,
	windows.ERROR_FILE_TOO_LARGE:      syscall.EFBIG,
	windows.ERROR_HANDLE_DISK_FULL:    syscall.ENOSPC,
	windows.ERROR_INVALID_NAME:        ErrBadName,
	windows.ERROR_LOCK_VIOLATION:      ErrLocked,
	windows.ERROR_TOO_MANY_OPEN_FILES: syscall.EMFILE,
	windows.ERROR_USER_MAPPED_FILE:    ErrMapBusy,
	windows.ERROR_CANT_ACCESS_FILE:    ErrNotRegular,
	windows.ERROR_STOPPED_ON_SYMLINK:  ErrNotRegular,
	windows.ERROR_DISK_QUOTA_EXCEEDED: syscall.EDQUOT,
	windows.ERROR_NOT_SAME_DEVICE:     syscall.EXDEV,
	windows.ERROR_IO_DEVICE:           syscall.EIO,
	windows.ERROR_CRC:                 syscall.EIO,
	windows.ERROR_REPARSE_TAG_INVALID: ErrNotRegular,
	windows.ERROR_WRITE_FAULT:         syscall.EIO,
	windows.ERROR_READ_FAULT:          syscall.EIO,
}

// translate is err as the contract of FS names it.
func translate(err error) error {
	if errno, ok := err.(syscall.Errno); ok { //nolint:errorlint // the bare number, as cause left it
		if named, ok := translations[errno]; ok {
			return named
		}
	}
	return err
}
