// Package cli is the command strata: its verbs, thin over the library, and what they have in common.
//
// # Contract
//
//   - Verbs that read take no lock, write nothing and make nothing, also in a directory that a broker has
//     in use, or that cannot be written.
//   - Verbs that write lock the directory above, where that is a log directory. Those that take records away
//     only tell what they would do without --execute, and are then verbs that read.
//   - Data goes to standard output; errors, warnings and notices go to standard error.
//   - The exit status is one of the Exit constants.
//   - Standard output that nobody reads any more (| head) ends a verb quietly, with ExitOK.
//   - An interrupt ends a verb between two batches.
//
// # Layout
//
// cli.go runs a command line and turns its error into an exit status; root.go knows the verbs; each verb has
// a file of its own name.
package cli
