//go:build !portable

package conformance_test

import "github.com/stratalog/strata/conformance"

// smallSkips are the rows that a full disk does not pass.
var smallSkips conformance.Skip
