package conformance

import (
	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// IndexRows are the rows of TestIndex.
func IndexRows() []Row { return rowsOf(indexRows()) }

// TryIndex runs the row of that name on open with each Layout.
func TryIndex(name string, newFS func() fsio.FS, open index.OpenFunc) (all Outcome) {
	for _, l := range indexLayouts {
		o := tryRow(indexRows(), name, indexSubject{newFS(), open, l.layout})
		all.Failures = append(all.Failures, o.Failures...)
		all.Hung = all.Hung || o.Hung
	}
	return all
}
