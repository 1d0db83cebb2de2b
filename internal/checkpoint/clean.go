package checkpoint

import "github.com/stratalog/strata/fsio"

// NoBrokerEpoch is the broker epoch that is not known.
const NoBrokerEpoch int64 = -1

// ReadClean reads a .kafka_cleanshutdown file. The marker is there, and the stop was clean, whenever the
// error is nil or ErrCorrupt: what is in it tells no more than the broker's epoch, which is NoBrokerEpoch
// in an empty file, and in a damaged one.
func ReadClean(fsys fsio.FS, name string) (brokerEpoch int64, err error) { panic("skeleton") }

// WriteClean replaces a .kafka_cleanshutdown file, durably. A broker of Kafka 4.4 takes NoBrokerEpoch for an
// unclean stop: who writes the marker anew keeps the number that was in it.
func WriteClean(fsys fsio.FS, name string, brokerEpoch int64) error { panic("skeleton") }
