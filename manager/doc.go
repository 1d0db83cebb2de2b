// Package manager knows a log directory as a Kafka broker has it: many partitions side by side, and the files
// that are about all of them.
//
// # Directory
//
//	.lock                              held while the manager is open; a JVM respects it
//	.kafka_cleanshutdown               between a clean stop and the next start
//	meta.properties                    cluster and node that the directory belongs to
//	recovery-point-offset-checkpoint   of all partitions in it: synced below
//	log-start-offset-checkpoint        deleted below
//	replication-offset-checkpoint      high watermarks
//	cleaner-offset-checkpoint          cleaned below
//	orders-0                           a partition (package log)
//	orders-0.<32 hex digits>-delete    one that is being deleted
//	orders-0.<32 hex digits>-future    one that is to take the place of orders-0 in another directory
//	orders-0.<32 hex digits>-stray     one that is not assigned to this node
//
// A checkpoint that is missing or damaged costs time at the next start, not data. Other files are left
// alone; a directory that is none of these keeps a broker from starting.
//
// A log that was opened alone has none of these files, and a strata.checkpoint of its own (package log). As long as no
// checkpoint of the directory knows the partition, that one counts: see PartitionView.Alone.
//
// # Views
//
// A directory is looked at without a lock and without a write by OpenView, also one that a broker has in use,
// or that lies on a medium that cannot be written:
//
//	v, err := manager.OpenView(ctx, fsys)
//	for _, p := range v.Partitions() {
//		l, err := v.Open(ctx, p, log.Options{})
//		…
//	}
package manager
