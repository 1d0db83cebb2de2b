package conformance

import (
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/segment"
)

// SetRows are the rows of TestMessageSet.
func SetRows() []Row { return rowsOf(setRows()) }

// TrySet runs the row of that name on open.
func TrySet(name string, fsys fsio.FS, open segment.OpenFunc) Outcome {
	return tryRow(setRows(), name, setSubject{fsys, open})
}
