package fsio

import (
	"bytes"
	"errors"
	"io"
)

// blockSize is the unit in which zeros are written where the system cannot reserve: the block of the common
// filesystems, so that no hole is left between two writes.
const blockSize = 4 << 10

// fillHoles is File.Allocate where the system cannot reserve: each block of zeros, which may be a hole, is
// written as zeros. A WriteAt to such a block between the look at it and the write would be lost, so
// allocate a file before it is shared.
func (h *handle) fillHoles(size int64) error {
	before, err := h.size()
	if err != nil {
		return err
	}
	if before < size {
		err = h.Truncate(size)
	}
	if err == nil {
		err = h.rewriteZeros(size)
	}
	if err != nil {
		return join(err, h.cutBack(before))
	}
	return nil
}

// rewriteZeros writes the blocks of zeros below size.
func (h *handle) rewriteZeros(size int64) error {
	buf := copyBuffers.Get().(*[copyBufferSize]byte)
	defer copyBuffers.Put(buf)
	for off := int64(0); off < size; off += int64(len(buf)) {
		n, err := h.readAt(buf[:min(int64(len(buf)), size-off)], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := h.rewriteBlocks(buf[:n], off); err != nil {
			return err
		}
	}
	return nil
}

// rewriteBlocks writes those blocks of b, which is what the file has at off, that are zeros.
func (h *handle) rewriteBlocks(b []byte, off int64) error {
	var zeros [blockSize]byte
	for len(b) > 0 {
		block := b[:min(len(b), blockSize)]
		if bytes.Equal(block, zeros[:len(block)]) {
			if _, err := h.writeAt(block, off); err != nil {
				return err
			}
		}
		b, off = b[len(block):], off+int64(len(block))
	}
	return nil
}

// cutBack gives the file the size back that it had before an allocation failed.
func (h *handle) cutBack(before int64) error {
	now, err := h.size()
	if err != nil || now == before {
		return err
	}
	return h.Truncate(before)
}
