package conformance_test

import "github.com/stratalog/strata/fsio"

// laboratory is a filesystem of the disk in dir. On Linux it is a conformance.Planter and a
// conformance.Neighbour, too.
type laboratory struct {
	FS  fsio.FS
	dir string
}
