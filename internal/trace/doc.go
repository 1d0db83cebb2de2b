// Package trace replays what Apache Kafka's own log layer did: lists of operations on one partition log, with
// Kafka's answer to each of them and the files that it left.
//
//	t, err := trace.Read(os.DirFS("traces"), "017-truncate")
//	got := trace.Replay(ctx, t, trace.Store{FS: aferofs.Mem()})
//	if got.Difference != "" { … }
//
// # A trace
//
// It is a directory:
//
//	meta.json      what it is, and how to compare
//	ops.jsonl      one operation a line; or .gz
//	expect.jsonl   one answer a line, with digests of the directory after the operation; or .gz
//	final.tsv      the partition's directory at the end: name, size, CRC-32C
//	files.tar.gz   the files themselves, where they are small
//
// testdata/README.md says how traces are made.
//
// # The world
//
// The partition lies in a directory t-0. The clock stands still but for the operation advance. A task
// without delay runs at the end of the operation that scheduled it, a delayed one in advance, once the clock
// has jumped. After each operation every .log file that was written gets the clock's time, since Kafka ages
// segments without timestamps by it. A killed log is left as it is: the replay goes on with a copy of its
// directory.
//
// # What is compared
//
// Of each operation the answer, or the class of the error where it is one of Kafka's and not Java's; the
// log's offsets and sizes; and the digest of the directory. Offset and time indexes count while no log is
// open, and at the end: Kafka makes them when they are first looked at, which nobody can rely on.
//
// Where a message set reserves space behind its batches (Store.Reserved), .log files count up to their Size
// while the log is open, and a killed log's are cut there: what a trace damages afterwards it finds by
// positions in Kafka's files.
//
// Traces with data that the log compressed itself have no digests: the records count, not their bytes.
package trace
