// Package producer is what a partition remembers of the producers that wrote to it: enough to refuse gaps
// and duplicates, to know which transactions are open, and where the last stable offset is.
//
//	s, err := producer.Open(fsys, "orders-0", producer.Options{ExpireAfter: 24 * time.Hour})
//
//	a := s.Analyze(producer.Rules{Origin: producer.FromClient})
//	dup, ok, err := a.Add(producer.Batch{Header: &h})    // of each batch of the append; changes nothing
//	aborted = a.Aborted(aborted)                         // into the transaction index
//	…                                                    // write the batches
//	a.Commit()
//	s.SetEnd(h.NextOffset())
//
// # Snapshots
//
// A snapshot has the producers as they were at the offset in its name, exclusive. Big-endian:
//
//	 0  int16   version 1
//	 2  uint32  CRC-32C of everything behind it
//	 6  int32   number of entries
//	10  entries of 46 bytes:
//	     0  int64  producer id
//	     8  int16  epoch
//	    10  int32  last sequence, −1 without a batch
//	    14  int64  last offset, −1 without a batch
//	    22  int32  last offset less first offset of the last batch, 0 without one
//	    26  int64  last timestamp
//	    34  int32  coordinator epoch, −1 before the first marker
//	    38  int64  first offset of the open transaction, −1 without one
//
// Of the batches that duplicates are told by only the last is kept, as in Kafka, with the producer's last
// timestamp for its own.
//
// A snapshot is a shortcut, not a source: it is trusted only where version, checksum and size fit, and
// otherwise removed and the one before it taken, or the batches read. So it may be written without a sync:
// what a crash leaves of it is found out.
//
// # Loading
//
// Rebuild brings a State to the end of a log: from the newest snapshot that is good, and then through the
// batches behind it. It is called after the log's segments were recovered, and after a truncation.
//
// # Concurrency
//
// A State belongs to the writer of its log: no two methods may run at the same time. It starts no goroutine
// and reads no clock: times are arguments, in ms.
package producer
