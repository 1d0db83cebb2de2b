// Package model has a log that is nothing but lists in memory, written from what Kafka's storage layer does,
// and a driver that runs scripts of operations on it and on package log, and compares every answer.
//
//	script := model.Script(seed)
//	d, err := model.Run(ctx, script, model.Store{FS: aferofs.Mem()})
//	if d != nil { … d.Step, d.Got, d.Want … }
//
// # Scripts
//
// A script is bytes: the first few choose a configuration, and each further four are an operation (Op). So a
// seed, a fuzzer and a failure that was shrunk have one form. What an operation's numbers mean depends on
// where the log is, so that most offsets that are asked for lie in the log or beside it, and a script from
// which operations were taken is one, too.
//
// # The world
//
// Time is a scheduler.Manual's, which is moved by an operation only; what is scheduled without delay runs at
// the end of the operation. A killed log goes on in a copy of its directory. Files of batches without
// timestamps, which Kafka ages by their files, are as old as the script.
//
// # What is compared
//
// The answer of each operation, or the class of its error; after it the log's offsets, epochs and producers;
// now and then all of its segments, with the sizes of their indexes, and all records.
package model
