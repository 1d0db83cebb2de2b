package cli

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/stratalog/strata/index"
	"github.com/stratalog/strata/internal/producer"
)

// abortedBytes is the size of an entry of a transaction index.
const abortedBytes = 34

// txnIndex shows an index of aborted transactions.
func (d *dump) txnIndex(f *openFile) error {
	t := &table{window{file: f, end: f.size}, abortedBytes}
	for i := range t.len() {
		if err := d.stop(); err != nil {
			return err
		}
		b, err := t.at(i)
		if err != nil {
			return err
		}
		version := int16(binary.BigEndian.Uint16(b))
		if version != 0 {
			return fmt.Errorf("%w: entry %d is of version %d, and only 0 is known", index.ErrCorrupt, i, version)
		}
		field := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[2+8*i:])) }
		d.show.aborted(version, index.AbortedTxn{
			ProducerID: field(0), FirstOffset: field(1), LastOffset: field(2), StableOffset: field(3),
		})
	}
	if rest := f.size % abortedBytes; rest != 0 {
		return fmt.Errorf("%w: %d bytes behind the last entry", index.ErrCorrupt, rest)
	}
	return nil
}

// maxSnapshotBytes bounds the producer snapshots that are read: those of 20 million producers.
const maxSnapshotBytes = 1 << 30

// snapshot shows a producer snapshot.
func (d *dump) snapshot(f *openFile) error {
	if f.size > maxSnapshotBytes {
		return fmt.Errorf("%d bytes are more than a producer snapshot has", f.size)
	}
	b, err := (&window{file: f, end: f.size}).bytes(0, f.size)
	if err != nil {
		return err
	}
	entries, err := producer.DecodeSnapshot(b)
	if err != nil {
		return snapshotError(b, err)
	}
	for _, p := range entries {
		d.show.producer(p)
	}
	return nil
}

// snapshotError says in Kafka's words, where it has some, what is wrong with the snapshot b.
func snapshotError(b []byte, err error) error {
	if len(b) < 10 {
		return err
	}
	if version := int16(binary.BigEndian.Uint16(b)); version != 1 {
		return &kafkaError{fmt.Sprintf("Snapshot contained an unknown file version %d", version), err}
	}
	stored, computed := binary.BigEndian.Uint32(b[2:]), crc32.Checksum(b[6:], crc32.MakeTable(crc32.Castagnoli))
	if stored != computed {
		return &kafkaError{fmt.Sprintf("Snapshot is corrupt (CRC is no longer valid). Stored crc: %d. Computed crc: %d", stored, computed), err}
	}
	return err
}

// kafkaError is an error for which kafka-dump-log has words of its own.
type kafkaError struct {
	words string
	err   error
}

// Error is the text of the cause.
func (e *kafkaError) Error() string { return e.err.Error() }

// Unwrap is the cause.
func (e *kafkaError) Unwrap() error { return e.err }
