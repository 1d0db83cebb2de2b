// Package conformance holds the suites by which an implementation of one of the store's interfaces, or a
// whole store put together from parts, proves that it keeps the contract.
//
//	func TestMyFS(t *testing.T) {
//		conformance.TestFS(t, newFS, nil)
//	}
//
// # Rows
//
// A suite is a table of rows {name, rule, run}. The rule is the sentence of the contract that the row
// enforces, as it stands in the comment of the interface, and is printed when the row fails. Each row is a
// subtest, gets a fresh subject and a time limit, and runs beside the others. A row's name stays; rows may
// be added in minor versions. So a newer version may fail what an older one passed: the contract did not
// change, its enforcement did.
//
// A suite that nobody has seen fail proves little. For each rule this package's own tests have an
// implementation that breaks that rule, and check that its row is among those that fail.
//
// # What is left over
//
// When its rows are done, a suite looks for what they left: goroutines and, where there is a /proc, open
// descriptors and mapped files. A test that opens files meanwhile would be blamed, so a suite does not run
// beside other tests.
//
// The package imports the standard library and this module only, so that a user's module graph does not
// grow by it.
package conformance
