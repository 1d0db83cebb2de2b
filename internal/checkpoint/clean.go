package checkpoint

import (
	"encoding/json"
	"strconv"

	"github.com/stratalog/strata/fsio"
)

// NoBrokerEpoch is the broker epoch that is not known.
const NoBrokerEpoch int64 = -1

// ReadClean reads a .kafka_cleanshutdown file. The marker is there, and the stop was clean, whenever the
// error is nil or ErrCorrupt: what is in it tells no more than the broker's epoch, which is NoBrokerEpoch
// in an empty file, and in a damaged one.
func ReadClean(fsys fsio.FS, name string) (brokerEpoch int64, err error) {
	data, err := ReadFile(fsys, name, maxTextSize)
	if err != nil || len(data) == 0 {
		return NoBrokerEpoch, err
	}
	marker := struct{ BrokerEpoch int64 }{NoBrokerEpoch}
	if err := json.Unmarshal(data, &marker); err != nil {
		return NoBrokerEpoch, corrupt(name, 0, "%v", err)
	}
	return max(marker.BrokerEpoch, NoBrokerEpoch), nil
}

// WriteClean replaces a .kafka_cleanshutdown file, durably. A broker of Kafka 4.4 takes NoBrokerEpoch for an
// unclean stop: who writes the marker anew keeps the number that was in it.
func WriteClean(fsys fsio.FS, name string, brokerEpoch int64) error {
	data := strconv.AppendInt([]byte(`{"version":0,"brokerEpoch":`), brokerEpoch, 10)
	return fsio.WriteFile(fsys, name, append(data, '}'))
}
