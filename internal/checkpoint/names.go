package checkpoint

import "errors"

// The files of a log directory.
const (
	RecoveryPoints = "recovery-point-offset-checkpoint"
	StartOffsets   = "log-start-offset-checkpoint"
	HighWatermarks = "replication-offset-checkpoint"
	CleanerOffsets = "cleaner-offset-checkpoint"
	MetaProperties = "meta.properties"
	CleanShutdown  = ".kafka_cleanshutdown"
	Lock           = ".lock"
)

// The files of a partition's directory.
const (
	LeaderEpochs      = "leader-epoch-checkpoint"
	PartitionMetadata = "partition.metadata"
	Strata            = "strata.checkpoint" // of a log that is opened alone; no file of Kafka's
)

// ErrCorrupt says that a file's content is not what Kafka, or this package, writes.
var ErrCorrupt = errors.New("checkpoint: corrupt file")
