package fsio_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/stratalog/strata/fsio"
)

func TestNoRoom(t *testing.T) {
	for _, row := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{syscall.ENOSPC, true},
		{syscall.EDQUOT, true},
		{syscall.EFBIG, true},
		{syscall.EIO, false},
		{fs.ErrPermission, false},
		{&fs.PathError{Op: "write", Path: "a", Err: syscall.ENOSPC}, true},
		{fmt.Errorf("append: %w", &fsio.FaultError{Path: "a", Err: syscall.ENOSPC}), true},
	} {
		assert.Equal(t, row.want, fsio.NoRoom(row.err), "NoRoom(%v)", row.err)
	}
}

func TestErrorTexts(t *testing.T) {
	cause := errors.New("bad checksum")
	pos := &fsio.PosError{Op: "verify", Path: "orders-0/00000000000000000000.log", Pos: 4173, Err: cause}
	assert.EqualError(t, pos, "verify orders-0/00000000000000000000.log at 4173: bad checksum")
	assert.ErrorIs(t, pos, cause)

	fault := &fsio.FaultError{Path: "orders-0/00000000000000000000.index", Off: 4096, Size: 8, Err: io.ErrUnexpectedEOF}
	assert.EqualError(t, fault, "fault in map of orders-0/00000000000000000000.index at [4096, 4104): unexpected EOF")
	assert.ErrorIs(t, fault, io.ErrUnexpectedEOF)
}
