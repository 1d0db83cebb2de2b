package conformance

import (
	"time"

	"github.com/stratalog/strata/fsio"
	"github.com/stratalog/strata/index"
)

// IndexRows are the rows of TestIndex.
func IndexRows() (rows []Row) {
	for _, r := range indexRows() {
		rows = append(rows, Row{Name: r.name, Rule: r.rule})
	}
	return rows
}

// TryIndex runs the row of that name on open with each Layout, and returns what it found wrong.
func TryIndex(name string, newFS func() fsio.FS, open index.OpenFunc, limit time.Duration) (failures []string) {
	for _, r := range indexRows() {
		if r.name != name {
			continue
		}
		for _, l := range indexLayouts {
			o := r.try(indexSubject{newFS(), open, l.layout}, limit)
			failures = append(failures, o.failures...)
		}
	}
	return failures
}
