package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stratalog/strata/fsio"
)

// An entry of a transaction index.
const (
	txnProducer = 2 // behind the version
	txnFirst    = 10
	txnLast     = 18
	txnStable   = 26
	txnBytes    = 34

	txnVersion = 0
)

func encodeTxn(t AbortedTxn) []byte {
	b := make([]byte, txnBytes)
	binary.BigEndian.PutUint16(b, txnVersion)
	binary.BigEndian.PutUint64(b[txnProducer:], uint64(t.ProducerID))
	binary.BigEndian.PutUint64(b[txnFirst:], uint64(t.FirstOffset))
	binary.BigEndian.PutUint64(b[txnLast:], uint64(t.LastOffset))
	binary.BigEndian.PutUint64(b[txnStable:], uint64(t.StableOffset))
	return b
}

// decodeTxn reads the entry that b begins with.
func decodeTxn(b []byte) (AbortedTxn, error) {
	if v := binary.BigEndian.Uint16(b); v != txnVersion {
		return AbortedTxn{}, fmt.Errorf("version %d", v)
	}
	return AbortedTxn{
		ProducerID:   int64(binary.BigEndian.Uint64(b[txnProducer:])),
		FirstOffset:  int64(binary.BigEndian.Uint64(b[txnFirst:])),
		LastOffset:   int64(binary.BigEndian.Uint64(b[txnLast:])),
		StableOffset: int64(binary.BigEndian.Uint64(b[txnStable:])),
	}, nil
}

// follows is why t cannot come behind entries, or nil.
func follows(entries []AbortedTxn, t AbortedTxn, base int64) error {
	if t.LastOffset < base {
		return fmt.Errorf("last offset %d below the base %d: %w", t.LastOffset, base, ErrRange)
	}
	if n := len(entries); n > 0 && t.LastOffset <= entries[n-1].LastOffset {
		return fmt.Errorf("last offset %d after %d: %w", t.LastOffset, entries[n-1].LastOffset, ErrOrder)
	}
	return nil
}

// readTxns reads and checks the file name. It reads in pieces: what it keeps, it has checked.
func readTxns(fsys fsio.FS, name string, base int64) ([]AbortedTxn, error) {
	file, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	const pieceEntries = 1024
	var (
		entries []AbortedTxn
		buf     = make([]byte, pieceEntries*txnBytes)
	)
	for {
		n, err := file.ReadAt(buf, int64(len(entries))*txnBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		var damage error
		if entries, damage = appendTxns(entries, buf[:n], base); damage != nil {
			at := len(entries)
			damage = fmt.Errorf("entry %d: %w: %w", at, damage, ErrCorrupt)
			return nil, &fsio.PosError{Op: "check", Path: name, Pos: int64(at) * txnBytes, Err: damage}
		}
		if err != nil {
			return entries, nil
		}
	}
}

// appendTxns adds the entries in b, up to the first that cannot be one.
func appendTxns(entries []AbortedTxn, b []byte, base int64) ([]AbortedTxn, error) {
	for len(b) > 0 {
		if len(b) < txnBytes {
			return entries, fmt.Errorf("%d bytes of %d", len(b), txnBytes)
		}
		t, err := decodeTxn(b)
		if err == nil {
			err = follows(entries, t, base)
		}
		if err != nil {
			return entries, err
		}
		entries, b = append(entries, t), b[txnBytes:]
	}
	return entries, nil
}
