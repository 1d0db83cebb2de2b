// Package checkpoint reads and writes the small files that Kafka keeps beside the records: those of a log
// directory, for all of its partitions, and those of one partition.
//
// # Offset checkpoints and leader epochs
//
// Text, one entry a line, in any order; an epoch file's entries rise:
//
//	0\n                version
//	2\n                number of entries
//	orders-eu 0 42\n   topic, partition, offset
//	orders.us 10 7\n
//
//	0\n
//	2\n
//	0 0\n              epoch, start offset
//	3 120\n
//
// An empty file has no entries, since Kafka makes it so at its first start, and neither has one that ends
// behind the version. Kafka ends every line, so that a last line without its end is a file that was cut,
// also where its number is whole.
//
// # partition.metadata
//
// Two lines, the second without an end:
//
//	version: 0\n
//	topic_id: 3vjzY2tVQbuGPVKrbnxYiw
//
// # meta.properties
//
// A Java properties file: version 1 has node.id, cluster.id and, as a rule, directory.id; version 0, of the
// time of ZooKeeper, broker.id and cluster.id, each of which may be missing.
//
// # .kafka_cleanshutdown
//
// It is there between a clean stop and the next start. Up to Kafka 3.6 it is empty, since 3.7
//
//	{"version":0,"brokerEpoch":12}
//
// # strata.checkpoint
//
// What a log that is opened alone keeps of what is otherwise in the files of a log directory: see package log. It is
// no file of Kafka's, and is read here, and written by the log, in place.
//
// # Damage
//
// Every other reader takes an FS and a name. A missing file is fs.ErrNotExist. A file that is larger than any that
// Kafka writes, and one that is not as above, is ErrCorrupt with an *fsio.PosError that says where: the
// position is that of the line's first byte. Nothing is allocated by a number that the file says.
//
// Every other writer replaces the file by fsio.WriteFile: a crash leaves the old content or the new. Readers may
// be called concurrently with anything; writers of one name must be kept apart by the caller.
package checkpoint
